package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"foyer/client"
)

const (
	key     = "foy_key"
	appJSON = `{"id":42,"plugin_type":"local","name":"Banner","description":"","url":"","icon":"",` +
		`"config_schema":{"b": 1.0, "a": "<&>"},"tag":"","latest_tag":"","is_global":false,` +
		`"organization_id":"01981f0e-5c2b-7d34-9f7a-3b0c6f2f8a11","organization_name":"Acme",` +
		`"capabilities":null,"metrics":null,"public_jobs":null}`
)

// serve starts a server and returns the current organization there.
func serve(t *testing.T, handler http.HandlerFunc) *client.Organization {
	t.Helper()
	return clientOf(t, handler).Organization(client.Current)
}

// clientOf starts a server and returns a client of it.
func clientOf(t *testing.T, handler http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL+"/", key, client.WithHTTPClient(server.Client()), client.WithUserAgent("test"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answer returns a handler that always gives the same answer.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func TestNewRefusesWhatIsNoAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "foyer.example.com", "ftp://foyer.example.com", "http://", "http://a/?b=c", "http://a/#b", "http://a/?", "http://a?", "http://a/#", "http://a b", "http://user:password@a"} {
		if _, err := client.New(address, key); err == nil {
			t.Errorf("took %q", address)
		}
	}
}

func TestNoHTTPClientIsTheOneThereIs(t *testing.T) {
	t.Parallel()
	if _, err := client.New("https://foyer.example.com", "key", client.WithHTTPClient(nil)); err != nil {
		t.Error(err)
	}
}

// An empty id must not become the path of the whole list.
func TestEmptyIDs(t *testing.T) {
	t.Parallel()
	c := clientOf(t, answer(http.StatusOK, "{}"))
	ctx, none, current := t.Context(), c.Organization(""), c.Organization(client.Current)
	for name, call := range map[string]func() error{
		"organization":      func() error { _, err := none.Get(ctx); return err },
		"its apps":          func() error { _, err := none.GetApp(ctx, 1); return err },
		"invite to delete":  func() error { return current.DeleteInvite(ctx, "") },
		"invite to resend":  func() error { _, err := current.ResendInvite(ctx, ""); return err },
		"member":            func() error { return current.RemoveMember(ctx, "") },
		"invitation's link": func() error { return c.DeclineInvitation(ctx, "") },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "an id is empty") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call       func(context.Context, *client.Organization) error
		want, body string
	}{
		"get": {
			func(ctx context.Context, o *client.Organization) error { _, err := o.GetApp(ctx, 42); return err },
			"GET /api/organizations/@current/pipeline_frontend_apps/42", "",
		},
		"JSON as it was given": {
			func(ctx context.Context, o *client.Organization) error {
				_, err := o.CreateApp(ctx, client.AppDraft{Name: "A&B", ConfigSchema: []byte(`{"b":1.0,"a":"<"}`)})
				return err
			},
			"POST /api/organizations/@current/pipeline_frontend_apps", `{"name":"A&B","config_schema":{"b":1.0,"a":"<"}}`,
		},
		"absent, empty and null": {
			func(ctx context.Context, o *client.Organization) error {
				_, err := o.UpdateApp(ctx, 42, client.AppPatch{Tag: new(""), IsGlobal: new(false), Metrics: client.Null()})
				return err
			},
			"PATCH /api/organizations/@current/pipeline_frontend_apps/42", `{"tag":"","is_global":false,"metrics":null}`,
		},
		"files": {
			func(ctx context.Context, o *client.Organization) error {
				_, err := o.UpdateSource(ctx, 42, client.SourcePatch{Source: map[string]*string{"a&b.ts": new("<1>"), "b.ts": nil}})
				return err
			},
			"PATCH /api/organizations/@current/pipeline_frontend_apps/42/update_source", `{"source":{"a&b.ts":"<1>","b.ts":null}}`,
		},
		"an app with files": {
			func(ctx context.Context, o *client.Organization) error {
				_, err := o.CreateApp(ctx, client.AppDraft{Source: client.Files{"a.svg": "<svg/>", "a.png": "\xff"}})
				return err
			},
			"POST /api/organizations/@current/pipeline_frontend_apps", `{"source":{"a.png":{"base64":"/w=="},"a.svg":"<svg/>"}}`,
		},
		"id that is a path": {
			func(ctx context.Context, o *client.Organization) error { return o.DeleteInvite(ctx, "a/b?c") },
			"DELETE /api/organizations/@current/invites/a%2Fb%3Fc", "",
		},
		"range": {
			func(ctx context.Context, o *client.Organization) error {
				_, err := o.ListActivity(ctx, client.ActivityFilter{AppID: 42, User: "a+b@example.com"}, client.Range{Limit: 5, Offset: 10})
				return err
			},
			"GET /api/organizations/@current/pipeline_frontend_apps/activity?app=42&limit=5&offset=10&user=a%2Bb%40example.com", "",
		},
		"a list of ids": {
			func(ctx context.Context, o *client.Organization) error {
				_, err := o.ListApps(ctx, client.AppFilter{IDs: []int64{7, 42}}, client.Range{})
				return err
			},
			"GET /api/organizations/@current/pipeline_frontend_apps?id=7%2C42", "",
		},
		"no ids, which is not all": {
			func(ctx context.Context, o *client.Organization) error {
				_, err := o.ListApps(ctx, client.AppFilter{IDs: []int64{}}, client.Range{})
				return err
			},
			"GET /api/organizations/@current/pipeline_frontend_apps?id=", "",
		},
		"no status, which is not all": {
			func(ctx context.Context, o *client.Organization) error {
				_, err := o.ListInvites(ctx, client.InviteFilter{Status: []string{}}, client.Range{})
				return err
			},
			"GET /api/organizations/@current/invites?status=", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if got := r.Method + " " + r.RequestURI; got != test.want {
					t.Errorf("asked %s, want %s", got, test.want)
				}
				if got := strings.TrimSpace(string(body)); got != test.body {
					t.Errorf("sent %s, want %s", got, test.body)
				}
				if got := r.Header.Get("Content-Type"); (got == "application/json") != (test.body != "") {
					t.Errorf("Content-Type %q", got)
				}
				if r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("User-Agent") != "test" {
					t.Errorf("headers %v", r.Header)
				}
				if r.Method == http.MethodDelete {
					w.WriteHeader(http.StatusNoContent)
					return
				}
				io.WriteString(w, strings.Replace(appJSON, "{", `{"results":[],`, 1)) // both an app and a page
			})
			if err := test.call(t.Context(), o); err != nil {
				t.Error(err)
			}
		})
	}
}

