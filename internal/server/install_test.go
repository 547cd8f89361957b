package server_test

import (
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/upstream/upstreamtest"
)

const testdata = "../infra/upstream/testdata/"

// Real plugin.json files are installed as apps whose config_schema is their config.
func TestRealManifests(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	each(t, func(t *testing.T, s *running) {
		names := must(filepath.Glob(testdata + "plugin_json/*.json"))(t)
		if len(names) != 9 {
			t.Fatalf("%d files, want 9", len(names))
		}
		for _, name := range names {
			text := string(must(os.ReadFile(name))(t))
			repo := host.Repo(t, filepath.Base(name)+filepath.Base(t.Name()))
			repo.Commit(t, map[string]string{"plugin.json": text})
			app := must(s.CreateApp(t.Context(), custom(repo, "")))(t)
			var want struct {
				Name   string `json:"name"`
				Config any    `json:"config"`
			}
			var config any
			check(t, errors.Join(json.Unmarshal([]byte(text), &want), json.Unmarshal(app.ConfigSchema, &config)))
			if app.Name != want.Name || !reflect.DeepEqual(config, want.Config) {
				t.Errorf("%s: installed %q with %s", name, app.Name, app.ConfigSchema)
			}
		}
	})
}

func TestManifestVariants(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	s := start(t, config.Config{})
	for name, fine := range map[string]bool{
		"feedback-app_6f25a6c_number_type.json":    true,
		"helloworldplugin_v0.0.1_dict_config.json": true,
		"feedback-app_8d39705_malformed.json":      false,
	} {
		repo := host.Repo(t, name)
		repo.Commit(t, map[string]string{"plugin.json": string(must(os.ReadFile(testdata + "plugin_json_variants/" + name))(t))})
		_, err := s.CreateApp(t.Context(), custom(repo, ""))
		if fine && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !fine {
			refused(t, err, http.StatusBadRequest, "invalid_input", "url")
		}
	}
}

// An install that is not possible is refused and leaves nothing behind.
func TestRefusedInstalls(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	each(t, func(t *testing.T, s *running) {
		suffix := filepath.Base(t.Name())
		good := publish(t, host, "good"+suffix, "v1.0.0")
		bare := host.Repo(t, "bare"+suffix)
		bare.Commit(t, map[string]string{"README.md": "nothing here"})
		nameless := host.Repo(t, "nameless"+suffix)
		nameless.Commit(t, map[string]string{"plugin.json": `{"name": " "}`})
		long := host.Repo(t, "long"+suffix)
		long.Commit(t, map[string]string{"plugin.json": `{"name": "` + strings.Repeat("x", 201) + `"}`})
		nul := host.Repo(t, "nul"+suffix)
		nul.Commit(t, map[string]string{"plugin.json": `{"name": "x", "config": ["\u0000"]}`})
		for name, test := range map[string]struct {
			draft      client.AppDraft
			status     int
			code, attr string
		}{
			"no url":              {client.AppDraft{PluginType: "custom", Name: "x"}, 400, "required", "url"},
			"file":                {client.AppDraft{PluginType: "custom", URL: "file:///etc/passwd"}, 400, "invalid_input", "url"},
			"metadata service":    {client.AppDraft{PluginType: "custom", URL: "http://169.254.169.254/latest"}, 400, "invalid_input", "url"},
			"private":             {client.AppDraft{PluginType: "custom", URL: "http://10.0.0.1/a.git"}, 400, "invalid_input", "url"},
			"no such name":        {client.AppDraft{PluginType: "custom", URL: "http://nowhere.invalid/a.git"}, 502, "upstream_unavailable", ""},
			"no such tag":         {custom(good, "v9"), 400, "invalid_input", "tag"},
			"no plugin.json":      {custom(bare, ""), 400, "invalid_input", "url"},
			"no name":             {custom(nameless, ""), 400, "required", "name"},
			"long name":           {custom(long, ""), 400, "invalid_input", "url"},
			"NUL":                 {custom(nul, ""), 400, "invalid_input", "url"},
			"not in the catalog":  {client.AppDraft{PluginType: "repository", Name: "No such app"}, 400, "invalid_input", "name"},
			"nothing in catalog":  {client.AppDraft{PluginType: "repository"}, 400, "required", "name"},
			"url not in catalog":  {client.AppDraft{PluginType: "repository", URL: "https://example.com/a"}, 400, "invalid_input", "url"},
			"two faults, the 1st": {client.AppDraft{PluginType: "custom", Icon: strings.Repeat("x", 900)}, 400, "required", "url"},
		} {
			_, err := s.CreateApp(t.Context(), test.draft)
			t.Log(name)
			refused(t, err, test.status, test.code, test.attr)
		}
		apps := must(s.ListApps(t.Context(), client.AppFilter{}, client.Range{}))(t)
		activity := must(s.ListActivity(t.Context(), client.ActivityFilter{}, client.Range{}))(t)
		if apps.Count != 0 || activity.Count != 0 {
			t.Errorf("left behind: %d apps, %d entries", apps.Count, activity.Count)
		}
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: "custom", URL: nameless.URL, Name: "Given", Capabilities: json.RawMessage(`{"a":1}`)}))(t)
		if app.Name != "Given" || string(app.Capabilities) != `{"a":1}` || len(app.Tag) != 40 || app.LatestTag != app.Tag {
			t.Errorf("what plugin.json leaves open: %+v", app)
		}
	})
}

