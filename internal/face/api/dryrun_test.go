package api_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
)

// rows counts the rows of objects, activity and jobs.
func (r *rig) rows() (n int) {
	r.t.Helper()
	for _, table := range []string{"activity", "jobs", "plugins", "sites", "placements", "invites", "memberships", "plugin_versions", "contents", "quotas"} {
		found, err := db.One[int](r.t.Context(), r.db, nil, `SELECT COUNT(*) FROM `+table)
		if err != nil {
			r.t.Fatal(err)
		}
		n += found
	}
	return n
}

// whatIsNew matches the values in an answer that differ each time.
var whatIsNew = regexp.MustCompile(`"(id|token|snippet|created_at|updated_at|joined_at|expires_at|url|at|revision)":("[^"\\]*(\\.[^"\\]*)*"|\d+)`)

// A dry run of each change gives the same answer as the change itself, and changes nothing.
func TestDryRun(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x","source":{"site.ts":"export {}"}}`)
		id := strings.TrimPrefix(app, apps)
		site := "/sites/" + r.site("s")
		invite := invites + r.invite("kept@x.example")
		member := "/members/" + r.join(r.org, "member@acme.example", access.Member).User.UUID
		changes := [][3]string{
			{"POST", apps, `{"name":"y","source":{"site.ts":"export {}"}}`},
			{"PATCH", app, `{"description":"new"}`},
			{"PATCH", app + "/update_source", `{"site.ts":"export const a = 1"}`},
			{"POST", app + "/upgrade", `{"tag":"2"}`},
			{"POST", app + "/versions/1/withdraw", `{"reason":"why"}`},
			{"POST", app + "/versions/1/restore", ``},
			{"POST", site + "/apps", `{"app_id":` + id + `}`},
			{"PATCH", site + "/apps/" + id, `{"position":7}`},
			{"POST", app + "/disable", `{"reason":"why"}`},
			{"POST", app + "/enable", ``},
			{"DELETE", site + "/apps/" + id, ``},
			{"POST", "/sites", `{"name":"t"}`},
			{"PATCH", site, `{"name":"u"}`},
			{"POST", site + "/restore", `{"revision":1}`},
			{"DELETE", site, ``},
			{"DELETE", app, ``},
			{"POST", invites, `{"target_email":"a@x.example"}`},
			{"POST", invites + "bulk", `[{"target_email":"b@x.example"},{"target_email":"c@x.example"}]`},
			{"POST", invite + "/resend", ``},
			{"DELETE", invite, ``},
			{"PATCH", member, `{"level":8}`},
			{"DELETE", member, ``},
		}
		r.wantEachRoute(changes, `^(POST|PATCH|DELETE) /(pipeline_frontend_apps|sites|invites|members)`, `/(link|preview)$`)
		for _, c := range changes {
			before := r.rows()
			dry := r.send(r.key, c[0], c[1]+"?dry_run=true", c[2])
			if after := r.rows(); after != before {
				r.t.Errorf("%s %s: %d rows before, %d after", c[0], c[1], before, after)
			}
			if dry.header.Get("Dry-Run") != "true" || dry.header.Get("Etag") != "" {
				r.t.Errorf("%s %s: Dry-Run: %s, ETag %s", c[0], c[1], dry.header.Get("Dry-Run"), dry.header.Get("Etag"))
			}
			really := r.send(r.key, c[0], c[1], c[2])
			if really.header.Get("Dry-Run") != "" || really.status > 299 {
				r.t.Errorf("%s %s: %d %s", c[0], c[1], really.status, really.body)
			}
			dry.body = whatIsNew.ReplaceAllString(dry.body, `"$1":`)
			r.compare(c[0]+" "+c[1], dry, really.status, whatIsNew.ReplaceAllString(really.body, `"$1":`))
		}
	})
}

// A dry run gives new objects no id and makes no secrets.
func TestDryRunMakesNothingUp(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x"}`)
		for _, c := range [][4]string{
			{"POST", apps, `{"name":"y"}`, `{"id":0,`},
			{"POST", "/sites", `{"name":"t"}`, `{"id":0,"name":"t","token":"",`},
			{"POST", "/sites", `{"name":"t"}`, `"snippet":"",`},
			{"POST", invites, `{"target_email":"a@x.example"}`, `{"id":"00000000-0000-0000-0000-000000000000",`},
			{"POST", invites + "bulk", `[{"target_email":"a@x.example"}]`, `[{"id":"00000000-0000-0000-0000-000000000000",`},
			{"PATCH", app + "/update_source", `{"site.ts":"export {}"}`, `"bundle":{"url":"","integrity":"sha384-`},
		} {
			if got := r.send(r.key, c[0], c[1]+"?dry_run=true", c[2]); got.status > 299 || !strings.Contains(got.body, c[3]) {
				r.t.Errorf("%s %s: %d %s", c[0], c[1], got.status, got.body)
			}
		}
	})
}

