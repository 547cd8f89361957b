package upstream_test

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"foyer/internal/base/fault"
	"foyer/internal/infra/sandbox"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/infra/upstream/upstreamtest"
)

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newSource(c *clock) *upstream.Source {
	return upstream.New(egress.New(upstreamtest.Allow()), sandbox.New(2, 50, slog.New(slog.DiscardHandler)), c.now)
}

func parse(t *testing.T, raw string) upstream.Remote {
	t.Helper()
	r, err := upstream.Parse(raw)
	if err != nil {
		t.Fatalf("Parse(%q): %v", raw, err)
	}
	return r
}

// installed is an installed version and its files.
type installed struct {
	Version upstream.Version
	Files   map[string]string
}

// late matches errors of a busy machine, which say nothing about the installed app.
var late = regexp.MustCompile("longer than|in time|too busy")

// install does what installing an app does, again while that runs out of time.
func install(t *testing.T, url, tag string) (installed, error) {
	t.Helper()
	for {
		got, err := installOnce(t, url, tag)
		if err == nil || !late.MatchString(err.Error()) || t.Context().Err() != nil {
			return got, err
		}
		t.Log("again: ", err)
	}
}

// installOnce opens, resolves and fetches.
func installOnce(t *testing.T, url, tag string) (installed, error) {
	t.Helper()
	repo, err := newSource(newClock()).Open(t.Context(), parse(t, url))
	if err != nil {
		return installed{}, err
	}
	version, err := repo.Resolve(tag)
	if err != nil {
		return installed{}, err
	}
	files, err := repo.Fetch(t.Context(), "Acme", version)
	return installed{version, files}, err
}

// wantFault fails unless err is a fault of the kind on the field whose detail
// contains all of words.
func wantFault(t *testing.T, err error, kind fault.Kind, field string, words ...string) {
	t.Helper()
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		t.Fatalf("error %v; want a fault", err)
	}
	if f.Kind != kind || f.Field != field {
		t.Errorf("fault %d on %q (%s); want %d on %q", f.Kind, f.Field, f.Detail, kind, field)
	}
	for _, word := range words {
		if !strings.Contains(f.Detail, word) {
			t.Errorf("detail %q lacks %q", f.Detail, word)
		}
	}
}

// app returns the files of an app, and other files.
func app(others ...string) map[string]string {
	files := map[string]string{
		"plugin.json": `{"name": "Bar", "config": [], "extra": 1}`,
		"site.ts":     "export const inject = () => 1 < 2 && 3 > 2\n",
	}
	for i := 0; i < len(others); i += 2 {
		files[others[i]] = others[i+1]
	}
	return files
}

// The files of a build come from dist/ and from the folder of plugin.json's main, with pictures and fonts unchanged.
func TestInstallBuilt(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "built-app")
	taken := app("plugin.json", `{"name": "Built", "main": "./web/out/site.mjs"}`,
		"web/out/site.mjs", "1", "web/out/parts/a.mjs", "2", "dist/b.js", "3", "logo.svg", "<svg/>",
		"src/a.png", "\x89PNG\x00\xff", "web/out/b.jpg", "\xff\xd8", "c.gif", "GIF89a\x00", "dist/d.webp", "RIFF\x00", "e.woff2", "wOF2\x00")
	all := maps.Clone(taken)
	all["web/config.js"], all["web/other/a.js"], all["webs/a.js"], all["dists/a.js"] = "4", "5", "6", "7"
	repo.Commit(t, all)
	got, err := install(t, repo.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(taken, got.Files); diff != "" {
		t.Errorf("files taken (-want +got):\n%s", diff)
	}

	repo.Commit(t, app("plugin.json", `{"main": "dist/site.js"}`, "dist/site.js", "// caf\xe9"))
	_, err = install(t, repo.URL, "")
	wantFault(t, err, fault.Invalid, "url", `"dist/site.js"`, "UTF-8")
}