// The upstream gets the credentials at an install and at an upgrade; nobody else gets them.
func TestCredentials(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		host := upstreamtest.NewHost(t)
		repo := publish(t, host, "secret", "v1.0.0")
		var refusals atomic.Int32
		host.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			user, password, _ := r.BasicAuth()
			if user == "ada" && password == "hunter2" && r.URL.Query().Get("key") == "k3y" {
				return false
			}
			refusals.Add(1)
			w.WriteHeader(http.StatusForbidden)
			return true
		})
		url := strings.Replace(repo.URL, "http://", "http://ada:hunter2@", 1) + "?key=k3y"
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginCustom, URL: url}))(t)
		repo.Tag(t, "v2.0.0", repo.Commit(t, files("v2.0.0")))
		app = must(s.UpgradeApp(t.Context(), app.ID, client.Upgrade{}))(t)
		if app.URL != repo.URL || app.Tag != "v2.0.0" || refusals.Load() != 0 {
			t.Errorf("got %+v, %d requests without credentials", app, refusals.Load())
		}
		for _, path := range []string{"", "/activity", "/" + itoa(app.ID) + "/source", "/" + itoa(app.ID) + "/versions"} {
			if got := s.send(t, http.MethodGet, path, ""); strings.Contains(got.body, "hunter2") || strings.Contains(got.body, "k3y") {
				t.Errorf("%s tells: %s", path, got.body)
			}
		}
		if strings.Contains(s.log.String(), "hunter2") || strings.Contains(s.log.String(), "k3y") {
			t.Error("the log tells")
		}
	})
}

// Only the operator learns why a host cannot be reached, from the log.
func TestUnreachableHost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		gone := httptest.NewServer(http.NotFoundHandler())
		gone.Close()
		url := strings.Replace(gone.URL, "http://", "http://ada:hunter2@", 1) + "/app?key=k3y"
		_, err := s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginCustom, URL: url})
		refused(t, err, 502, "upstream_unavailable", "")
		if strings.Contains(err.Error(), "connection refused") {
			t.Errorf("shown: %v", err)
		}
		log := s.log.String()
		if !strings.Contains(log, "connection refused") || strings.Contains(log, "hunter2") || strings.Contains(log, "k3y") {
			t.Errorf("logged: %s", log)
		}
	})
}

// If many callers install one url at once, one succeeds.
func TestInstallTogether(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		repo := publish(t, upstreamtest.NewHost(t), "wanted", "v1.0.0")
		var done atomic.Int32
		var all sync.WaitGroup
		for range 4 { // as many as one organization may run at once
			all.Go(func() {
				_, err := s.CreateApp(t.Context(), custom(repo, ""))
				if err == nil {
					done.Add(1)
				} else {
					refused(t, err, http.StatusBadRequest, "unique", "url")
				}
			})
		}
		all.Wait()
		if done.Load() != 1 {
			t.Errorf("%d installed", done.Load())
		}
	})
}

