package signin_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/signin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/job"
	"foyer/internal/infra/mail"
	"foyer/internal/infra/mail/mailtest"
	"foyer/internal/infra/oidc"
)

// rig is the service on an empty database, with a clock of its own.
type rig struct {
	signin.Service
	t   *testing.T
	now time.Time
	org org.Organization
}

func each(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := &rig{t: t, now: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)}
		d.Now = func() time.Time { return r.now }
		keys := access.NewKeys(d)
		invites := invite.Service{DB: d, Keys: keys, Jobs: job.New(d), TTL: 24 * time.Hour, Cache: invite.NewCache()}
		r.Service = signin.Service{
			DB: d, Keys: keys, Invites: invites, Jobs: job.New(d), Organizations: org.Service{DB: d, Keys: keys}, BaseURL: "https://foyer.example", Mails: true,
			Box: seal.Box{Secret: "a secret of the tests"},
		}
		var err error
		if r.org, err = r.Organizations.Create(t.Context(), "Acme"); err != nil {
			t.Fatal(err)
		}
		test(t, r)
	})
}

// join makes a user a member; one who joins by themselves has used a link.
func (r *rig) join(email string, byThemselves, verified bool) org.User {
	r.t.Helper()
	var m org.Membership
	err := r.Keys.Change(r.t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
		draft := org.User{Email: email, IsEmailVerified: verified}
		if byThemselves {
			m, err = r.Organizations.Join(ctx, tx, access.Caller{}, org.Joining{OrganizationID: r.org.ID, User: draft, Level: access.Member})
		} else {
			m, err = r.Organizations.InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: r.org.ID, User: draft, Level: access.Member})
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return m.User
}

// link returns the token of a link that was printed for a user.
func (r *rig) link(email string) string {
	r.t.Helper()
	url, _, err := r.Link(r.t.Context(), email)
	if err != nil {
		r.t.Fatal(err)
	}
	token, ok := strings.CutPrefix(url, "https://foyer.example/signin/")
	if !ok {
		r.t.Fatal(url)
	}
	return token
}

// user returns the user that a session belongs to.
func (r *rig) user(session string) int64 {
	r.t.Helper()
	id, err := r.Keys.IdentifySession(r.t.Context(), session)
	if err != nil {
		r.t.Fatal(err)
	}
	if id.Scope != access.All || id.KeyID != 0 {
		r.t.Errorf("%+v", id)
	}
	return id.UserID
}

// count returns how many rows a table has.
func (r *rig) count(table string) int {
	r.t.Helper()
	n, err := db.One[int](r.t.Context(), r.DB, nil, `SELECT COUNT(*) FROM `+table)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func TestLink(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join("ada@x.example", false, false)
		token, late := r.link("Ada@x.example"), r.link("ada@x.example")
		for range 2 { // looking uses nothing up
			if email, err := r.Open(t.Context(), token); email != "ada@x.example" || err != nil {
				t.Errorf("%s, %v", email, err)
			}
		}
		in, err := r.Use(t.Context(), token, access.SessionDraft{})
		session := in.Session
		if err != nil || r.user(session) != ada.ID {
			t.Errorf("%v", err)
		}
		for name, wrong := range map[string]string{"used": token, "empty": "", "unknown": strings.Repeat("A", 52), "a session": session} {
			if _, err := r.Use(t.Context(), wrong, access.SessionDraft{}); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		r.now = r.now.Add(15 * time.Minute)
		if _, err := r.Use(t.Context(), late, access.SessionDraft{}); !fault.Is(err, fault.Expired) {
			t.Errorf("late: %v", err)
		}
		if err := r.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Open(t.Context(), late); !fault.Is(err, fault.Expired) {
			t.Errorf("late, still known: %v", err)
		}
		r.now = r.now.Add(8 * 24 * time.Hour)
		if err := r.Tidy(t.Context()); err != nil || r.count("signin_links") != 0 {
			t.Errorf("%d links, %v", r.count("signin_links"), err)
		}
		if _, _, err := r.Link(t.Context(), "eve@x.example"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}

func TestLinkOfAnAddressThatChanged(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join("ada@x.example", false, false)
		token := r.link("ada@x.example")
		dbtest.Exec(t, r.DB, `UPDATE users SET email = 'ada@y.example' WHERE id = $1`, ada.ID)
		if _, err := r.Use(t.Context(), token, access.SessionDraft{}); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
}

// If several people use a link at the same time, one is signed in.
func TestLinkIsUsedOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.join("ada@x.example", false, false)
		token := r.link("ada@x.example")
		results := make(chan error)
		for range 5 {
			go func() {
				_, err := r.Use(t.Context(), token, access.SessionDraft{})
				results <- err
			}()
		}
		used := 0
		for range 5 {
			if err := <-results; err == nil {
				used++
			} else if !fault.Is(err, fault.NotFound) {
				t.Error(err)
			}
		}
		if used != 1 || r.count("sessions") != 1 {
			t.Errorf("used %d times, %d sessions", used, r.count("sessions"))
		}
	})
}

