package api_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db/dbtest"
)

// appBody returns the answer for an app of the first organization.
func (r *rig) appBody(id int, fields string) string {
	defaults := []string{
		`"plugin_type":"local"`, `"name":""`, `"description":""`, `"url":""`, `"icon":""`, `"config_schema":null`, `"tag":""`, `"latest_tag":""`,
		`"is_global":false`, `"organization_id":"` + r.org.ID + `"`, `"organization_name":"Acme"`, `"capabilities":null`, `"metrics":null`, `"public_jobs":null`,
	}
	for _, field := range strings.Split(fields, "; ") {
		name, _, _ := strings.Cut(field, ":")
		for i := range defaults {
			if strings.HasPrefix(defaults[i], name+":") {
				defaults[i] = field
			}
		}
	}
	return fmt.Sprintf(`{"id":%d,%s}`, id, strings.Join(defaults, ","))
}

func TestApps(t *testing.T) {
	each(t, func(r *rig) {
		r.want("POST", apps, `{"name":" One "}`, 201, r.appBody(1, `"name":"One"`))
		const structures = `"config_schema":[{"z": 1.50, "a":1e2 , "n":12345678901234567890},"ä\u00e4\"<&>"],"capabilities":{"methods":[ ]},"metrics":{"b":1,"a":2},"public_jobs":[]`
		const kept = `"config_schema":[{"z":1.50,"a":1e2,"n":12345678901234567890},"ä\u00e4\"<&>"]; "capabilities":{"methods":[]}; "metrics":{"b":1,"a":2}; "public_jobs":[]`
		full := r.appBody(2, `"plugin_type":"source"; "name":"Two <b>"; "description":"d"; "icon":"i"; "tag":"v1"; "is_global":true; `+kept)
		r.want("POST", apps, `{"plugin_type":"source","name":"Two <b>","description":"d","icon":"i","tag":"v1","is_global":true,"url":"ignored","id":7,`+structures+`}`, 201, full)
		r.want("GET", apps+"2/", "", 200, full)
		r.want("PATCH", apps+"2", full, 200, full) // a client may send back what it read
		r.want("PATCH", apps+"2", "", 200, full)
		r.want("PATCH", apps+"2", "{}", 200, full)
		r.want("PATCH", apps+"2", `{"description":null,"icon":null,"tag":null,"metrics":null,"is_global":false,"plugin_type":"inline"}`, 200,
			r.appBody(2, `"plugin_type":"inline"; "name":"Two <b>"; "config_schema":[{"z":1.50,"a":1e2,"n":12345678901234567890},"ä\u00e4\"<&>"]; "capabilities":{"methods":[]}; "public_jobs":[]`))
		r.want("PATCH", apps+"2", `{"plugin_type":"custom"}`, 400, validation("invalid_choice", "Must be local, source or inline.", "plugin_type"))
		if got := r.send(r.key, "DELETE", apps+"2/", ""); got.status != 204 || got.body != "" {
			r.t.Errorf("delete: %d %q", got.status, got.body)
		}
		r.want("DELETE", apps+"2", "", 404, notFound)
		r.want("GET", apps+"2", "", 404, notFound)
		r.want("GET", apps, "", 200, `{"count":1,"next":null,"previous":null,"results":[`+r.appBody(1, `"name":"One"`)+`]}`)
		if got := r.send(r.key, "HEAD", apps+"1", ""); got.status != 200 || got.body != "" || got.header.Get("Content-Length") == "" {
			r.t.Errorf("HEAD: %+v", got)
		}
		r.wantStatus(r.key, "GET", "/api/organizations/@current/pipeline_frontend_apps/1", "", 200)
	})
}

