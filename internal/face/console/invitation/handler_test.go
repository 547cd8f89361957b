package invitation

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/job"
)

// site serves the pages of one organization's invites.
type site struct {
	*testing.T
	pages Pages
	owner access.Caller
}

func newSite(t *testing.T, d *db.DB) *site {
	t.Helper()
	links, err := invite.NewLinks("a secret of the tests", "https://foyer.example")
	if err != nil {
		t.Fatal(err)
	}
	keys := access.NewKeys(d)
	o, err := org.Service{DB: d, Keys: keys}.Create(t.Context(), "Acme")
	if err != nil {
		t.Fatal(err)
	}
	invites := invite.Service{DB: d, Keys: keys, Jobs: job.New(d), Links: links, TTL: time.Hour, Cache: invite.NewCache()}
	m, err := invites.AddMember(t.Context(), o.ID, "grace@acme.example", access.Owner)
	if err != nil {
		t.Fatal(err)
	}
	return &site{
		T:     t,
		owner: access.Caller{Scope: access.All, UserID: m.User.ID, Level: access.Owner, Organization: o.Organization},
		pages: Pages{Invites: invites, SignedIn: func(*http.Request) (Visitor, bool) { return Visitor{}, false }, Host: markup.Host{
			BaseURL:   "https://foyer.example",
			RequestID: func(http.ResponseWriter) string { return "req" },
			Report:    func(http.ResponseWriter, *http.Request, error) {},
			Check:     func(http.ResponseWriter, *http.Request) error { return nil },
			Limit:     func(http.ResponseWriter, *http.Request) error { return nil },
			Address:   func(*http.Request) string { return "192.0.2.1" },
		}},
	}
}

// invited creates an invite, and returns the path of its page.
func (s *site) invited(email string) string {
	s.Helper()
	i, err := s.pages.Invites.Create(s.Context(), s.owner, invite.Draft{TargetEmail: patch.Of(email), FirstName: patch.Of("Ada")})
	if err != nil {
		s.Fatal(err)
	}
	link, _, err := s.pages.Invites.Link(s.Context(), s.owner, i.ID)
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimPrefix(link, "https://foyer.example")
}

func (s *site) get(path string) *httptest.ResponseRecorder { return s.send("GET", path, nil) }

func (s *site) post(path string, form url.Values) *httptest.ResponseRecorder {
	return s.send("POST", path, form)
}

func (s *site) send(method, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.Context(), method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	to := wire.NewMux()
	s.pages.Register(to)
	to.ServeHTTP(w, r)
	return w
}

func (s *site) want(w *httptest.ResponseRecorder, status int, text string) {
	s.Helper()
	if body := w.Body.String(); w.Code != status || !strings.Contains(body, text) {
		s.Errorf("status %d, want %d; %q in:\n%s", w.Code, status, text, body[strings.Index(body, "<main>")+1:])
	}
	if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Referrer-Policy") != "no-referrer" {
		s.Error(w.Header())
	}
}

func TestPagesOfAnInvite(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		path := s.invited("ada@x.example")
		s.want(s.get(path), 200, `value="Ada"`)
		s.want(s.get(path+"/"), 200, "Join")
		s.want(s.post(path, nil), 400, "neither accept nor decline")
		s.want(s.post(path, url.Values{"answer": {"accept"}, "last_name": {"a\x00b"}}), 400, "Must not contain control characters.")
		s.want(s.post(path, url.Values{"answer": {"accept"}, "first_name": {strings.Repeat("x", 31)}}), 400, `id="first_name_fault"`)
		s.want(s.post(path, url.Values{"answer": {strings.Repeat("x", wire.MaxSignupBody)}}), 400, "did not arrive")
		accepted := s.post(path, url.Values{"answer": {"accept"}, "first_name": {"Ad\xffa"}})
		s.want(accepted, 200, "Welcome to")
		key := regexp.MustCompile(`foy_\w{43}`).FindString(accepted.Body.String())
		if _, err := s.pages.Invites.Keys.Identify(t.Context(), key); err != nil {
			t.Error(err)
		}
		s.want(s.get(path), 404, "This link does not work")
		s.want(s.post(path, url.Values{"answer": {"accept"}}), 404, "This link does not work")

		for _, method := range []string{"PUT", "DELETE", "OPTIONS"} {
			s.want(s.send(method, path, nil), 405, "use GET, HEAD, POST")
		}

		path = s.invited("eve@x.example")
		s.want(s.post(path, url.Values{"answer": {"decline"}}), 200, "You have not joined")
		s.want(s.get(path), 404, "This link does not work")

		path = s.invited("here@x.example")
		if _, err := s.pages.Invites.AddMember(t.Context(), s.owner.Organization.ID, "here@x.example", access.Member); err != nil {
			t.Fatal(err)
		}
		s.want(s.get(path), 404, "This link does not work")

		path = s.invited("late@x.example")
		now := d.Now().Add(time.Hour)
		d.Now = func() time.Time { return now }
		s.want(s.get(path), 410, "has expired")
		s.want(s.post(path, url.Values{"answer": {"accept"}}), 410, "has expired")
	})
}