// A request does the same whether there is such a user or not.
func TestAskTellsNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const users = 20
		for i := range users {
			r.join("user"+strconv.Itoa(i)+"@x.example", false, false)
		}
		statements := func(name string) int64 {
			before := dbtest.Statements(r.DB)
			for i := range users {
				if err := r.Ask(t.Context(), name+strconv.Itoa(i)+"@x.example", "client "+name+strconv.Itoa(i)); err != nil {
					t.Fatal(err)
				}
			}
			return dbtest.Statements(r.DB) - before
		}
		known, unknown := statements("user"), statements("nobody")
		if known != unknown || r.count("jobs") != 2*users || r.count("signin_requests") != 2*users || r.count("signin_links") != 0 {
			t.Errorf("%d statements for users, %d for others; %d jobs", known, unknown, r.count("jobs"))
		}
	})
}

func TestAskIsLimited(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ask := func(email, from string, want int) {
			t.Helper()
			if err := r.Ask(t.Context(), email, from); err != nil {
				t.Fatal(err)
			}
			if got := r.count("jobs"); got != want {
				t.Errorf("%s from %s: %d mails, want %d", email, from, got, want)
			}
		}
		for i := range 7 {
			ask("ada@x.example", "192.0.2."+strconv.Itoa(i), min(i+1, 5))
		}
		for i := range 22 {
			ask("user"+strconv.Itoa(i)+"@x.example", "198.51.100.1", 5+min(i+1, 20))
		}
		r.now = r.now.Add(time.Hour)
		ask("ada@x.example", "198.51.100.1", 26)
		for _, wrong := range []string{"", "ada", "ada@x.example, eve@x.example", strings.Repeat("a", 300) + "@x.example"} {
			if err := r.Ask(t.Context(), wrong, "192.0.2.9"); err == nil || fault.Of(err)[0].Field != "email" {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		r.Mails = false
		if err := r.Ask(t.Context(), "ada@x.example", "192.0.2.9"); !fault.Is(err, fault.Denied) {
			t.Errorf("without a mail server: %v", err)
		}
	})
}

var inMail = regexp.MustCompile(`/signin/([\w-]+)`)

// post returns a mail server, and what mails links by it.
func (r *rig) post() (*mailtest.Server, signin.Post) {
	r.t.Helper()
	mails := mailtest.Start(r.t, mailtest.Config{})
	settings, err := mail.Parse(mails.URL())
	if err != nil {
		r.t.Fatal(err)
	}
	return mails, signin.Post{Service: r.Service, SMTP: mail.SMTP{Settings: settings}, From: "foyer@foyer.example"}
}

// Whoever asks for a link gets one for their own address, unless the mail comes too late. Nothing is left of the request.
func TestLinksGoToWhoAsked(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		mails, post := r.post()
		for _, email := range []string{"ada@x.example", "bea@x.example"} {
			r.join(email, false, false)
			if err := r.Ask(t.Context(), email, email); err != nil {
				t.Fatal(err)
			}
		}
		items, err := db.All[string](t.Context(), r.DB, nil, `SELECT item FROM jobs ORDER BY id`)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			j := job.Job{Item: item}
			ended := func(ctx context.Context, tx *db.Tx) error { return post.Kind().Ended(ctx, tx, j, nil, false) }
			if err := errors.Join(post.Kind().Do(t.Context(), j), r.DB.InTx(t.Context(), ended)); err != nil {
				t.Fatal(err)
			}
		}
		if n := r.count("signin_requests"); n != 0 {
			t.Errorf("%d requests are left", n)
		}
		var to []string
		for _, m := range mails.Mails() {
			token := inMail.FindStringSubmatch(m.Text(t))[1]
			if email, err := r.Open(t.Context(), token); err != nil || !slices.Equal(m.To, []string{email}) {
				t.Errorf("a link for %s went to %q, %v", email, m.To, err)
			}
			to = append(to, m.To...)
		}
		if !slices.Equal(to, []string{"ada@x.example", "bea@x.example"}) {
			t.Errorf("mails to %q", to)
		}
		if err := r.Ask(t.Context(), "ada@x.example", "late"); err != nil {
			t.Fatal(err)
		}
		late, err := db.One[string](t.Context(), r.DB, nil, `SELECT item FROM jobs ORDER BY id DESC LIMIT 1`)
		r.now = r.now.Add(signin.LinkTime + time.Second)
		if failed := post.Kind().Do(t.Context(), job.Job{Item: late}); err != nil || failed == nil || len(mails.Mails()) != len(to) {
			t.Errorf("a mail that comes too late: %v, %v, %d mails", err, failed, len(mails.Mails()))
		}
	})
}