// TestAppsWithoutUpstream tries the operations of an app without an upstream and without files.
func TestAppsWithoutUpstream(t *testing.T) {
	each(t, func(r *rig) {
		r.app(`{"name":"x","tag":"v1"}`)
		r.wantStatus(r.otherKey, "POST", "/api/organizations/@current"+apps, `{"name":"theirs"}`, 201)
		r.want("GET", apps+"1/check_for_updates", "", 200, r.appBody(1, `"name":"x"; "tag":"v1"; "latest_tag":"v1"`))
		r.want("POST", apps+"1/upgrade", `{"tag":"v2"}`, 200, r.appBody(1, `"name":"x"; "tag":"v2"; "latest_tag":"v1"`))
		withSource := func(body string) string {
			return strings.TrimSuffix(body, "}") + `,"source":{},"source_files":[],"bundle":null,"disabled":null}`
		}
		r.want("GET", apps+"1/source", "", 200, withSource(r.appBody(1, `"name":"x"; "tag":"v2"; "latest_tag":"v1"`)))
		r.want("PATCH", apps+"1/update_source", `{"name":"y"}`, 200, withSource(r.appBody(1, `"name":"y"; "tag":"v2"; "latest_tag":"v1"`)))
		empty := strings.TrimSuffix(r.appBody(0, ""), "}")
		page := func(results string, count int) string {
			return fmt.Sprintf(`,"count":%d,"next":null,"previous":null,"results":[%s]}`, count, results)
		}
		r.want("GET", apps+"exports_unsubscribe_configs", "", 200, empty+page("", 0))
		app := strings.TrimSuffix(r.appBody(1, `"name":"y"; "tag":"v2"; "latest_tag":"v1"`), "}")
		r.want("GET", apps+"unused", "", 200, app+page(app+`,"last_used_at":null}`, 1))
	})
}

func TestExportsUnsubscribeConfigs(t *testing.T) {
	each(t, func(r *rig) {
		r.app(`{"name":"empty","capabilities":{}}`)
		r.app(`{"name":"none"}`)
		r.app(`{"name":"global","is_global":true,"capabilities":{"methods":["onEvent","processEvent"]}}`)
		r.app(`{"name":"own","capabilities":{"methods":["processEvent"]},"config_schema":[{"key":"b","default":1.0},{"markdown":"x"},{"key":"s","secret":true,"default":"hush"},{"key":"a","default":{"z":1}},{"key":"n","default":null},7]}`)
		r.app(`{"name":"object","is_global":true,"capabilities":["x"],"config_schema":{"z":{"default":"1"},"a":{"secret":true,"default":2},"n":{}}}`)
		got := r.send(r.key, "GET", apps+"exports_unsubscribe_configs?limit=1&offset=0", "")
		if got.status != 200 || !strings.HasPrefix(got.body, `{"id":4,`) || !strings.Contains(got.body, `"count":2,`) ||
			!strings.Contains(got.body, `"config":{"b":1.0,"s":"********","a":{"z":1}}}]}`) || strings.Contains(got.body, "hush") {
			r.t.Errorf("first page: %d %s", got.status, got.body)
		}
		got = r.send(r.key, "GET", apps+"exports_unsubscribe_configs?limit=1&offset=1", "")
		if !strings.HasPrefix(got.body, `{"id":5,`) || !strings.Contains(got.body, `"config":{"z":"1","a":"********"}}]}`) {
			r.t.Errorf("second page: %d %s", got.status, got.body)
		}
		r.wantParts(r.otherKey, "GET", "/api/organizations/@current/pipeline_frontend_apps/exports_unsubscribe_configs", "", 200, `"count":1,`)
		r.app(`{"name":"twice","capabilities":{"x":1},"config_schema":[{"key":"a","default":1},{"key":"b"},{"key":"b","default":2},{"key":"b","default":3},{"\u006bey":"\u0061","secret":true}]}`)
		r.wantParts(r.key, "GET", apps+"exports_unsubscribe_configs?offset=2", "", 200, `"config":{"a":"********","b":2}}]}`)
		if got := r.send(r.key, "GET", apps+"activity?app=4", ""); !strings.Contains(got.body, `"s","secret":true,"default":"********"`) || strings.Contains(got.body, "hush") {
			r.t.Errorf("the activity: %s", got.body)
		}
	})
}