func TestInstall(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	taken := app("src/deep/er/a.tsx", "<b>é</b>", "README.md", "# Bar", "style.css", "a{}", "src/b.jsx", "1")
	all := maps.Clone(taken)
	all["other/a.ts"] = "elsewhere"
	all["src/data.bin"] = "not of a kind that is taken"
	all["Makefile"] = "likewise"
	all["latin1.md"] = "caf\xe9"
	all["nul.json"] = "a\x00b"
	all["src/upper.TS"] = "likewise"
	commit := repo.Commit(t, all)
	repo.AnnotatedTag(t, "v1.2.0", commit)

	got, err := install(t, repo.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	if got.Version.Tag != "v1.2.0" || got.Version.Commit != commit {
		t.Errorf("version %+v; want v1.2.0 of %s", got.Version, commit)
	}
	if diff := cmp.Diff(taken, got.Files); diff != "" {
		t.Errorf("files taken (-want +got):\n%s", diff)
	}
}

func TestInstallGivenTag(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	first := repo.Commit(t, app("a.ts", "first"))
	repo.Tag(t, "v1.0.0", first)
	repo.AnnotatedTag(t, "odd/1", first)
	second := repo.Commit(t, app("a.ts", "second"))
	repo.AnnotatedTag(t, "v2.0.0", second)
	repo.Commit(t, app("a.ts", "third"))

	for tag, want := range map[string]string{"v1.0.0": "first", "v2.0.0": "second", "": "second", "odd/1": "first"} {
		got, err := install(t, repo.URL, tag)
		if err != nil {
			t.Errorf("tag %q: %v", tag, err)
		} else if got.Files["a.ts"] != want {
			t.Errorf("tag %q: a.ts is %q; want %q", tag, got.Files["a.ts"], want)
		}
	}
	_, err := install(t, repo.URL, "v3.0.0")
	wantFault(t, err, fault.Invalid, "tag", "v3.0.0")
}

func TestInstallMovedTag(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	first := repo.Commit(t, app("a.ts", "first"))
	repo.AnnotatedTag(t, "v1.0.0", first)
	second := repo.Commit(t, app("a.ts", "second"))
	repo.AnnotatedTag(t, "v1.0.0", second)
	got, err := install(t, repo.URL, "v1.0.0")
	if err != nil || got.Version.Commit != second || got.Files["a.ts"] != "second" {
		t.Errorf("got %+v, %v; want commit %s", got.Version, err, second)
	}
}

func TestInstallBranchWithoutTags(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	head := repo.Commit(t, app())
	repo.Tag(t, "nightly", head)
	repo.Tag(t, "v1", head)
	for _, tag := range []string{"", head} {
		got, err := install(t, repo.URL, tag)
		if err != nil || got.Version.Tag != head || got.Version.Commit != head {
			t.Errorf("tag %q: got %+v, %v; want the head %s", tag, got.Version, err, head)
		}
	}
}

func TestInstallEmptyRepository(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	_, err := install(t, repo.URL, "")
	wantFault(t, err, fault.Invalid, "url", "neither")
}

// The host has only the newest commit, because it is a shallow clone.
func TestInstallShallowRepository(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	whole, shallow := host.Repo(t, "whole"), host.Repo(t, "shallow")
	whole.Commit(t, app())
	whole.Tag(t, "v1.0.0", whole.Commit(t, app("a.ts", "2")))
	shallow.Git(t, "", "fetch", "--quiet", "--depth=1", whole.URL, "main:main", "v1.0.0:refs/tags/v1.0.0")
	for _, tag := range []string{"", shallow.Git(t, "", "rev-parse", "main")} {
		if got, err := install(t, shallow.URL, tag); err != nil || got.Files["a.ts"] != "2" {
			t.Errorf("tag %q: %v, %v", tag, got, err)
		}
	}
}

func TestInstallSHA256(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	repo.Git(t, "", "config", "core.repositoryFormatVersion", "1")
	repo.Git(t, "", "config", "extensions.objectFormat", "sha256")
	repo.Commit(t, app())
	_, err := install(t, repo.URL, "")
	wantFault(t, err, fault.Invalid, "url", "SHA-1")
}

func TestInstallTagOfNoCommit(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	repo.Commit(t, app())
	repo.Tag(t, "v1.0.0", repo.Blob(t, "text"))
	repo.AnnotatedTag(t, "v2.0.0", repo.Blob(t, "text"))
	repo.Tag(t, "v3.0.0", repo.Tree(t))
	for asked, tag := range map[string]string{"v1.0.0": "v1.0.0", "v2.0.0": "v2.0.0", "": "v3.0.0"} {
		_, err := install(t, repo.URL, asked)
		wantFault(t, err, fault.Invalid, "tag", strconv.Quote(tag), "commit")
	}
}

func TestInstallWithoutManifest(t *testing.T) {
	t.Parallel()
	none := upstreamtest.NewHost(t).Repo(t, "none")
	none.Commit(t, map[string]string{"src/plugin.json": "{}", "site.ts": ""})
	_, err := install(t, none.URL, "")
	wantFault(t, err, fault.Invalid, "url", "no plugin.json")
}

func TestCredentialsStayAtHome(t *testing.T) {
	t.Parallel()
	home, away := upstreamtest.NewHost(t), upstreamtest.NewHost(t)
	repo := home.Repo(t, "bar-app")
	repo.Commit(t, app())
	away.Repo(t, "bar-app").Commit(t, app("moved.ts", ""))
	home.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		if user != "joe" || password != "p@ss" || r.URL.Query().Get("token") != "t0k" {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	})
	raw := strings.Replace(repo.URL, "://", "://joe:p%40ss@", 1) + "?token=t0k"
	if _, err := install(t, raw, ""); err != nil {
		t.Errorf("with credentials: %v", err)
	}
	_, err := install(t, repo.URL, "")
	wantFault(t, err, fault.UpstreamUnavailable, "", "401")

	home.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, away.URL+r.URL.Path+"?service="+r.URL.Query().Get("service"), http.StatusMovedPermanently)
		return true
	})
	away.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" || r.URL.Query().Has("token") {
			t.Errorf("credentials went to another host: %s %v", r.URL, r.Header)
		}
		return false
	})
	got, err := install(t, raw, "")
	if _, moved := got.Files["moved.ts"]; err != nil || !moved {
		t.Errorf("through a redirect: %v, files %v", err, got.Files)
	}
	away.Fail(http.StatusUnauthorized)
	_, err = install(t, raw, "")
	wantFault(t, err, fault.UpstreamUnavailable, "", away.URL+" answered 401", home.URL+" redirects there")
}

