package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// etag reads a path and returns the ETag that the answer has without compression.
func (r *rig) etag(path string) string {
	r.t.Helper()
	got := r.send(r.key, "GET", path, "")
	if got.status != http.StatusOK || got.header.Get("Etag") == "" || got.header.Get("Cache-Control") != "private, no-cache" {
		r.t.Fatalf("GET %s: %d with the ETag %q and Cache-Control %q", path, got.status, got.header.Get("Etag"), got.header.Get("Cache-Control"))
	}
	return strings.Replace(got.header.Get("Etag"), `-gzip"`, `"`, 1)
}

// objects makes an object of each kind that can be read, changed and deleted by its path. Nested ones come first.
func (r *rig) objects() (paths []string, patches map[string]string) {
	r.t.Helper()
	app := apps + r.app(`{"name":"x"}`)
	site := "/sites/" + r.site("s")
	id := strings.TrimPrefix(app, apps)
	r.wantStatus(r.key, "POST", site+"/apps", `{"app_id":`+id+`}`, 201)
	webhook := "/webhooks/" + r.webhook(`"app.*"`)
	patches = map[string]string{
		app: `{"description":"%d"}`, site: `{"name":"s%d"}`, site + "/apps/" + id: `{"position":%d}`,
		webhook: `{"description":"%d"}`, "": `{"name":"Acme %d"}`, "/api/users/@me": `{"first_name":"F%d"}`,
	}
	return []string{site + "/apps/" + id, site, app, webhook, "", "/api/users/@me"}, patches
}

func TestIfNoneMatch(t *testing.T) {
	each(t, func(r *rig) {
		paths, patches := r.objects()
		for i, path := range append(paths, apps, "/sites", invites, "/members", apps+"unused", apps+"activity", "/overview", "/events", "/api/users/@me/keys") {
			tag := r.etag(path)
			for _, condition := range []string{tag, "W/" + tag, `"x", ` + tag, "*", strings.TrimSuffix(tag, `"`) + `-gzip"`} {
				got := r.send(r.key, "GET", path, "", "If-None-Match", condition)
				if got.status != http.StatusNotModified || got.body != "" || got.header.Get("Etag") != tag {
					r.t.Errorf("%s If-None-Match: %s: %d %s, ETag %s", path, condition, got.status, got.body, got.header.Get("Etag"))
				}
			}
			for _, another := range []string{`"x"`, `"x,*,y"`} {
				if got := r.send(r.key, "GET", path, "", "If-None-Match", another); got.status != http.StatusOK {
					r.t.Errorf("%s If-None-Match: %s: %d", path, another, got.status)
				}
			}
			if patches[path] == "" {
				continue
			}
			changed := r.send(r.key, "PATCH", path, fmt.Sprintf(patches[path], i))
			if now := r.etag(path); now == tag || changed.header.Get("Etag") != now {
				r.t.Errorf("%s: %s before, %s answered to a change, %s after", path, tag, changed.header.Get("Etag"), now)
			}
		}
	})
}

// An ETag is the same for all who see the object, and for the forms of an app.
func TestETagIsShared(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x","is_global":true}`)
		member := r.newKey(r.join(r.org, "member@acme.example", access.Member), "*")
		for _, path := range []string{app, apps, ""} {
			if mine, theirs := r.etag(path), r.send(member, "GET", path, "").header.Get("Etag"); mine != theirs {
				r.t.Errorf("%s: %s, and for a member %s", path, mine, theirs)
			}
		}
		for _, change := range [][3]string{
			{"PATCH", "/update_source", `{"site.ts":"export {}"}`}, {"POST", "/upgrade", `{"tag":"1"}`}, {"POST", "/disable", `{"reason":"why"}`}, {"POST", "/enable", ``},
		} {
			before := r.etag(app)
			got := r.send(r.key, change[0], app+change[1], change[2])
			after := r.etag(app)
			if got.status != http.StatusOK || after == before || got.header.Get("Etag") != after || r.etag(app+"/source") != after {
				r.t.Errorf("%s: %d %s, then %s, the source %s", change[1], got.status, got.header.Get("Etag"), after, r.etag(app+"/source"))
			}
		}
		before := r.etag(app)
		r.send(r.key, "PATCH", "", `{"name":"Renamed"}`)
		if r.etag(app) == before {
			r.t.Error("the organization was renamed, and its app has the same ETag")
		}
		zipped := r.send(r.key, "GET", app+"/source", "", "Accept-Encoding", "gzip")
		if zipped.header.Get("Content-Encoding") == "gzip" && !strings.HasSuffix(zipped.header.Get("Etag"), `-gzip"`) {
			r.t.Errorf("compressed: %s", zipped.header.Get("Etag"))
		}
	})
}