const issuer = "https://login.example"

func person(subject, email string) oidc.Claims {
	return oidc.Claims{Issuer: issuer, Subject: subject, Email: email, EmailVerified: true}
}

func TestByProvider(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada, bea := r.join("ada@x.example", false, false), r.join("bea@x.example", false, false)
		enter := func(p oidc.Claims) (int64, error) {
			in, err := r.ByProvider(t.Context(), p, access.SessionDraft{})
			if err != nil {
				return 0, err
			}
			return r.user(in.Session), nil
		}
		unverified := person("1", "ada@x.example")
		unverified.EmailVerified = false
		r.Domains = []string{"x.example"}
		for detail, p := range map[string]oidc.Claims{
			"has not verified":   unverified,
			"ask an admin":       person("1", "eve@x.example"),
			"does not vouch for": person("1", "ada@evil.x.example"),
			"does not send":      person("1", ""),
			"can be used here":   person("1", "no address"),
		} {
			if _, err := enter(p); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), detail) {
				t.Errorf("%+v: %v", p, err)
			}
		}
		if r.count("identities") != 0 || r.count("sessions") != 0 || r.count("users") != 2 {
			t.Error("something was made for somebody who was refused")
		}
		for _, p := range []oidc.Claims{person("1", "Ada@X.example"), person("1", "bea@x.example"), person("1", ""), {Issuer: issuer, Subject: "1"}} {
			if id, err := enter(p); id != ada.ID || err != nil {
				t.Errorf("%+v is %d, %v", p, id, err)
			}
		}
		if _, err := enter(person("2", "ada@x.example")); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "another account") {
			t.Errorf("another subject with the same address: %v", err)
		}
		if id, err := enter(person("2", "bea@x.example")); id != bea.ID || err != nil {
			t.Errorf("%d, %v", id, err)
		}
		elsewhere := person("1", "bea@x.example")
		elsewhere.Issuer = "https://other.example"
		if _, err := enter(elsewhere); !fault.Is(err, fault.Denied) {
			t.Errorf("the subject of another issuer: %v", err)
		}
	})
}

// A user who signs in for the first time in two browsers at once gets in, and is linked to one account.
func TestByProviderAtOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for i := range 8 {
			email := "user" + strconv.Itoa(i) + "@x.example"
			r.join(email, false, false)
			results := make(chan error)
			for _, subject := range []string{"one", "one", "one", "other", "other"} {
				go func() {
					_, err := r.ByProvider(t.Context(), person(subject+email, email), access.SessionDraft{})
					results <- err
				}()
			}
			for range 5 {
				if err := <-results; err != nil && !strings.Contains(err.Error(), "another account") {
					t.Error(err)
				}
			}
			if n := r.count("identities"); n != i+1 {
				t.Fatalf("%d accounts of %d users", n, i+1)
			}
		}
	})
}

// A user who was made by a link that was passed on by hand may be somebody else, until the address is proved for the
// first time.
func TestFirstProofEndsWhatAHandedLinkMade(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for email, how := range map[string]struct{ byThemselves, verified, proves, ends bool }{
			"handed@x.example":   {true, false, true, true},
			"mailed@x.example":   {true, true, true, false},
			"operator@x.example": {false, false, true, false},
			"printed@x.example":  {true, false, false, false},
		} {
			u := r.join(email, how.byThemselves, how.verified)
			_, key, err := r.Keys.Create(t.Context(), access.Draft{UserID: u.ID, Scope: access.All})
			if err != nil {
				t.Fatal(err)
			}
			before, err := r.Keys.BeginSession(t.Context(), access.SessionDraft{UserID: u.ID, Method: access.ByMail})
			if err != nil {
				t.Fatal(err)
			}
			var in signin.Entered
			if how.proves {
				in, err = r.ByProvider(t.Context(), person(email, email), access.SessionDraft{})
			} else {
				in, err = r.Use(t.Context(), r.link(email), access.SessionDraft{})
			}
			if err != nil || r.user(in.Session) != u.ID {
				t.Fatalf("%s: %v", email, err)
			}
			_, keyEnded := r.Keys.Identify(t.Context(), key)
			_, sessionEnded := r.Keys.IdentifySession(t.Context(), before)
			if (keyEnded != nil) != how.ends || (sessionEnded != nil) != how.ends {
				t.Errorf("%s: %v, %v", email, keyEnded, sessionEnded)
			}
			now, err := r.Organizations.UserByEmail(t.Context(), email)
			if err != nil || now.IsEmailVerified != (how.verified || how.proves) {
				t.Errorf("%s: %+v, %v", email, now, errors.Join(err))
			}
		}
	})
}