// A nil list of domains clears them.
func TestNoDomainsAreAList(t *testing.T) {
	t.Parallel()
	if got, err := json.Marshal(client.OrganizationPatch{AllowedDomains: new([]string)}); err != nil || string(got) != `{"allowed_domains":[]}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestNamesOfFilesAreUTF8(t *testing.T) {
	t.Parallel()
	o := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	if _, err := o.CreateApp(t.Context(), client.AppDraft{Source: client.Files{"a\xff.ts": ""}}); err == nil {
		t.Error("created")
	}
	if _, err := o.UpdateSource(t.Context(), 42, client.SourcePatch{Source: client.FileEdits{"a\xff.ts": nil}}); err == nil {
		t.Error("changed")
	}
}

func TestAppKeepsItsJSON(t *testing.T) {
	t.Parallel()
	app, err := serve(t, answer(200, appJSON)).GetApp(t.Context(), 42)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(app.ConfigSchema), `{"b": 1.0, "a": "<&>"}`; got != want {
		t.Errorf("config_schema %s, want %s", got, want)
	}
	if got := string(app.Metrics); got != "null" {
		t.Errorf("metrics %s, want null", got)
	}
}

func TestNoInvitesAreAList(t *testing.T) {
	t.Parallel()
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	})
	if made, err := o.CreateInvites(t.Context(), nil); err != nil || len(made) != 0 {
		t.Errorf("got %v, %v", made, err)
	}
}

// The server may be reached under another name than it gives itself, and the key must not be sent to a host named in an
// answer.
func TestAllFollowsNextOnTheSameServer(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"limit=1000&search=ada": `{"count":3,"next":"https://elsewhere.example.com/x?limit=2&offset=2","previous":null,"results":[{"id":"a"},{"id":"b"}]}`,
		"limit=2&offset=2":      `{"count":3,"next":null,"previous":"https://elsewhere.example.com/x?limit=2","results":[{"id":"c"}]}`,
	}
	o := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, pages[r.URL.RawQuery]) })
	var got []string
	for invite, err := range o.AllInvites(t.Context(), client.InviteFilter{Search: "ada"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, invite.ID)
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// ListAudit has StreamAudit, and ListEvents is read on from Next.
func TestAllOfEachList(t *testing.T) {
	t.Parallel()
	for _, of := range []reflect.Type{reflect.TypeFor[*client.Client](), reflect.TypeFor[*client.Organization]()} {
		for m := range of.Methods() {
			what, ok := strings.CutPrefix(m.Name, "List")
			if _, has := of.MethodByName("All" + what); ok && !has && what != "Audit" && what != "Events" {
				t.Errorf("%s has List%s, but no All%s", of, what, what)
			}
		}
	}
}

func TestAllReadsNoFurtherThanAsked(t *testing.T) {
	t.Parallel()
	calls := 0
	o := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		io.WriteString(w, `{"count":2,"next":"?offset=1","previous":null,"results":[`+appJSON+`]}`)
	})
	for _, err := range o.AllApps(t.Context(), client.AppFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
}

func TestAllEndsWithTheError(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{"refused": "?offset=1", "no address": "http://[", "no query": "?offset=%zz", "the same": "?offset=0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery != "limit=1000" {
					if name != "refused" {
						t.Errorf("asked for %s", r.URL.RawQuery)
					}
					answer(500, "")(w, r)
					return
				}
				io.WriteString(w, `{"count":2,"next":"`+next+`","previous":null,"results":[{"id":1}]}`)
			})
			var apps, failures int
			for _, err := range o.AllApps(t.Context(), client.AppFilter{}) {
				if err != nil {
					failures++
				} else {
					apps++
				}
			}
			if apps != 1 || failures != 1 {
				t.Errorf("%d apps and %d failures, want one of each", apps, failures)
			}
		})
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "r1")
		w.Header().Set("Retry-After", "30")
		answer(429, `{"type":"throttled_error","code":"throttled","detail":"Too many.","attr":null,"errors":[`+
			`{"type":"throttled_error","code":"throttled","detail":"Too many.","attr":null},`+
			`{"type":"validation_error","code":"required","detail":"Say who.","attr":"0.target_email"}]}`)(w, r)
	})
	_, err := o.ListApps(t.Context(), client.AppFilter{}, client.Range{})
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	if e.Status != 429 || e.Type != "throttled_error" || e.Code != "throttled" || e.Detail != "Too many." || e.Attr != "" ||
		e.RequestID != "r1" || e.RetryAfter != 30*time.Second || len(e.Errors) != 2 || e.Errors[1].Attr != "0.target_email" {
		t.Errorf("got %+v", e)
	}
	if got, want := err.Error(), "Too many.; 0.target_email: Say who."; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
	if !client.IsThrottled(err) || client.IsNotFound(err) || client.IsDenied(err) || client.IsNotFound(nil) {
		t.Error("is taken for something else")
	}
}

func TestRetryAfterIsNeverNegative(t *testing.T) {
	t.Parallel()
	for header, least := range map[string]time.Duration{
		"99999999999999": time.Hour, "9223372036854775807": time.Hour, "-1": 0, "soon": 0,
		"Fri, 31 Dec 9999 23:59:59 GMT": time.Hour, "Fri, 27 Nov 2020 04:08:00 GMT": 0,
	} {
		_, err := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", header)
			answer(503, "")(w, r)
		}).GetApp(t.Context(), 42)
		if e, ok := errors.AsType[*client.Error](err); !ok || e.RetryAfter < least || least == 0 && e.RetryAfter != 0 {
			t.Errorf("%s: %v", header, err)
		}
	}
}

// A change without an Idempotency-Key may have been made when its connection breaks. Sent again, a deletion would get a
// 404, and the key from accepting an invitation would be lost.
func TestWhatKnowsNoIdempotencyKeyIsSentOnce(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(context.Context, *client.Client) error{
		"deletion": func(ctx context.Context, c *client.Client) error { return c.Organization("1").DeleteApp(ctx, 42) },
		"invitation": func(ctx context.Context, c *client.Client) error {
			_, err := c.AcceptInvitation(ctx, "t", client.Names{})
			return err
		},
		"sign-in": func(ctx context.Context, c *client.Client) error { return c.RequestSignIn(ctx, "ada@example.com") },
	} {
		var changes atomic.Int32
		c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				changes.Add(1)
				panic(http.ErrAbortHandler)
			}
			answer(200, appJSON)(w, r)
		})
		if _, err := c.Organization("1").GetApp(t.Context(), 42); err != nil { // net/http resends only on a reused connection
			t.Fatal(err)
		}
		if err := change(t.Context(), c.With(client.IdempotencyKey("k"))); err == nil || changes.Load() != 1 {
			t.Errorf("%s: %v after %d", name, err, changes.Load())
		}
	}
}

func TestErrorOfAProxy(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"page": "<h1>Bad Gateway</h1>", "nothing": "", "JSON": `{"errors":"all"}`, "list": `{"errors":[{"message":"blocked"}]}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := serve(t, answer(502, body)).DeleteApp(t.Context(), 1)
			if err == nil || err.Error() != "the server does not answer as a foyer server: 502 Bad Gateway" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A proxy's answer does not mean that an object is missing or that the key is not allowed.
func TestAProxyKnowsNothingOfObjects(t *testing.T) {
	t.Parallel()
	const own = `{"errors":[{"type":"invalid_request","code":"c","detail":"No.","attr":null}]}`
	for status, means := range map[int]func(error) bool{404: client.IsNotFound, 403: client.IsDenied} {
		for body, want := range map[string]bool{own: true, "<h1>No</h1>": false, `{"message":"no route"}`: false, "": false} {
			if err := serve(t, answer(status, body)).DeleteApp(t.Context(), 1); means(err) != want {
				t.Errorf("%d %s: %v", status, body, err)
			}
		}
	}
}

func TestAnswersThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"no JSON":    answer(200, "<p>"),
		"wrong type": answer(200, `{"id":"42"}`),
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			block := []byte(strings.Repeat(" ", 1<<20))
			for range 65 {
				w.Write(block)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := serve(t, handler).GetApp(t.Context(), 42); err == nil {
				t.Error("took it")
			}
		})
	}
}