// The source of an app shows the user who disabled it. Its ETag changes when that user's names or address change, or
// when the user is verified or erased.
func TestETagOfWhoDisabled(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x"}`)
		admin := r.join(r.org, "admin@acme.example", access.Admin)
		key := r.newKey(admin, "*")
		r.send(key, "POST", app+"/disable", `{"reason":"why"}`)
		for what, change := range map[string]func() error{
			"first name": func() error { r.send(key, "PATCH", "/api/users/@me", `{"first_name":"Ada"}`); return nil },
			"last name":  func() error { r.send(key, "PATCH", "/api/users/@me", `{"last_name":"Admin"}`); return nil },
			"verified": func() error {
				return r.keys.Change(r.t.Context(), func(ctx context.Context, tx *db.Tx) error {
					return r.orgs.VerifyEmail(ctx, tx, access.Caller{}, admin.User.ID)
				})
			},
		} {
			r.sourceChanges(app, what, change)
		}
		r.sourceChanges(app, "address", func() error {
			_, err := r.orgs.SetUser(r.t.Context(), "admin@acme.example", org.SelfPatch{Email: patch.Of("other@acme.example")})
			return err
		})
		r.sourceChanges(app, "erased", func() error {
			_, err := r.orgs.EraseUser(r.t.Context(), "other@acme.example")
			return err
		})
	})
}

// sourceChanges makes a change, and checks that it changes the source of an app and its ETag.
func (r *rig) sourceChanges(app, what string, change func() error) {
	r.t.Helper()
	before := r.send(r.key, "GET", app+"/source", "")
	if err := change(); err != nil {
		r.t.Fatal(what, err)
	}
	after := r.send(r.key, "GET", app+"/source", "", "If-None-Match", before.header.Get("Etag"))
	if after.status != http.StatusOK || after.body == before.body || r.etag(app+"/source") != r.etag(app) {
		r.t.Errorf("%s: %d %s, ETag %s, the app's %s", what, after.status, after.body, r.etag(app+"/source"), r.etag(app))
	}
	if got := r.send(r.key, "DELETE", app, "", "If-Match", before.header.Get("Etag")); got.status != http.StatusPreconditionFailed {
		r.t.Errorf("%s: a change of what was read before: %d %s", what, got.status, got.body)
	}
}