// A link that was cut off has a page, too.
func TestLinkCutOff(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		for _, path := range []string{"/invite", "/invite/", "/invite/x", "/invite/x/"} {
			s.want(s.get(path), http.StatusNotFound, "cut off")
		}
	})
}

func TestPagesWhenThingsGoWrong(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		path := s.invited("ada@x.example")
		for _, tc := range []struct {
			err        error
			status     int
			retryAfter string
		}{
			{fault.Later(fault.Throttled, time.Minute, "At most so many."), http.StatusTooManyRequests, "60"},
			{fault.Later(fault.Busy, 1500*time.Millisecond, "Too much to do."), http.StatusServiceUnavailable, "2"},
			{errors.New("canary"), http.StatusInternalServerError, ""},
		} {
			s.pages.Check = func(http.ResponseWriter, *http.Request) error { return tc.err }
			w := s.get(path)
			s.want(w, tc.status, "Something went wrong")
			if after := w.Header().Get("Retry-After"); after != tc.retryAfter {
				t.Errorf("%v: Retry-After: %s, want %s", tc.err, after, tc.retryAfter)
			}
			if strings.Contains(w.Body.String(), "canary") {
				t.Error("an inner detail is shown")
			}
		}
	})
}

// A browser that sends a form twice shows the answer to the second, which must be the key, or that they have declined;
// nobody else gets it.
func TestFormSentTwice(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		path := s.invited("ada@x.example")
		declined := s.invited("eve@x.example")
		to := wire.NewMux()
		s.pages.Register(to)
		send := func(method, path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			to.ServeHTTP(w, r)
			return w
		}
		form := regexp.MustCompile(`name="form" value="(\w{26})"`).FindStringSubmatch(send("GET", path, "").Body.String())
		if form == nil {
			t.Fatal("the form has no name")
		}
		accept := "answer=accept&form=" + form[1]
		pages := make(chan string, 5)
		for range cap(pages) {
			go func() { pages <- send("POST", path, accept).Body.String() }()
		}
		first := <-pages
		for range cap(pages) - 1 {
			if again := <-pages; again != first || !strings.Contains(again, "foy_") {
				t.Errorf("got %s, and %s", first, again)
			}
		}
		s.want(send("POST", path, accept), 200, "Welcome to")
		s.want(send("POST", path, "answer=accept&form="+strings.Repeat("A", 26)), 404, "This link does not work")
		s.want(send("POST", path, "answer=accept"), 404, "This link does not work")
		for range 2 {
			s.want(send("POST", declined, "answer=decline&form="+form[1]), 200, "You have not joined")
		}
		s.want(send("POST", declined, "answer=decline"), 404, "This link does not work")
	})
}

// A client that disconnects is not our fault.
func TestBrowserThatHangsUp(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newSite(t, d)
		path := s.invited("ada@x.example")
		s.pages.Report = func(_ http.ResponseWriter, _ *http.Request, err error) { t.Errorf("reported %v", err) }
		to := wire.NewMux()
		s.pages.Register(to)
		for _, method := range []string{"GET", "POST"} {
			ctx, hangUp := context.WithCancel(t.Context())
			hangUp()
			r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader("answer=decline"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			to.ServeHTTP(w, r)
			if w.Code != 499 || w.Body.Len() > 0 {
				t.Errorf("%s: status %d, %s", method, w.Code, w.Body)
			}
		}
		s.want(s.get(path), 200, "Join")
	})
}