// An answer from another server does not mean that an object was deleted.
func TestNothingIsDeletedByAnotherServer(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"<p>Welcome</p>", ""} {
		err := serve(t, answer(200, page)).DeleteApp(t.Context(), 3)
		if err == nil || err.Error() != "the server does not answer as a foyer server" {
			t.Errorf("%q: %v", page, err)
		}
	}
}

// An object from another server has no secret, which is an error.
func TestNoSecretIsShownByAnotherServer(t *testing.T) {
	t.Parallel()
	c := clientOf(t, answer(201, `{"id":7,"name":"x"}`))
	o := c.Organization(client.Current)
	_, key := c.CreateKey(t.Context(), client.KeyDraft{})
	_, created := o.CreateWebhook(t.Context(), client.WebhookPatch{})
	_, rotated := o.RotateWebhook(t.Context(), 7)
	for _, err := range []error{key, created, rotated} {
		if err == nil || err.Error() != "the server does not answer as a foyer server" {
			t.Error(err)
		}
	}
}

// JSON from another server does not mean that an object was created, or that a list is empty.
func TestNothingIsMadeByAnotherServer(t *testing.T) {
	t.Parallel()
	calls := map[string]func(context.Context, *client.Organization) error{
		"create": func(ctx context.Context, o *client.Organization) error {
			_, err := o.CreateApp(ctx, client.AppDraft{})
			return err
		},
		"list": func(ctx context.Context, o *client.Organization) error {
			_, err := o.ListApps(ctx, client.AppFilter{}, client.Range{})
			return err
		},
		"first app": func(ctx context.Context, o *client.Organization) error {
			_, err := o.ListUnusedApps(ctx, client.Range{})
			return err
		},
		"array": func(ctx context.Context, o *client.Organization) error {
			_, err := o.CreateInvites(ctx, nil)
			return err
		},
		"counts": func(ctx context.Context, o *client.Organization) error { _, err := o.Overview(ctx); return err },
	}
	for name, call := range calls {
		for _, text := range []string{"null", "{}", `{"status":"ok"}`} {
			if err := call(t.Context(), serve(t, answer(200, text))); err == nil || !strings.HasPrefix(err.Error(), "the server does not answer as a foyer server") {
				t.Errorf("%s, %s: %v", name, text, err)
			}
		}
	}
	if err := calls["counts"](t.Context(), serve(t, answer(200, `{"apps":null,"sites":null,"members":null,"invites":null}`))); err != nil { // for a key that may see none
		t.Error(err)
	}
}

