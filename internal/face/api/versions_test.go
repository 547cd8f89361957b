package api_test

import (
	"log/slog"
	"strings"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/sandbox"
)

// TestVersions checks an app's source, its versions and their differences against the document.
func TestVersions(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"name":"x"}`)
		save := func(body, wants string) {
			r.t.Helper()
			r.wantParts(r.key, "PATCH", apps+id+"/update_source", body, 200, wants)
		}
		save(`{"source":{"site.ts":"export const a = 1\n"}}`, `"status":"transpiled","error":"","line":0,"column":0,"warning":"","size":19,"sha256":"`)
		save(`{"site.ts":"export const a = 2\n","a.md":"","message":" Two, not one "}`, `"bundle":{"url":"`+baseURL+`/apps/`)
		save(`{"name":"y","source":null}`, `"name":"y"`)
		got := r.send(r.key, "GET", apps+id+"/versions?limit=1", "")
		for _, want := range []string{`{"count":2,"next":"` + baseURL, `"results":[{"version":2,"tag":"","commit":"","sha256":"`, `,"message":"Two, not one","created_by":{"id":`, `,"current":true,"withdrawn":null}]}`} {
			if !strings.Contains(got.body, want) {
				r.t.Errorf("versions: got %+v, want %s", got, want)
			}
		}
		const changed = `{"files":[{"filename":"a.md","diff":"--- /dev/null\n+++ b/a.md\n"},` +
			`{"filename":"site.ts","diff":"--- a/site.ts\n+++ b/site.ts\n@@ -1,1 +1,1 @@\n-export const a = 1\n+export const a = 2\n"}]}`
		r.want("GET", apps+id+"/versions/2/diff", "", 200, changed)
		r.want("GET", apps+id+"/versions/2/diff?against=1", "", 200, changed)
		r.want("GET", apps+id+"/versions/2/diff?against=2", "", 200, `{"files":[]}`)
		r.want("GET", apps+id+"/versions/3/diff", "", 404, notFound)
		r.want("GET", apps+id+"/versions/3", "", 404, notFound)
		idle := r.app(`{"name":"idle"}`)
		r.wantParts(r.key, "PATCH", apps+idle+"/update_source", `{"plugin.json":"{\"main\":\"app.js\"}"}`, 200, `"warning":"\"main\" names \"app.js\", which makes no bundle: `) // a main that makes no bundle
		r.want("GET", apps+idle+"/upgrade?version=1", "", 200, `{"version":1,"tag":"","commit":"","config_schema":null,"bundle":null,"files":[]}`)
		r.want("GET", apps+id+"/versions/two", "", 404, notFound)
		r.wantStatus(r.key, "PATCH", apps+id, `{"config_schema":[{"key":"color"}]}`, 200)
		for path, wants := range map[string]string{
			"/versions/2": `"message":"Two, not one","created_by":{"id":`,
			"/versions/3": `"current":true,"withdrawn":null,"config_schema":[{"key":"color"}]}`,
		} {
			r.wantParts(r.key, "GET", apps+id+path, "", 200, wants)
		}
		if got := r.send(r.key, "GET", apps+id+"/versions/2", ""); !strings.HasSuffix(got.body, `"current":false,"withdrawn":null,"config_schema":null}`) {
			r.t.Errorf("the schema of a version: got %+v", got)
		}
		const back = `"files":[{"filename":"a.md","diff":"--- a/a.md\n+++ /dev/null\n"},` +
			`{"filename":"site.ts","diff":"--- a/site.ts\n+++ b/site.ts\n@@ -1,1 +1,1 @@\n-export const a = 2\n+export const a = 1\n"}]}`
		r.want("GET", apps+id+"/upgrade?version=1", "", 200, `{"version":1,"tag":"","commit":"","config_schema":null,"bundle":{"size":24,"inject":false,"kept":false},`+back)
		r.want("GET", apps+id+"/versions/two/diff", "", 404, notFound)
		invalid := func(detail, attr string) string {
			return faultBody("validation_error", "invalid_input", detail, attr)
		}
		r.want("GET", apps+id+"/versions/2/diff?against=4", "", 400, invalid("The app has no such version, or it is no longer kept.", `"against"`))
		r.want("GET", apps+id+"/versions/2/diff?against=x", "", 400, invalid("Must be the number of a version.", `"against"`))
		r.wantStatus(r.key, "POST", apps+id+"/upgrade", `{"version":null,"commit":null}`, 200)
		r.want("POST", apps+id+"/upgrade", `{"version":"x"}`, 400, invalid("Must be the number of a version.", `"version"`))
		r.want("POST", apps+id+"/upgrade", `{"accept_changed":1}`, 400, invalid("Must be true or false, not a number.", `"accept_changed"`))
		r.want("POST", apps+id+"/upgrade", `{"commit":1}`, 400, invalid("Must be a string, not a number.", `"commit"`))
		r.want("POST", apps+id+"/upgrade", `{"version":2,"commit":"4f2a9d0c1b7e8a6f5d3c2b1a09f8e7d6c5b4a392"}`, 400,
			faultBody("validation_error", "content_changed", "The upgrade leads to another commit than the one reviewed: review it again.", `"commit"`))
		r.want("PATCH", apps+id+"/update_source", `{"a.md":"no","message":"`+strings.Repeat("é", 501)+`"}`, 400,
			faultBody("validation_error", "max_length", "Must be at most 500 characters long, not 501.", `"message"`))
		r.want("PATCH", apps+id+"/update_source", `{"source":[]}`, 400, invalid("Must be an object, not an array.", `"source"`))
		r.want("PATCH", apps+id+"/update_source", `{"source":{"a.ts":1}}`, 400, invalid(`"a.ts": Must be a string, not a number.`, `"source"`))
		r.want("PATCH", apps+id+"/update_source", `{"b.ts":1}`, 400, invalid("Must be a string, not a number.", `"b.ts"`))
	})
}