// Another host that redirects back cannot choose where the credentials go.
func TestCredentialsAfterDetour(t *testing.T) {
	t.Parallel()
	home, away := upstreamtest.NewHost(t), upstreamtest.NewHost(t)
	repo, chosen := home.Repo(t, "bar-app"), home.Repo(t, "other-app")
	repo.Commit(t, app())
	chosen.Commit(t, app())
	home.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/bar-app") {
			http.Redirect(w, r, away.URL+r.URL.Path+"?"+r.URL.RawQuery, http.StatusFound)
			return true
		}
		if r.Header.Get("Authorization") != "" || r.URL.Query().Has("token") {
			t.Errorf("credentials went to %s", r.URL)
		}
		return false
	})
	away.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, chosen.URL+"/info/refs?service=git-upload-pack", http.StatusFound)
		return true
	})
	raw := strings.Replace(repo.URL, "://", "://joe:p%40ss@", 1) + "?token=t0k"
	if _, err := install(t, raw, ""); err != nil {
		t.Error(err)
	}
}

// Hosts redirect to their canonical url.
func TestCredentialsAfterRedirectHome(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	repo := host.Repo(t, "bar-app")
	repo.Commit(t, app())
	host.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		lower := strings.ToLower(r.Host)
		user, _, _ := r.BasicAuth()
		switch {
		case r.Host != lower:
			http.Redirect(w, r, "http://"+lower+r.URL.RequestURI(), http.StatusMovedPermanently)
			return true
		case user != "t0k" || r.URL.Query().Get("token") != "t0k":
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	})
	raw := strings.Replace(repo.URL, "://127.0.0.1", "://t0k@LocalHost", 1) + "?token=t0k"
	if _, err := install(t, raw, ""); err != nil {
		t.Error(err)
	}
}