func TestGlobalApps(t *testing.T) {
	each(t, func(r *rig) {
		theirs := "/api/organizations/" + r.other.ID + apps
		r.want("POST", theirs, `{"name":"x"}`, 404, notFound)
		r.wantStatus(r.otherKey, "POST", theirs, `{"name":"theirs"}`, 201)
		own := r.wantStatus(r.otherKey, "PATCH", theirs+"1", `{"icon":"not shared"}`, 200)
		r.compare("share without root access", r.send(r.otherKey, "POST", theirs, `{"name":"x","is_global":true}`), 403,
			denied("This organization may not share apps with all organizations (is_global)."))
		r.compare("the same by PATCH", r.send(r.otherKey, "PATCH", theirs+"1", `{"is_global":true}`), 403,
			denied("This organization may not share apps with all organizations (is_global)."))
		id := r.app(`{"name":"global","is_global":true}`)
		r.app(`{"name":"mine"}`)
		seen := r.send(r.otherKey, "GET", theirs, "")
		if !strings.HasPrefix(seen.body, `{"count":2,`) || !strings.Contains(seen.body, own.body) || !strings.Contains(seen.body, `"organization_name":"Acme"`) {
			r.t.Errorf("list: %s", seen.body)
		}
		r.wantStatus(r.otherKey, "GET", theirs+id, "", 200)
		const foreign = "This app belongs to another organization, and only that one may change it."
		for _, c := range [][2]string{{"PATCH", id}, {"DELETE", id}, {"POST", id + "/upgrade"}, {"PATCH", id + "/update_source"}} {
			r.compare(c[0]+" "+c[1], r.send(r.otherKey, c[0], theirs+c[1], ""), 403, denied(foreign))
		}
		r.want("PATCH", apps+id, `{"is_global":false}`, 200, r.appBody(2, `"name":"global"`))
		r.wantCount(r.otherKey, theirs, 1)                  // no longer shared
		r.wantStatus(r.otherKey, "GET", theirs+id, "", 404) // no longer shared
		r.send(r.key, "PATCH", apps+id, `{"is_global":true}`)
		r.send(r.key, "DELETE", apps+id, "")
		r.wantCount(r.otherKey, theirs, 1) // deleted
	})
}

func TestAppAccess(t *testing.T) {
	each(t, func(r *rig) {
		member := r.newKey(r.join(r.org, "member@acme.example", access.Member), "*")
		on := true
		set := func(level access.AppAccess) { r.set(org.Settings{AppAccess: &level}) }
		status := func(key, method string) int { return r.send(key, method, apps, `{"name":"x"}`).status }
		for _, c := range []struct {
			level                             access.AppAccess
			ownerReads, ownerWrites, memberDo int
		}{
			{access.NoApps, 403, 403, 403},
			{access.ReadApps, 200, 403, 403},
			{access.InstallApps, 200, 201, 403},
			{access.RootApps, 200, 201, 403},
		} {
			set(c.level)
			if r, w, m := status(r.key, http.MethodGet), status(r.key, http.MethodPost), status(member, http.MethodPost); r != c.ownerReads || w != c.ownerWrites || m != c.memberDo {
				t.Errorf("access level %d: read %d, write %d, member writes %d", c.level, r, w, m)
			}
		}
		r.set(org.Settings{MembersCanManageApps: &on})
		if got := status(member, http.MethodPost); got != 201 {
			r.t.Errorf("members may manage apps: %d", got)
		}
	})
}

