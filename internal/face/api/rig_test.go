package api_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"foyer/internal/base/seal"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/domain/addresschange"
	"foyer/internal/domain/event"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/signin"
	"foyer/internal/domain/site"
	"foyer/internal/face/api"
	"foyer/internal/face/openapi/openapitest"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/job"
	"foyer/internal/infra/sandbox/sandboxtest"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/server"
)

func TestMain(m *testing.M) { sandboxtest.Main(m, server.Tasks()) }

const baseURL = "https://foyer.example"

// rig is a server on an empty database with two organizations.
type rig struct {
	t       testing.TB
	db      *db.DB
	keys    *access.Keys
	orgs    org.Service
	api     *api.API
	url     string
	checker *openapitest.Checker

	org, other org.Organization
	owner      org.Membership
	key        string // the owner's, with the scope *
	otherKey   string // that of the other organization's owner
	hook       string // the last webhook made
	made       int    // counts objects, to make unique names
}

// each runs test on both engines.
func each(t *testing.T, test func(r *rig)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(newRig(t, d)) })
}

func newRig(tb testing.TB, d *db.DB) *rig {
	tb.Helper()
	keys := access.NewKeys(d)
	r := &rig{t: tb, db: d, keys: keys, orgs: org.Service{DB: d, Keys: keys, MaxInviteTTL: 72 * time.Hour}, checker: checker(tb)}
	links, err := invite.NewLinks("a secret of the tests", baseURL)
	if err != nil {
		tb.Fatal(err)
	}
	r.api = &api.API{
		Log:  slog.New(slog.NewTextHandler(strictLog{tb}, &slog.HandlerOptions{Level: slog.LevelError})),
		Keys: keys, BaseURL: baseURL, Organizations: r.orgs, Plugins: newApps(tb, d), Sites: newSites(tb, d),
		Invites: invite.Service{DB: d, Keys: keys, Jobs: job.New(d), Links: links, TTL: 72 * time.Hour, Cache: invite.NewCache()},
	}
	r.api.Plugins.Follow, r.orgs.Follow = r.api.Sites.FollowApp, r.api.Sites.FollowOrganization
	r.api.Plugins.Shown, r.api.Sites.Shown, r.orgs.Shown = api.AppendPlugin, api.AppendSite(r.api.Sites), api.AppendMember
	r.api.Invites.Shown, r.api.Invites.ShownMember = api.AppendInvite, api.AppendMember
	r.api.Organizations = r.orgs
	r.api.Events = newEvents(tb, d)
	r.api.SignIn = signin.Service{DB: d, Keys: keys, Jobs: r.api.Invites.Jobs, Organizations: r.orgs, BaseURL: baseURL, Mails: true}
	r.api.Addresses = addresschange.Service{DB: d, Keys: keys, Jobs: r.api.Invites.Jobs, Organizations: r.orgs, SignIn: r.api.SignIn, BaseURL: baseURL, Mails: true}
	r.url = r.serve(r.api)
	r.org, r.other = r.newOrg("Acme"), r.newOrg("Other")
	r.owner = r.join(r.org, "owner@acme.example", access.Owner)
	r.key = r.newKey(r.owner, "*")
	r.otherKey = r.newKey(r.join(r.other, "owner@other.example", access.Owner), "*")
	return r
}

// strictLog fails a test in which a change does not check If-Match.
type strictLog struct{ t testing.TB }

func (l strictLog) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(api.Forgotten)) {
		l.t.Errorf("%s", line)
	}
	return len(line), nil
}

// described is the checker of the document, made once: reading the document takes longer than most tests.
var described = sync.OnceValues(func() (*openapitest.Checker, error) { return openapitest.NewChecker(api.OpenAPI()) })

