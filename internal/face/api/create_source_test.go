package api_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"foyer/internal/infra/sandbox"
)

// An app is made with its source in one request.
func TestCreateWithSource(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"plugin_type":"source","source":{"plugin.json":"{\"name\":\"Hello\",\"config\":[1]}","old.ts":null},"site.ts":"export const a = 1"}`)
		got := r.wantStatus(r.key, "GET", apps+id+"/source", "", 200)
		for _, want := range []string{`"name":"Hello"`, `"config_schema":[1]`, `"source":{"plugin.json":`, `"site.ts":"export const a = 1"}`, `"status":"transpiled"`, `"bundle":{"url"`} {
			if !strings.Contains(got.body, want) {
				r.t.Errorf("lacks %s: %s", want, got.body)
			}
		}
		r.wantCount(r.key, apps+id+"/versions", 1)
		if got := r.wantStatus(r.key, "GET", "/pipeline_frontend_apps/activity", "", 200); strings.Count(got.body, `"activity":`) != 1 {
			r.t.Errorf("activity: %s", got.body)
		}
	})
}

// The name in a plugin.json is enough, whatever other fields are given.
func TestCreateNamedByManifest(t *testing.T) {
	each(t, func(r *rig) {
		for _, beside := range []string{``, `"name":null,`, `"name":"",`, `"name":"other",`, `"config_schema":null,`} {
			r.wantParts(r.key, "POST", "/pipeline_frontend_apps", `{`+beside+`"source":{"plugin.json":"{\"name\":\"Hello\",\"config\":[1]}"}}`, 201, `"name":"Hello"`, `"config_schema":[1]`)
		}
	})
}

// An app that cannot be created with all of its source is not created at all.
func TestCreateWithSourceRefused(t *testing.T) {
	each(t, func(r *rig) {
		for body, want := range map[string][2]string{
			`{"plugin_type":"custom","url":"https://example.com/a","source":{"a.ts":""}}`:     {"invalid_input", "source"},
			`{"plugin_type":"repository","name":"x","a.ts":""}`:                               {"invalid_input", "a.ts"},
			`{"name":"x","source":{"../a.ts":""}}`:                                            {"invalid_input", "source"},
			`{"name":"x","source":{"plugin.json":"{"}}`:                                       {"invalid_input", "source"},
			`{"name":"x","source":{"a.ts":"` + strings.Repeat("x", 1<<20+1) + `"}}`:           {"max_length", "source"},
			`{"name":"x","config_schema":["` + strings.Repeat("x", 1<<20) + `"],"source":{}}`: {"max_length", "config_schema"},
			`{"source":{"a.ts":"","plugin.json":"{}"}}`:                                       {"required", "name"},
		} {
			got := r.send(r.key, "POST", "/pipeline_frontend_apps", body)
			if got.status != 400 || between(got.body, `"code":"`, `"`) != want[0] || between(got.body, `"attr":"`, `"`) != want[1] {
				r.t.Errorf("%.80s: %d %s, want %v", body, got.status, got.body, want)
			}
		}
		var many strings.Builder
		for i := range 801 {
			fmt.Fprintf(&many, `,"%d":""`, i)
		}
		for body, want := range map[string][]string{
			`{"name":5,"source":{"a":""` + many.String() + `}}`:      {"source"},
			`{"name":5,"source":{"plugin.json":"nope"}}`:             {"name", "source"},
			`{"source":{"plugin.json":"nope"}}`:                      {"source"},
			`{"source":{"../a.ts":""}}`:                              {"name", "source"},
			`{"name":5,"source":{"plugin.json":"{\"name\":\"x\"}"}}`: {"name"},
		} {
			if got := attrs(r.t, r.wantStatus(r.key, "POST", "/pipeline_frontend_apps", body, 400)); !slices.Equal(got, want) {
				r.t.Errorf("%.80s: %v, want %v", body, got, want)
			}
		}
		busy := *r.api
		busy.Plugins.Children = sandbox.New(0, 0, slog.New(slog.DiscardHandler))
		if got := r.sendTo(r.serve(&busy), r.key, "POST", "/pipeline_frontend_apps", `{"name":"x","site.ts":""}`); got.status != 503 {
			r.t.Errorf("%d %s", got.status, got.body)
		}
		r.wantCount(r.key, "/pipeline_frontend_apps", 0) // left behind
	})
}