// Accepting a mailed invite proves the address, too, and no guest becomes a user whom a link has made meanwhile.
func TestInvitesProveAddresses(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		owner := r.join("ada@x.example", false, false)
		host := access.Caller{UserID: owner.ID, Scope: access.All, Level: access.Owner, Organization: r.org.Organization}
		elsewhere, err := r.Organizations.Create(t.Context(), "Other")
		if err != nil {
			t.Fatal(err)
		}
		i, err := r.Invites.Create(t.Context(), host, invite.Draft{TargetEmail: patch.Of("eve@x.example")})
		if err != nil {
			t.Fatal(err)
		}
		guest, err := r.ByProvider(t.Context(), person("1", "eve@x.example"), access.SessionDraft{})
		if err != nil || guest.Guest == "" {
			t.Fatal(guest, err)
		}
		joins := func(organizationID string, verified bool) (m org.Membership) {
			err := r.Keys.Change(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				m, err = r.Organizations.Join(ctx, tx, access.Caller{}, org.Joining{
					OrganizationID: organizationID, User: org.User{Email: "eve@x.example", IsEmailVerified: verified}, Level: access.Member,
				})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		_, key, err := r.Keys.Create(t.Context(), access.Draft{UserID: joins(elsewhere.ID, false).User.ID, Scope: access.All})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.AcceptAsGuest(t.Context(), guest.Guest, i.ID, invite.Names{}, access.SessionDraft{}); !fault.Is(err, fault.NotAuthenticated) {
			t.Errorf("a guest who is a user by now: %v", err)
		}
		if _, err := r.Keys.Identify(t.Context(), key); err != nil {
			t.Error(err)
		}
		joins(r.org.ID, true)
		if _, err := r.Keys.Identify(t.Context(), key); err == nil {
			t.Error("the key that a handed link has made is good after a mailed invite was accepted")
		}
	})
}

// An address that an operator gives a user proves nothing: the first proof still ends what a handed link has made.
func TestAddressByAnOperatorProvesNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		u := r.join("eve@x.example", true, false)
		_, key, err := r.Keys.Create(t.Context(), access.Draft{UserID: u.ID, Scope: access.All})
		if err != nil {
			t.Fatal(err)
		}
		if u, err = r.Organizations.SetUser(t.Context(), u.Email, org.SelfPatch{Email: patch.Of("eva@x.example")}); err != nil || u.IsEmailVerified {
			t.Fatalf("%+v, %v", u, err)
		}
		if _, err := r.ByProvider(t.Context(), person("1", u.Email), access.SessionDraft{}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Keys.Identify(t.Context(), key); !fault.Is(err, fault.AuthenticationFailed) {
			t.Errorf("the key works after the proof: %v", err)
		}
	})
}

// Once an address of a user was proved, a new one that an operator gives them ends nothing.
func TestHandedLinkIsOverWithTheFirstProof(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		change := func(fn func(context.Context, *db.Tx) error) {
			t.Helper()
			if err := r.Keys.Change(t.Context(), fn); err != nil {
				t.Fatal(err)
			}
		}
		for email, proof := range map[string]func(context.Context, *db.Tx, org.User) error{
			"eve@x.example": func(ctx context.Context, tx *db.Tx, u org.User) error {
				return r.Organizations.VerifyEmail(ctx, tx, access.Caller{}, u.ID)
			},
			"bea@x.example": func(ctx context.Context, tx *db.Tx, u org.User) error {
				_, err := r.Organizations.ChangeAddress(ctx, tx, access.Caller{}, u, "new-"+u.Email, true)
				return err
			},
		} {
			u := r.join(email, true, false)
			change(func(ctx context.Context, tx *db.Tx) error { return proof(ctx, tx, u) })
			u, err := org.UserByID(t.Context(), r.DB, u.ID)
			if err != nil || !u.IsEmailVerified {
				t.Fatal(u, err)
			}
			_, key, err := r.Keys.Create(t.Context(), access.Draft{UserID: u.ID, Scope: access.All})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Organizations.SetUser(t.Context(), u.Email, org.SelfPatch{Email: patch.Of("married-" + email)}); err != nil {
				t.Fatal(err)
			}
			change(func(ctx context.Context, tx *db.Tx) error {
				return r.Organizations.VerifyEmail(ctx, tx, access.Caller{}, u.ID)
			})
			if _, err := r.Keys.Identify(t.Context(), key); err != nil {
				t.Errorf("%s: %v", email, err)
			}
		}
	})
}