// A redirect would turn a change into a GET, and its answer would look like success.
func TestNoRedirectIsFollowed(t *testing.T) {
	t.Parallel()
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was sent on", r.Method, r.URL)
		io.WriteString(w, appJSON)
	}))
	t.Cleanup(there.Close)
	calls := map[string]func(context.Context, *client.Organization) error{
		"get": func(ctx context.Context, o *client.Organization) error { _, err := o.GetApp(ctx, 42); return err },
		"create": func(ctx context.Context, o *client.Organization) error {
			_, err := o.CreateApp(ctx, client.AppDraft{})
			return err
		},
		"update": func(ctx context.Context, o *client.Organization) error {
			_, err := o.UpdateApp(ctx, 42, client.AppPatch{})
			return err
		},
		"delete": func(ctx context.Context, o *client.Organization) error { return o.DeleteApp(ctx, 42) },
		"stream": func(ctx context.Context, o *client.Organization) error {
			for _, err := range o.StreamAudit(ctx, client.AuditFilter{Scope: "Key"}) {
				return err
			}
			return nil
		},
	}
	for name, call := range calls {
		for _, status := range []int{301, 302, 303, 307, 308} {
			o := serve(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, there.URL+"/below"+r.RequestURI, status)
			})
			if err := call(t.Context(), o); err == nil || err.Error() != "the server redirects to "+there.URL+"/below: use that url" {
				t.Errorf("%s, %d: %v", name, status, err)
			}
		}
		for _, page := range []string{"/login", "/login?next="} {
			var to string
			o := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if to = there.URL + page; strings.HasSuffix(page, "=") {
					to += r.RequestURI
				}
				http.Redirect(w, r, to, http.StatusFound)
			})
			if err := call(t.Context(), o); err == nil || err.Error() != "the server does not answer as a foyer server: it redirects to "+to {
				t.Errorf("%s to a page: %v", name, err)
			}
		}
		if err := call(t.Context(), serve(t, answer(301, ""))); err == nil || !strings.HasSuffix(err.Error(), "as a foyer server: 301 Moved Permanently") {
			t.Errorf("%s to nowhere: %v", name, err)
		}
	}
}