func TestPages(t *testing.T) {
	each(t, func(r *rig) {
		r.wantStatus(r.otherKey, "POST", "/api/organizations/"+r.other.ID+apps, `{"name":"x"}`, 201)
		for i := range 25 {
			r.app(fmt.Sprintf(`{"name":"app %d","is_global":%t}`, i, i%5 == 0))
			r.invite(fmt.Sprintf("p%d@x.example", i))
		}
		for path, last := range map[string]string{apps: `"id":26,`, invites: `"target_email":"p0@x.example"`} {
			seen, pages := map[string]bool{}, 0
			for next := path + "?limit=7&x=%26"; next != ""; pages++ {
				got := r.send(r.key, "GET", next, "")
				for _, item := range strings.Split(got.body, `{"id":`)[1:] {
					if key := item[:strings.Index(item, ",")]; !strings.Contains(item, `"uuid"`) || strings.Contains(item, "target_email") {
						if seen[key] {
							r.t.Errorf("%s: %s is there twice", next, key)
						}
						seen[key] = true
					}
				}
				if !strings.HasPrefix(got.body, `{"count":25,`) {
					r.t.Errorf("%s: %s", next, got.body)
				}
				link := between(got.body, `"next":`, `,"previous"`)
				if pages == 3 && (link != "null" || !strings.Contains(got.body, last)) {
					r.t.Errorf("%s is not the last page: %s", next, got.body)
				}
				if next = strings.Trim(link, `"`); next == "null" {
					break
				}
				if !strings.HasPrefix(next, baseURL+"/api/") || strings.Contains(next, "x=") { // no operation knows x
					r.t.Fatalf("next is %s", next)
				}
				next = strings.TrimPrefix(next, baseURL)
			}
			if pages != 3 || len(seen) < 25 {
				r.t.Errorf("%s: %d pages with %d items", path, pages+1, len(seen))
			}
			past := r.send(r.key, "GET", path+"?limit=10&offset=99", "")
			want := `{"count":25,"next":null,"previous":"` + baseURL + "/api/organizations/" + r.org.ID + path + `?limit=10&offset=89","results":[]}`
			r.compare("past the end", past, 200, want)
		}
		merged := r.send(r.otherKey, "GET", "/api/organizations/"+r.other.ID+apps+"?limit=2&offset=2", "").body
		if !strings.HasPrefix(merged, `{"count":6,`) || strings.Count(merged, `{"id":`) != 2 || !strings.Contains(merged, `{"id":7,`) || !strings.Contains(merged, `{"id":12,`) {
			r.t.Errorf("its own and those that another shares: %s", merged)
		}
	})
}

// A client that deletes the items of each page and then follows next reaches the end.
func TestDeleteWhileWalking(t *testing.T) {
	each(t, func(r *rig) {
		for i := range 25 {
			r.app(fmt.Sprintf(`{"name":"app %d"}`, i))
			r.invite(fmt.Sprintf("p%d@x.example", i))
		}
		for path, item := range map[string]*regexp.Regexp{
			apps: regexp.MustCompile(`"id":(\d+),"plugin_type"`), invites: regexp.MustCompile(`"id":"([^"]+)","target_email"`),
		} {
			for next := path + "?limit=7"; next != ""; {
				got := r.send(r.key, "GET", next, "")
				for _, id := range item.FindAllStringSubmatch(got.body, -1) {
					r.wantStatus(r.key, "DELETE", path+id[1], "", 204)
				}
				next = nextPath(got)
			}
			r.wantCount(r.key, path, 0)
		}
	})
}

// The page with the last item is the last one, even if items were added before it since the walk began.
func TestAddWhileWalking(t *testing.T) {
	each(t, func(r *rig) {
		first := r.app(`{"name":"shared later"}`)
		theirs := "/api/organizations/" + r.other.ID
		for i := range 4 {
			for path, body := range map[string]string{apps: `{"name":"app %d"}`, invites: `{"target_email":"p%d@x.example"}`} {
				r.wantStatus(r.otherKey, "POST", theirs+path, fmt.Sprintf(body, i), 201)
			}
		}
		next := func(url string) string {
			got := r.send(r.otherKey, "GET", url, "")
			if strings.Contains(got.body, `"results":[]`) {
				r.t.Errorf("%s is empty: %s", url, got.body)
			}
			return nextPath(got)
		}
		second := map[string]string{apps: next(theirs + apps + "?limit=2"), invites: next(theirs + invites + "?limit=2")}
		r.send(r.key, "PATCH", apps+first, `{"is_global":true}`)
		r.send(r.otherKey, "POST", theirs+invites, `{"target_email":"late@x.example"}`)
		for path, url := range second {
			if after := next(url); after != "" {
				r.t.Errorf("%s: after the last page comes %s", path, after)
			}
		}
	})
}