// The page of an app of the catalog describes it before it is installed, in its own words, which are shown as text.
func TestCatalogEntry(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	broken := host.Repo(t, "broken")
	broken.Commit(t, map[string]string{"plugin.json": "{}", "site.ts": "export const"})
	repo := host.Repo(t, "listed")
	for _, tag := range []string{"v1.0.0", "v1.10.0", "v1.9.0"} {
		repo.Tag(t, tag, repo.Commit(t, map[string]string{
			"plugin.json": `{"name": "Banner", "config": [{"key": "title", "name": "Title", "type": "string", "required": true, "site": true}]}`,
			"README.md":   "# Banner\n" + hostile + strings.Repeat("é", 9000),
			"site.ts":     "export function inject() { console.log('" + tag + "') }\n",
		}))
	}
	catalog := filepath.Join(t.TempDir(), "catalog.json")
	check(t, os.WriteFile(catalog, []byte(`[{"name": "Listed", "url": "`+repo.URL+`", "description": "Puts a bar on top."}, {"name": "Other", "url": "`+broken.URL+`"}]`), 0o600))
	s := start(t, config.Config{Catalog: catalog})
	v := visit(t, s, s.key)
	got := v.get("/console/@current/apps/catalog?name=Listed&url=" + url.QueryEscape(repo.URL))
	for _, text := range []string{"Install v1.10.0", "<h3>Banner</h3>", "There is more in its README.md.", "v1.10.0</bdi>, <bdi>v1.9.0</bdi>, <bdi>v1.0.0", "<dt>Needs</dt><dd><bdi>Title", "of 3 files"} {
		v.want(200, text, got)
	}
	if strings.Contains(got.body, "<script>alert") || strings.Contains(got.body, "<img") || len(got.body) > maxBytes {
		t.Errorf("%d bytes: %s", len(got.body), got.body)
	}
	if made := must(s.ListApps(t.Context(), client.AppFilter{}, client.Range{}))(t); made.Count != 0 {
		t.Errorf("looking has installed %+v", made.Results)
	}
	v.want(200, "site.ts</bdi> does not compile", v.get("/console/@current/apps/catalog?name=Other&url="+url.QueryEscape(broken.URL)))
	v.want(200, ">Listed<", v.get("/console/@current/apps/new?search=BAR"))
	v.want(200, "No app of the catalog matches.", v.get("/console/@current/apps/new?search=bars"))
	member := visit(t, s, join(t, s))
	if got := member.get("/console/@current/apps/catalog?name=Listed&url=" + url.QueryEscape(repo.URL)); got.status != 200 || strings.Contains(got.body, "Banner</h3>") {
		t.Errorf("%d: fetched for somebody who may not install:\n%s", got.status, got.body)
	} else {
		member.want(200, "for those who may install it", got)
	}
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	repo := publish(t, host, "listed", "v1.0.0")
	catalog := filepath.Join(t.TempDir(), "catalog.json")
	text := string(must(os.ReadFile(testdata + "catalog.json"))(t))
	text = strings.Replace(text, "[", `[{"name": "Listed", "url": "`+repo.URL+`", "description": "D", "verified": true},`, 1)
	check(t, os.WriteFile(catalog, []byte(text), 0o600))
	s := start(t, config.Config{Catalog: catalog})
	list := func(offset int) client.AppPage[client.CatalogApp] {
		t.Helper()
		return must(s.ListRepository(t.Context(), client.Range{Limit: 10, Offset: offset}))(t)
	}
	first := list(0)
	if first.Count != 71 || first.Name != "Listed" || first.ID != 0 || len(first.Results) != 10 || first.Results[0].Installed || !first.Results[0].Verified {
		t.Errorf("got %+v", first)
	}
	app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginRepository, Name: "Listed"}))(t)
	if app.PluginType != client.PluginRepository || app.Name != "Banner" || app.Tag != "v1.0.0" {
		t.Errorf("installed %+v", app)
	}
	if !list(0).Results[0].Installed || list(0).Results[1].Installed {
		t.Errorf("installed: %+v", list(0).Results[:2])
	}
	check(t, s.DeleteApp(t.Context(), app.ID))
	v := visit(t, s, s.key)
	page := regexp.MustCompile(`/apps/catalog\?name=Listed[^"]*`).FindString(html.UnescapeString(v.get("/console/@current/apps/new").body))
	v.want(200, "Settings", v.get("/console/@current"+page))
	v.want(404, "The catalog has no app of this name", v.get("/console/@current/apps/catalog?name=Nothing"))
	v.want(200, "Banner is installed.", v.post("/console/@current/apps/new", "do", "catalog", "name", "Listed"))
	installed := must(s.ListApps(t.Context(), client.AppFilter{}, client.Range{}))(t).Results
	v.want(200, "1 checked; 0 of them can be upgraded.", v.post("/console/@current/apps", "do", "check", "app", itoa(installed[len(installed)-1].ID)))
	v.want(200, ">installed<", v.get("/console/@current/apps/new"))
	entry := v.get("/console/@current" + page)
	v.want(200, "/apps/"+itoa(installed[len(installed)-1].ID)+`">Go to the app<`, entry)
	v.want(200, "Settings", entry)
	v.want(400, "<li>Listed is not installed. ", v.post("/console/@current/apps/new", "do", "catalog", "name", "Listed"))
	npm := 0
	for offset := 0; offset < 71; offset += 10 {
		for _, entry := range list(offset).Results {
			if strings.Contains(entry.URL, "npm") {
				npm++
				_, err := s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginRepository, URL: entry.URL})
				refused(t, err, http.StatusBadRequest, "invalid_input", "url")
			}
		}
	}
	if npm != 2 {
		t.Errorf("%d npm packages, want 2", npm)
	}
}