func checker(tb testing.TB) *openapitest.Checker {
	tb.Helper()
	c, err := described()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// newApps returns the server's service of apps, with a catalog and an upstream of its own.
func newApps(tb testing.TB, d *db.DB) plugin.Service {
	tb.Helper()
	return server.Apps(config.Config{}, "a secret for tests, not for you", d, slog.New(slog.DiscardHandler))
}

func newEvents(tb testing.TB, d *db.DB) event.Service {
	tb.Helper()
	return event.Service{DB: d, Client: egress.NewForWebhooks(nil), Box: seal.Box{Secret: "a secret for tests, not for you"}, Shown: api.AppendWebhook}
}

func newSites(tb testing.TB, d *db.DB) site.Service {
	tb.Helper()
	s := site.Service{DB: d, Manifests: site.NewManifests(d), Box: seal.Box{Secret: "a secret for tests, not for you"}}
	s.Manifests.BaseURL = baseURL
	return s
}

func (r *rig) serve(a *api.API) string {
	unseen := func(*http.Request, api.Outcome) {}
	ln, err := (&net.ListenConfig{}).Listen(r.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	s := &http.Server{
		Handler: a.Observe(a.Handler(func(*wire.Mux) {}), unseen), ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
	}
	go s.Serve(ln)
	r.t.Cleanup(func() { s.Close() })
	return "http://" + ln.Addr().String()
}

// serveLogged starts another server of the API that logs to a writer.
func (r *rig) serveLogged(log io.Writer) string {
	logged := *r.api
	logged.Log = slog.New(slog.NewTextHandler(log, nil))
	return r.serve(&logged)
}

func (r *rig) newOrg(name string) org.Organization {
	r.t.Helper()
	o, err := r.orgs.Create(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

func (r *rig) join(o org.Organization, email string, level access.Level) org.Membership {
	r.t.Helper()
	m, err := r.api.Invites.AddMember(r.t.Context(), o.ID, email, level)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

func (r *rig) newKey(m org.Membership, scopes ...string) string {
	r.t.Helper()
	scope, err := access.ParseScopes(scopes)
	if err != nil {
		r.t.Fatal(err)
	}
	_, secret := r.makeKey(access.Draft{UserID: m.User.ID, Scope: scope})
	return secret
}

func (r *rig) makeKey(d access.Draft) (key access.Key, secret string) {
	r.t.Helper()
	key, secret, err := r.keys.Create(r.t.Context(), d)
	if err != nil {
		r.t.Fatal(err)
	}
	return key, secret
}

// set changes settings of the first organization.
func (r *rig) set(s org.Settings) {
	r.t.Helper()
	if _, err := r.orgs.Set(r.t.Context(), access.Caller{}, r.org.ID, s); err != nil {
		r.t.Fatal(err)
	}
}

// answer is the answer to a request.
type answer struct {
	status int
	body   string
	header http.Header
}

// send makes a request to the first organization, unless path is a full one, and checks the answer against the OpenAPI
// document.
func (r *rig) send(key, method, path, body string, headers ...string) answer {
	r.t.Helper()
	return r.sendTo(r.url, key, method, path, body, headers...)
}

// ofPage matches the paths that the pages of a site load.
var ofPage = regexp.MustCompile(`^/sites/[^/]+/(loader\.js|manifest\.json|try|beacon)`)

func (r *rig) sendTo(url, key, method, path, body string, headers ...string) answer {
	r.t.Helper()
	if !strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/apps/") && !ofPage.MatchString(path) {
		path = "/api/organizations/" + r.org.ID + path
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusMethodNotAllowed {
		r.checker.Check(r.t, method, req.URL.Path, res.StatusCode, res.Header, text)
	}
	return answer{res.StatusCode, strings.TrimSuffix(string(text), "\n"), res.Header}
}

// want sends as the owner and compares the whole answer.
func (r *rig) want(method, path, body string, status int, want string) {
	r.t.Helper()
	got := r.send(r.key, method, path, body)
	r.compare(method+" "+path+" "+body, got, status, want)
}

// open begins to read a path of the first organization, and returns the answer without its body.
func (r *rig) open(url, key, path, accept string) (head answer, body io.Reader) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, url+"/api/organizations/"+r.org.ID+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Accept", accept)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { res.Body.Close() })
	return answer{status: res.StatusCode, header: res.Header}, res.Body
}

// wantStatus sends a request, and checks the status of the answer.
func (r *rig) wantStatus(key, method, path, body string, status int) answer {
	r.t.Helper()
	got := r.send(key, method, path, body)
	if got.status != status {
		r.t.Errorf("%s %s %.300s: got %d, want %d: %s", method, path, body, got.status, status, got.body)
	}
	return got
}

// wantParts is wantStatus for an answer whose body has some parts.
func (r *rig) wantParts(key, method, path, body string, status int, parts ...string) answer {
	r.t.Helper()
	got := r.wantStatus(key, method, path, body, status)
	for _, part := range parts {
		if !strings.Contains(got.body, part) {
			r.t.Errorf("%s %s %.300s: no %s in %s", method, path, body, part, got.body)
		}
	}
	return got
}

// wantCount reads a list, and checks how many items it counts.
func (r *rig) wantCount(key, path string, n int) {
	r.t.Helper()
	if got := r.wantStatus(key, "GET", path, "", 200).body; !strings.HasPrefix(got, fmt.Sprintf(`{"count":%d,`, n)) {
		r.t.Errorf("%s: want %d: %s", path, n, got)
	}
}

func (r *rig) compare(what string, got answer, status int, want string) {
	r.t.Helper()
	if len(what) > 300 {
		what = what[:300] + "…"
	}
	if got.status != status {
		r.t.Errorf("%s: got %d, want %d: %s", what, got.status, status, got.body)
	} else if diff := cmp.Diff(want, got.body); diff != "" {
		r.t.Errorf("%s: (-want +got)\n%s", what, diff)
	}
}

// create makes an object as the owner, and returns the body of the answer.
func (r *rig) create(path, body string) string {
	r.t.Helper()
	got := r.send(r.key, "POST", path, body)
	if got.status != http.StatusCreated {
		r.t.Fatalf("POST %s %s: %d %s", path, body, got.status, got.body)
	}
	return got.body
}

// app makes an app as the owner and returns its id.
func (r *rig) app(body string) string {
	r.t.Helper()
	return between(r.create(apps, body), `{"id":`, ",")
}

// invite invites an address as the owner and returns the invite's id.
func (r *rig) invite(email string) string {
	r.t.Helper()
	return between(r.create(invites, `{"target_email":`+strconv.Quote(email)+`}`), `{"id":"`, `"`)
}

// token returns the token of an invite's link.
func (r *rig) token(inviteID string) string {
	r.t.Helper()
	return between(r.wantStatus(r.key, "POST", invites+inviteID+"/link", "", 200).body, baseURL+"/invite/", `"`)
}

func between(s, start, end string) string {
	_, rest, _ := strings.Cut(s, start)
	found, _, _ := strings.Cut(rest, end)
	return found
}

// nextPath returns the path of the page after one, or "" if it is the last.
func nextPath(page answer) string {
	return strings.TrimPrefix(between(page.body, `"next":"`, `"`), baseURL)
}

// faultBody returns the error body of one fault; attr is JSON.
func faultBody(kind, code, detail, attr string) string {
	f := `"type":"` + kind + `","code":"` + code + `","detail":` + strconv.Quote(detail) + `,"attr":` + attr
	return `{` + f + `,"errors":[{` + f + `}]}`
}

var notFound = faultBody("invalid_request", "not_found", "Not found.", "null")