// A dry run makes the checks of a change. It is refused for operations without one.
func TestDryRunRefused(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x"}`)
		invite := invites + r.invite("kept@x.example")
		r.send(r.key, "POST", "/sites", `{"name":"s"}`)
		for _, c := range []struct {
			method, path, body, says string
			status                   int
		}{
			{"POST", apps + "?dry_run=true", `{}`, `"required"`, 400},
			{"PATCH", apps + "999?dry_run=true", `{"name":"y"}`, `"not_found"`, 404},
			{"POST", invites + "?dry_run=true", `{"target_email":"owner@acme.example"}`, `"already_member"`, 400},
			{"POST", "/sites?dry_run=true", `{"name":"s"}`, `"unique"`, 400},
			{"DELETE", "/members/" + r.owner.User.UUID + "?dry_run=true", ``, `"permission_denied"`, 403},
			{"POST", apps + "?dry_run=1", `{"name":"y"}`, `"attr":"dry_run"`, 400},
			{"POST", apps + "?dry%5Frun=yes", `{"name":"y"}`, `"attr":"dry_run"`, 400},
			{"POST", apps + "?dry_run=true&dry_run=true", `{"name":"y"}`, `"attr":"dry_run"`, 400},
			{"GET", app + "?dry_run=true", ``, `"attr":"dry_run"`, 400},
			{"GET", "/sites?dry%5Frun=true", ``, `"attr":"dry_run"`, 400},
			{"PATCH", "?dry_run=true", `{}`, `"attr":"dry_run"`, 400},
			{"POST", "/api/users/@me/keys?dry_run=true", `{"scopes":["*"]}`, `"attr":"dry_run"`, 400},
			{"POST", invite + "/link?dry_run=true", ``, `"attr":"dry_run"`, 400},
		} {
			r.wantParts(r.key, c.method, c.path, c.body, c.status, c.says)
		}
	})
}

// A malformed query string may have meant a dry run, so it changes nothing.
func TestMalformedQueryChangesNothing(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x"}`)
		invite := invites + r.invite("kept@x.example")
		for _, c := range [][3]string{
			{"DELETE", app + "?dry_run=true;", ``},
			{"DELETE", app + "?x=1;dry_run=true", ``},
			{"DELETE", invite + "?dry_run=true;", ``},
			{"POST", apps + "?dry_run=true%zz", `{"name":"y"}`},
			{"POST", apps + "?dry_run=true%", `{"name":"y"}`},
			{"POST", invites + "bulk?partial=true;", `[{"target_email":"a@x.example"}]`},
			{"PATCH", "/api/users/@me?%", `{"first_name":"F"}`},
			{"GET", app + "?dry_run=true;", ``},
		} {
			for _, handling := range []string{"lenient", "strict"} {
				before := r.rows()
				got := r.send(r.key, c[0], c[1], c[2], "Prefer", "handling="+handling)
				if got.status != http.StatusBadRequest || !strings.Contains(got.body, `"detail":"The query string has a `) {
					r.t.Errorf("%s %s, %s: %d %s", c[0], c[1], handling, got.status, got.body)
				}
				if after := r.rows(); after != before {
					r.t.Errorf("%s %s, %s: %d rows before, %d after", c[0], c[1], handling, before, after)
				}
			}
		}
	})
}

// A change that shares a commit with dry runs is kept.
func TestDryRunBesideChanges(t *testing.T) {
	each(t, func(r *rig) {
		const n = 20
		done := make(chan answer, 2*n)
		for i := range 2 * n {
			query := []string{"", "?dry_run=true"}[i%2]
			go func() { done <- r.send(r.key, "POST", apps+query, `{"name":"x"}`) }()
		}
		for range 2 * n {
			if got := <-done; got.status != http.StatusCreated {
				r.t.Errorf("%d %s", got.status, got.body)
			}
		}
		r.wantCount(r.key, apps, 20)
	})
}