func TestActivity(t *testing.T) {
	each(t, func(r *rig) {
		admin := r.newKey(r.join(r.org, "admin@acme.example", access.Admin), "*")
		r.app(`{"name":"x","metrics":{"b":1,"a":2}}`)
		r.app(`{"name":"y"}`)
		r.send(admin, "PATCH", apps+"1", `{"name":"z","metrics":null,"is_global":true}`, "X-Request-Id", "change-1")
		r.send(admin, "PATCH", apps+"1", `{"name":"z"}`) // changes nothing
		deleted := r.db.Now().Add(time.Hour)
		r.db.Now = func() time.Time { return deleted }
		r.send(r.key, "DELETE", apps+"1", "")
		r.invite("a@x.example")
		got := r.send(r.key, "GET", apps+"activity", "")
		var verbs []string
		for _, entry := range strings.Split(got.body, `"activity":"`)[1:] {
			verbs = append(verbs, entry[:strings.Index(entry, `"`)])
		}
		if told := strings.Join(verbs, " "); told != "uninstalled updated installed installed" || !strings.Contains(got.body, `"count":4,`) {
			r.t.Errorf("got %s in %s", told, got.body)
		}
		if at := between(got.body, `"created_at":"`, `"`); at != deleted.Format("2006-01-02T15:04:05.000000Z") {
			r.t.Errorf("deleted at %s, the activity says %s", deleted, at)
		}
		if !strings.HasPrefix(got.body, `{"id":1,"plugin_type":"local","name":"z",`) {
			r.t.Errorf("the first entry's app, which is gone: %s", got.body)
		}
		got = r.send(r.key, "GET", apps+"activity?app=1&user=Admin@ACME.example", "")
		const changes = `"changes":[{"action":"changed","field":"name","before":"x","after":"z"},{"action":"changed","field":"is_global","before":false,"after":true},{"action":"changed","field":"metrics","before":{"b":1,"a":2},"after":null}]}`
		if !strings.Contains(got.body, `"count":1,`) || !strings.Contains(got.body, changes) || !strings.Contains(got.body, `"request_id":"change-1"`) ||
			!strings.Contains(got.body, `"email":"admin@acme.example","first_name":""},"scope":"Plugin","item_id":"1","detail":{"name":"z",`) {
			r.t.Errorf("narrowed down: %s", got.body)
		}
		r.wantParts(r.key, "GET", apps+"activity?app=2&limit=1", "", 200, `"count":1,`)                                      // of one app
		r.wantParts(r.otherKey, "GET", "/api/organizations/@current/pipeline_frontend_apps/activity", "", 200, `"count":0,`) // of another organization
	})
}

// Apps may be a thousand times their usual size: a page of them ends early, and the next one continues there. No page
// is empty, not even after one that its last app has filled.
func TestPagesOfLargeApps(t *testing.T) {
	each(t, func(r *rig) {
		large := `{"name":"large","metrics":["` + strings.Repeat("x", 1<<20-100) + `"]}`
		for range 32 {
			r.app(large)
		}
		seen, pages := 0, 0
		for next := apps; next != ""; pages++ {
			got := r.send(r.key, "GET", next, "")
			if len(got.body) > 18<<20 || !strings.HasPrefix(got.body, `{"count":32,`) || strings.Contains(got.body, `"results":[]`) {
				r.t.Fatalf("%s: %d bytes: %.100s", next, len(got.body), got.body)
			}
			seen += strings.Count(got.body, `"name":"large"`)
			next = nextPath(got)
		}
		if seen != 32 || pages != 2 {
			r.t.Errorf("%d pages have %d apps in all", pages, seen)
		}
	})
}

// The defaults in an export count towards the size of a page: without them these apps would fit into one.
func TestPagesOfLargeExports(t *testing.T) {
	each(t, func(r *rig) {
		const all = 20
		for range all {
			r.app(`{"name":"large","capabilities":["x"]}`)
		}
		dbtest.Exec(r.t, r.db, `UPDATE plugins SET metrics = $1, config_schema = $2`,
			`["`+strings.Repeat("x", 700_000)+`"]`, `[{"key":"a","default":"`+strings.Repeat("x", 100_000)+`"}]`)
		const exports = apps + "exports_unsubscribe_configs?limit=1000"
		got := r.send(r.key, "GET", exports, "")
		first := strings.Count(got.body, `"config":`)
		if !strings.Contains(got.body, fmt.Sprintf(`?limit=1000&offset=%d"`, first)) {
			r.t.Errorf("%d exports, %d bytes: %.100s", first, len(got.body), got.body)
		}
		rest := strings.Count(r.send(r.key, "GET", exports+fmt.Sprint("&offset=", first), "").body, `"config":`)
		if first+rest != all {
			r.t.Errorf("%d and %d exports of %d", first, rest, all)
		}
	})
}