// A save of an installed app is a version on top of its tag; an upgrade to that tag undoes it.
func TestSaveOnInstalled(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		repo := publish(t, upstreamtest.NewHost(t), "banner", "v1.0.0")
		app := must(s.CreateApp(t.Context(), custom(repo, "")))(t)
		installed := must(s.GetSource(t.Context(), app.ID))(t)
		saved := must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": new("export const mine = 1")}}))(t)
		if saved.Tag != "v1.0.0" || *saved.Bundle == *installed.Bundle {
			t.Errorf("saved %+v", saved)
		}
		versions := must(s.ListVersions(t.Context(), app.ID, client.Range{}))(t)
		top := versions.Results[0]
		if versions.Count != 2 || top.Tag != "v1.0.0" || top.Commit != "" || !top.Current || top.CreatedBy == nil || len(versions.Results[1].Commit) != 40 {
			t.Errorf("versions %+v", versions)
		}
		must(s.UpgradeApp(t.Context(), app.ID, client.Upgrade{AppPatch: client.AppPatch{Tag: new("v1.0.0")}}))(t)
		if again := must(s.GetSource(t.Context(), app.ID))(t); *again.Bundle != *installed.Bundle {
			t.Errorf("again %+v", again)
		}
	})
}

// An upgrade that fails, in any way, leaves the app exactly as it was.
func TestFailedUpgrade(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		host := upstreamtest.NewHost(t)
		repo := publish(t, host, "banner", "v1.0.0")
		app := must(s.CreateApp(t.Context(), custom(repo, "")))(t)
		state := func() string {
			t.Helper()
			var all strings.Builder
			for _, path := range []string{"/" + itoa(app.ID) + "/source", "/" + itoa(app.ID) + "/versions", "/activity"} {
				all.WriteString(s.send(t, http.MethodGet, path, "").body)
			}
			return all.String()
		}
		before := state()
		repo.Tag(t, "v2.0.0", repo.Commit(t, map[string]string{"plugin.json": "not JSON"}))
		repo.Tag(t, "v3.0.0", repo.Commit(t, map[string]string{"site.ts": site}))
		for tag, attr := range map[string]string{"v2.0.0": "url", "v3.0.0": "url", "v4.0.0": "tag"} {
			_, err := s.UpgradeApp(t.Context(), app.ID, client.Upgrade{AppPatch: client.AppPatch{Tag: &tag, Capabilities: json.RawMessage("[1]")}})
			refused(t, err, http.StatusBadRequest, "invalid_input", attr)
		}
		host.Fail(http.StatusInternalServerError)
		_, err := s.UpgradeApp(t.Context(), app.ID, client.Upgrade{AppPatch: client.AppPatch{Tag: new("v5.0.0")}})
		refused(t, err, http.StatusBadGateway, "upstream_unavailable", "")
		if after := state(); after != before {
			t.Errorf("before %s\nafter %s", before, after)
		}
	})
}