// The last line of a stream says why it ended early.
func TestStreamEndsWithAnError(t *testing.T) {
	t.Parallel()
	const fault = `{"type":"authentication_error","code":"permission_denied","detail":"Ask again.","attr":null`
	o := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		io.WriteString(w, `{"id":1,"activity":"created","detail":{"name":"Banner"},"number":1}`+"\n"+fault+`,"errors":[`+fault+`}]}`+"\n")
	})
	var got []client.AuditEntry
	var end error
	for e, err := range o.StreamAudit(t.Context(), client.AuditFilter{}) {
		if end = err; err == nil {
			got = append(got, e)
		}
	}
	refused, ok := errors.AsType[*client.Error](end)
	if !ok || refused.Code != "permission_denied" || end.Error() != "Ask again." || len(got) != 1 || got[0].Detail.Name != "Banner" {
		t.Errorf("%v after %+v", end, got)
	}
}

// A proxy's page is not activity, and an empty one does not mean that there is none.
func TestNoStreamIsAnotherServers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", `{"status":"ok"}`, "<!doctype html>"} {
		for e, err := range serve(t, answer(200, body)).StreamAudit(t.Context(), client.AuditFilter{}) {
			if err == nil || err.Error() != "the server does not answer as a foyer server" {
				t.Errorf("%q: %+v, %v", body, e, err)
			}
			body = "seen"
		}
		if body != "seen" {
			t.Errorf("%q: no entry, and no error", body)
		}
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	o := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := o.GetApp(ctx, 42); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