// The ETag depends on the base url, because the url of a bundle does.
func TestETagOfABaseURL(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"name":"Banner","plugin_type":"source"}`)
		source := apps + id + "/source"
		etag := r.etag(source)
		moved := *r.api
		moved.BaseURL = "https://moved.example.com"
		if got := r.sendTo(r.serve(&moved), r.key, "GET", source, "", "If-None-Match", etag); got.status != 200 {
			r.t.Errorf("%d for %s", got.status, etag)
		}
	})
}

// A change of an object that changed since it was read is refused, after 403 and 404 and before the body is read. An
// unchanged object is changed.
func TestIfMatch(t *testing.T) {
	each(t, func(r *rig) {
		paths, patches := r.objects()
		for i, path := range paths {
			before := r.etag(path)
			for _, another := range []string{`"x"`, `"x,*,y"`, "W/" + before} {
				if got := r.send(r.key, "PATCH", path, `{"name":7,"position":""}`, "If-Match", another); got.status != http.StatusPreconditionFailed {
					r.t.Errorf("PATCH %s If-Match: %s: %d %s", path, another, got.status, got.body)
				}
			}
			if strings.HasPrefix(path, "/sites/") || strings.HasPrefix(path, "/webhooks/") || strings.HasPrefix(path, apps) {
				if got := r.send(r.key, "DELETE", path, "", "If-Match", `"x"`); got.status != http.StatusPreconditionFailed {
					r.t.Errorf("DELETE %s: %d %s", path, got.status, got.body)
				}
			}
			if r.etag(path) != before {
				r.t.Errorf("%s has changed", path)
			}
			for _, condition := range []string{`"x", ` + before, "*", "compressed"} {
				if condition == "compressed" {
					condition = strings.TrimSuffix(r.etag(path), `"`) + `-gzip"`
				}
				if got := r.send(r.key, "PATCH", path, fmt.Sprintf(patches[path], i), "If-Match", condition); got.status != http.StatusOK {
					r.t.Errorf("PATCH %s If-Match: %s: %d %s", path, condition, got.status, got.body)
				}
			}
			if got := r.send(r.key, "PATCH", path, fmt.Sprintf(patches[path], 9), "If-Match", before); got.status != http.StatusPreconditionFailed {
				r.t.Errorf("PATCH %s again: %d %s", path, got.status, got.body)
			}
		}
		reader := r.newKey(r.owner, "plugin:read")
		for _, c := range []struct {
			key, method, path string
			status            int
		}{
			{reader, "PATCH", apps + "1", 403},
			{r.key, "PATCH", apps + "999", 404},
			{r.key, "DELETE", "/sites/999", 404},
			{r.key, "DELETE", invites + "x", 404},
			{r.key, "DELETE", "/members/x", 404},
			{r.key, "DELETE", "/webhooks/999", 404},
			{reader, "PATCH", "/webhooks/1", 403},
		} {
			if got := r.send(c.key, c.method, c.path, "", "If-Match", `"x"`); got.status != c.status {
				r.t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.body)
			}
		}
	})
}

// Objects without a GET of their own have the ETag of the answer that created or changed them.
func TestIfMatchOfPeople(t *testing.T) {
	each(t, func(r *rig) {
		made := r.send(r.key, "POST", invites, `{"target_email":"a@x.example"}`)
		path := invites + between(made.body, `{"id":"`, `"`)
		if got := r.send(r.key, "DELETE", path, "", "If-Match", `"x"`); got.status != http.StatusPreconditionFailed {
			r.t.Errorf("DELETE an invite: %d %s", got.status, got.body)
		}
		site, app := r.site("shop"), r.built("null")
		r.placed(site, `{"app_id":`+app+`}`)
		for path, body := range map[string]string{
			path + "/resend": "", path + "/link": "", "/sites/" + site + "/apps/" + app + "/preview": `{"url":"https://shop.example/"}`,
		} {
			if got := r.send(r.key, "POST", path, body, "If-Match", `"x"`); got.status != http.StatusPreconditionFailed {
				r.t.Errorf("POST %s: %d %s", path, got.status, got.body)
			}
		}
		if got := r.send(r.key, "DELETE", path, "", "If-Match", made.header.Get("Etag")); got.status != http.StatusNoContent {
			r.t.Errorf("DELETE an invite as it is: %d %s", got.status, got.body)
		}
		member := "/members/" + r.join(r.org, "member@acme.example", access.Member).User.UUID
		if got := r.send(r.key, "PATCH", member, `{"level":8}`, "If-Match", `"x"`); got.status != http.StatusPreconditionFailed {
			r.t.Errorf("PATCH a member: %d %s", got.status, got.body)
		}
		changed := r.send(r.key, "PATCH", member, `{"level":8}`)
		for _, want := range []int{http.StatusNoContent, http.StatusNotFound} {
			if got := r.send(r.key, "DELETE", member, "", "If-Match", changed.header.Get("Etag")); got.status != want {
				r.t.Errorf("DELETE a member: %d %s, want %d", got.status, got.body, want)
			}
		}
	})
}

// One of eight clients that change an object which all have read succeeds, whatever the change.
func TestWritersWithOneETag(t *testing.T) {
	each(t, func(r *rig) {
		paths, patches := r.objects()
		for _, path := range paths {
			r.race(path, "PATCH", path, patches[path])
		}
		app := apps + r.built("null")
		r.send(r.key, "PATCH", app+"/update_source", `{"source":{"site.ts":"export const n = 2"}}`)
		r.race(app, "PATCH", app+"/update_source", `{"source":{"site.ts":"export const n = %d"}}`)
		r.race(app, "POST", app+"/upgrade", `{"tag":"%d"}`)
		r.race(app, "POST", app+"/disable", `{"reason":"%d"}`)
		version := app + "/versions/1"
		r.race(version, "POST", version+"/withdraw", `{"reason":"%d"}`)
		r.race(version, "POST", version+"/restore", `{"x":%d}`)
		site := "/sites/" + r.site("raced")
		r.placed(strings.TrimPrefix(site, "/sites/"), `{"app_id":`+r.built("null")+`}`)
		r.race(site, "POST", site+"/restore", `{"revision":1,"x":%d}`)
		r.race(app, "DELETE", app, ``)
		r.race(site, "DELETE", site, ``)
		made := r.send(r.key, "POST", invites, `{"target_email":"raced@x.example"}`)
		r.raceWith(made.header.Get("Etag"), "POST", invites+between(made.body, `{"id":"`, `"`)+"/resend", ``)
		member := "/members/" + r.join(r.org, "raced@acme.example", access.Member).User.UUID
		r.race(member, "PATCH", member, `{"level":8,"x":%d}`)
		r.race(member, "DELETE", member, ``)
	})
}

// race lets eight clients change an object that all have read, each in another way. One of them may succeed.
func (r *rig) race(object, method, path, body string) {
	r.t.Helper()
	r.raceWith(r.etag(object), method, path, body)
}

func (r *rig) raceWith(tag, method, path, body string) {
	r.t.Helper()
	var changed, refused atomic.Int32
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			sent := body
			if body != "" {
				sent = fmt.Sprintf(body, 100+i)
			}
			switch got := r.send(r.key, method, path, sent, "If-Match", tag); got.status {
			case http.StatusOK, http.StatusNoContent:
				changed.Add(1)
			case http.StatusPreconditionFailed, http.StatusNotFound:
				refused.Add(1)
			default:
				r.t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
			}
		})
	}
	writers.Wait()
	if changed.Load() != 1 || refused.Load() != 7 {
		r.t.Errorf("%s %s: changed %d times, refused %d times", method, path, changed.Load(), refused.Load())
	}
}