// The versions of two apps have the same numbers but nothing else in common.
func TestVersionsOfTwoApps(t *testing.T) {
	each(t, func(r *rig) {
		for _, name := range []string{"a", "b"} {
			id := r.app(`{"name":"` + name + `"}`)
			for _, text := range []string{"old", "new"} {
				r.wantStatus(r.key, "PATCH", apps+id+"/update_source", `{"x.md":"`+name+text+`\n"}`, 200)
			}
		}
		r.wantStatus(r.key, "PATCH", apps+"1/update_source", `{"x.md":""}`, 200)
		r.want("GET", apps+"1/versions/2/diff", "", 200, `{"files":[{"filename":"x.md","diff":"--- a/x.md\n+++ b/x.md\n@@ -1,1 +1,1 @@\n-aold\n+anew\n"}]}`)
		r.want("GET", apps+"2/versions/2/diff", "", 200, `{"files":[{"filename":"x.md","diff":"--- a/x.md\n+++ b/x.md\n@@ -1,1 +1,1 @@\n-bold\n+bnew\n"}]}`)
		r.want("GET", apps+"2/versions/3/diff", "", 404, notFound)
		got := r.send(r.key, "GET", apps+"2/versions", "").body
		if !strings.HasPrefix(got, `{"count":2,`) || strings.Count(got, `"version":`) != 2 || strings.Count(got, `"email":"owner@acme.example"`) != 2 || strings.Count(got, `"current":true`) != 1 {
			r.t.Errorf("versions: %s", got)
		}
	})
}

func TestSourceBodyTooLarge(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"name":"x"}`)
		big := `{"source":{"a.md":"` + strings.Repeat("x", 1<<20) + `"}}`
		r.wantStatus(r.key, "PATCH", apps+id+"/update_source", big, 200)                                                     // 1 MiB in a body of more
		r.wantStatus(r.key, "PATCH", apps+id+"/update_source", `{"source":{"a.md":"`+strings.Repeat("x", 14<<20)+`"}}`, 413) // more than 14 MiB
	})
}

func TestBusy(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"name":"x"}`)
		busy := *r.api
		busy.Plugins.Children = sandbox.New(0, 0, slog.New(slog.DiscardHandler))
		got := r.sendTo(r.serve(&busy), r.key, "PATCH", apps+id+"/update_source", `{"site.ts":""}`)
		r.compare("busy", got, 503, faultBody("server_error", "busy", "Too much work of this kind is waiting; try again in a few seconds.", "null"))
		if got.header.Get("Retry-After") != "5" {
			r.t.Errorf("Retry-After: %q", got.header.Get("Retry-After"))
		}
	})
}

// Another organization sees a global app's versions, but not who made them.
func TestVersionsOfGlobalApp(t *testing.T) {
	each(t, func(r *rig) {
		root := access.RootApps
		r.set(org.Settings{AppAccess: &root})
		id := r.app(`{"name":"x","is_global":true}`)
		r.wantStatus(r.key, "PATCH", apps+id+"/update_source", `{"a.md":"a"}`, 200)
		r.wantParts(r.otherKey, "GET", "/api/organizations/"+r.other.ID+"/pipeline_frontend_apps/"+id+"/versions", "", 200, `"created_by":null`)
		r.wantStatus(r.otherKey, "PATCH", "/api/organizations/"+r.other.ID+"/pipeline_frontend_apps/"+id+"/update_source", `{"a.md":"b"}`, 403)
	})
}
