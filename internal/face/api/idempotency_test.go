package api_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// once sends a request with an Idempotency-Key.
func (r *rig) once(name, method, path, body string, headers ...string) answer {
	r.t.Helper()
	return r.send(r.key, method, path, body, append(headers, "Idempotency-Key", name)...)
}

// Each change that is sent twice is made once and gets the same answer, which is stored in the change's transaction.
// TestIdempotencyOfSecrets tests secrets.
func TestIdempotency(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x","source":{"site.ts":"export {}"}}`)
		id := strings.TrimPrefix(app, apps)
		site := "/sites/" + r.site("s")
		invite := invites + r.invite("kept@x.example")
		webhook := "/webhooks/" + r.webhook(`"app.*"`)
		member := "/members/" + r.join(r.org, "member@acme.example", access.Member).User.UUID
		ours := r.send(r.otherKey, "POST", "/api/organizations/"+r.other.ID+"/invites", `{"target_email":"`+r.owner.User.Email+`"}`)
		r.verify(r.owner.User.Email)
		delivery := r.delivered(strings.TrimPrefix(webhook, "/webhooks/"))
		changes := [][3]string{
			{"POST", apps, `{"name":"y","source":{"site.ts":"export {}"}}`},
			{"POST", apps, `{"name":"z"}`},
			{"PATCH", app, `{"description":"new"}`},
			{"PATCH", app + "/update_source", `{"site.ts":"export const a = 1"}`},
			{"POST", app + "/upgrade", `{"tag":"2"}`},
			{"POST", app + "/versions/1/withdraw", `{"reason":"why"}`},
			{"POST", app + "/versions/1/restore", ``},
			{"POST", app + "/disable", `{"reason":"why"}`},
			{"POST", app + "/enable", ``},
			{"POST", site + "/apps", `{"app_id":` + id + `}`},
			{"PATCH", site + "/apps/" + id, `{"position":7}`},
			{"POST", "/sites", `{"name":"t"}`},
			{"PATCH", site, `{"name":"u"}`},
			{"POST", site + "/restore", `{"revision":1}`},
			{"POST", invites, `{"target_email":"a@x.example"}`},
			{"POST", invites + "bulk", `[{"target_email":"b@x.example"},{"target_email":"c@x.example"}]`},
			{"POST", invites + "bulk", `{"target_email":"d@x.example"}`},
			{"POST", invites + "bulk?partial=true", `[{"target_email":"e@x.example"},{"target_email":"wrong"}]`},
			{"POST", invite + "/resend", ``},
			{"PATCH", member, `{"level":8}`},
			{"PATCH", webhook, `{"description":"new"}`},
			{"POST", webhook + "/test", ``},
			{"PATCH", "", `{"name":"Acme 2"}`},
			{"PATCH", "/api/users/@me", `{"first_name":"F"}`},
			{"POST", "/api/users/@me/invites/" + between(ours.body, `{"id":"`, `"`) + "/accept", `{}`},
			{"POST", webhook + "/deliveries/" + delivery + "/redeliver", ``},
		}
		r.wantEachRoute(changes, `^(POST|PATCH) `, ` (/api/sign.*|/webhooks|.*/(preview|keys|link|rotate))$`) // secrets
		for i, c := range changes {
			key := fmt.Sprintf(`"key %d"`, i)
			r.wantKept(c[0], c[1], c[2])
			first := r.once(key, c[0], c[1], c[2], "If-Match", "*")
			if first.status > 299 || first.header.Get("Idempotent-Replayed") != "" {
				r.t.Fatalf("%s %s: %d %s", c[0], c[1], first.status, first.body)
			}
			before := r.rows()
			path, query, asked := strings.Cut(strings.TrimSuffix(c[1], "/"), "?")
			if path += "/"; asked {
				path += "?" + query
			}
			again := r.once(key, c[0], path, c[2])
			r.compare(c[0]+" "+c[1]+" again", again, first.status, first.body)
			if again.header.Get("Idempotent-Replayed") != "true" || again.header.Get("Etag") != first.header.Get("Etag") {
				r.t.Errorf("%s %s again: Idempotent-Replayed: %s, ETag %s and %s", c[0], c[1],
					again.header.Get("Idempotent-Replayed"), first.header.Get("Etag"), again.header.Get("Etag"))
			}
			if after := r.rows(); after != before {
				r.t.Errorf("%s %s again: %d rows, %d before", c[0], c[1], after, before)
			}
		}
		same := r.once("same", "PATCH", webhook, `{"description":"new"}`) // changes nothing, so its answer is stored later
		r.compare("the same again", r.once("same", "PATCH", webhook, `{"description":"new"}`), 200, same.body)
	})
}

// wantKept checks that a change keeps its answer in its own transaction: if the answer cannot be stored, nothing is
// changed. Otherwise a server that dies after the change and before its answer would make it twice.
func (r *rig) wantKept(method, path, body string) {
	r.t.Helper()
	before := r.rows()
	dbtest.Exec(r.t, r.db, `ALTER TABLE idempotency RENAME COLUMN body TO lost`)
	got := r.once("lost", method, path, body)
	dbtest.Exec(r.t, r.db, `ALTER TABLE idempotency RENAME COLUMN lost TO body`)
	if after := r.rows(); got.status != http.StatusInternalServerError || after != before {
		r.t.Errorf("%s %s, without its answer: %d %s, %d rows, %d before", method, path, got.status, got.body, after, before)
	}
}

// delivered makes a delivery of the last event to a webhook and returns its id.
func (r *rig) delivered(webhook string) (id string) {
	r.t.Helper()
	r.number()
	err := r.db.InTx(r.t.Context(), func(ctx context.Context, tx *db.Tx) error {
		n, err := db.Insert(ctx, tx, `
			INSERT INTO webhook_deliveries (webhook_id, organization_id, number, event_id, type, state, attempts, status, error, duration_ms, created_at, tried_at)
			SELECT CAST($1 AS BIGINT), n.organization_id, MAX(n.number), 'event', 'app.created', 'delivered', 1, 200, '', 1, CAST($3 AS TIMESTAMPTZ), CAST($3 AS TIMESTAMPTZ)
			FROM activity_numbers n JOIN activity a ON a.id = n.activity_id
			WHERE n.organization_id = $2 AND a.data IS NOT NULL GROUP BY n.organization_id`, webhook, r.org.ID, r.db.Now())
		id = strconv.FormatInt(n, 10)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// wantEachRoute checks that changes contains each route whose method and path match which, except those that match but.
func (r *rig) wantEachRoute(changes [][3]string, which, but string) {
	r.t.Helper()
	for _, route := range r.api.Routes() {
		path := strings.TrimPrefix(route.Path, "/api/organizations/{organization_id}")
		if name := route.Method + " " + path; !regexp.MustCompile(which).MatchString(name) || regexp.MustCompile(but).MatchString(name) {
			continue
		}
		pattern := regexp.MustCompile("^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "[^/]+") + "/?$")
		if !slices.ContainsFunc(changes, func(c [3]string) bool { return c[0] == route.Method && pattern.MatchString(c[1]) }) {
			r.t.Errorf("%s %s is not tried", route.Method, path)
		}
	}
}

// TestIdempotencyRefused sends keys of other requests, malformed keys, and keys of failed requests.
func TestIdempotencyRefused(t *testing.T) {
	each(t, func(r *rig) {
		first := r.once("k", "POST", apps, `{"name":"x"}`)
		for _, c := range []struct {
			name, method, path, body, says string
			status                         int
		}{
			{"k", "POST", apps, `{"name":"y"}`, "idempotency_mismatch", 422},
			{"k", "POST", apps + "?limit=1", `{"name":"x"}`, "idempotency_mismatch", 422}, // though this operation has no such parameter
			{"k", "POST", "/sites", `{"name":"x"}`, "idempotency_mismatch", 422},
			{`"k"`, "PATCH", apps + "1", `{"name":"x"}`, "idempotency_mismatch", 422},
			{"", "POST", apps, `{"name":"x"}`, "Idempotency-Key", 400},
			{"a b", "POST", apps, `{"name":"x"}`, "Idempotency-Key", 400},
			{`"a`, "POST", apps, `{"name":"x"}`, "Idempotency-Key", 400},
			{`"a"b"`, "POST", apps, `{"name":"x"}`, "Idempotency-Key", 400},
			{"\"a\tb\"", "POST", apps, `{"name":"x"}`, "Idempotency-Key", 400},
			{"\xff", "POST", apps, `{"name":"x"}`, "Idempotency-Key", 400},
			{strings.Repeat("k", 256), "POST", apps, `{"name":"x"}`, "Idempotency-Key", 400},
			{"failed", "POST", apps, `{"name":""}`, "blank", 400},
			{"failed", "POST", apps, `{"name":"x"}`, "", 201},
			{strings.Repeat("k", 255), "POST", apps, `{"name":"x"}`, "", 201},
			{"dry", "POST", apps + "?dry_run=true", `{"name":"x"}`, `{"id":0,`, 201},
			{"a b", "POST", apps + "?dry_run=true", `{"name":"x"}`, "Idempotency-Key", 400},
			{"dry", "POST", apps, `{"name":"x"}`, "", 201},
			{"k", "GET", apps, ``, "", 200},
		} {
			if got := r.once(c.name, c.method, c.path, c.body); got.status != c.status || !strings.Contains(got.body, c.says) {
				r.t.Errorf("%.20s: %s %s %s: %d %s", c.name, c.method, c.path, c.body, got.status, got.body)
			}
		}
		if got := r.send(r.newKey(r.owner, "*"), "POST", apps, `{"name":"x"}`, "Idempotency-Key", "k"); got.status != http.StatusCreated || got.body == first.body {
			r.t.Errorf("with another key: %d %s", got.status, got.body)
		}
		app := apps + between(first.body, `{"id":`, `,`)
		tag := first.header.Get("Etag")
		changed := r.once("if", "PATCH", app, `{"name":"new"}`, "If-Match", tag)
		again := r.once("if", "PATCH", app, `{"name":"new"}`, "If-Match", tag)
		r.compare("If-Match is asked after a replay", again, changed.status, changed.body)
	})
}

// A caller that may no longer make a request does not get its stored answer.
func TestIdempotencyAsksForRights(t *testing.T) {
	each(t, func(r *rig) {
		admin := r.join(r.org, "admin@acme.example", access.Admin)
		key := r.newKey(admin, "*")
		send := func() answer { return r.sendTo(r.url, key, "POST", apps, `{"name":"x"}`, "Idempotency-Key", "k") }
		if got := send(); got.status != http.StatusCreated {
			r.t.Fatal(got.status, got.body)
		}
		member := "/members/" + admin.User.UUID
		for _, c := range []struct {
			method, body string
			status       int
		}{{"PATCH", `{"level":1}`, 403}, {"PATCH", `{"level":8}`, 201}, {"DELETE", ``, 404}} {
			if got := r.send(r.key, c.method, member, c.body); got.status > 299 {
				r.t.Fatal(got.status, got.body)
			}
			if got := send(); got.status != c.status {
				r.t.Errorf("after %s %s: %d %s", c.method, c.body, got.status, got.body)
			}
		}
	})
}

// A secret is shown once.
func TestIdempotencyOfSecrets(t *testing.T) {
	each(t, func(r *rig) {
		invite, app := invites+r.invite("a@x.example"), r.built("null")
		for i, c := range [][2]string{
			{sites + r.site("shop") + "/apps/" + app + "/preview", `{"url":"https://shop.example"}`},
			{"/api/users/@me/keys", `{"scopes":["plugin:read"]}`},
			{"/webhooks", `{"url":"https://hooks.example.com","events":["app.*"]}`},
			{"/webhooks/" + r.webhook(`"app.*"`) + "/rotate", ``},
			{invite + "/link", ``},
		} {
			key := strconv.Itoa(i)
			r.wantKept("POST", c[0], c[1])
			if got := r.once(key, "POST", c[0], c[1]); got.status > 299 || got.header.Get("Cache-Control") != "no-store" {
				r.t.Errorf("%s: %d %s", c[0], got.status, got.body)
			}
			if got := r.once(key, "POST", c[0], c[1]); got.status != http.StatusConflict || !strings.Contains(got.body, "idempotency_secret_shown") {
				r.t.Errorf("%s again: %d %s", c[0], got.status, got.body)
			}
		}
	})
}

// A request whose answer named a user who was erased since is not carried out again.
func TestIdempotencyOfTheErased(t *testing.T) {
	each(t, func(r *rig) {
		const both = `[{"target_email":"eva@x.example"},{"target_email":"bob@x.example"}]`
		send := func() answer { return r.once("k", "POST", invites+"bulk", both) }
		if got := send(); got.status != http.StatusOK {
			r.t.Fatal(got.status, got.body)
		}
		eva := r.join(r.org, "eva@x.example", access.Member).User
		orgs := r.orgs
		orgs.UserErasers = append(orgs.UserErasers, r.keys.EraseUser)
		if _, err := orgs.EraseUser(r.t.Context(), eva.Email); err != nil {
			r.t.Fatal(err)
		}
		before := r.send(r.key, "GET", invites, "").body
		if got := send(); got.status != http.StatusConflict || !strings.Contains(got.body, "a user who has been erased since") {
			r.t.Errorf("again: %d %s", got.status, got.body)
		}
		if after := r.send(r.key, "GET", invites, "").body; after != before {
			r.t.Errorf("invites before: %s, and after: %s", before, after)
		}
		n, err := db.One[int](r.t.Context(), r.db, nil, `SELECT COUNT(*) FROM idempotency WHERE body IS NOT NULL OR etag <> ''`)
		if err != nil || n != 0 {
			r.t.Errorf("%d answers are left, %v", n, err)
		}
	})
}

// An answer that is too large to store is rebuilt from the object's current state, even if the request changed nothing.
func TestIdempotencyOfLargeAnswers(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x"}`)
		large := strings.Repeat("x", 300<<10)
		config := fmt.Sprintf(`{"config":{"a":"%[1]s","b":"%[1]s","c":"%[1]s"}}`, large[:60<<10]) // the answer has it twice: also as values
		site, built := r.site("shop"), r.built(`[{"key":"a","type":"json","site":true},{"key":"b","type":"json","site":true},{"key":"c","type":"json","site":true}]`)
		r.placed(site, `{"app_id":`+built+`}`)
		changes := [][3]string{
			{"POST", apps, `{"name":"y","config_schema":["` + large + `"]}`},
			{"PATCH", app + "/update_source", `{"a.md":"` + large + `"}`},
			{"PATCH", app, `{"config_schema":["` + large + `"]}`},
			{"PATCH", app, `{"name":"x"}`},
			{"POST", app + "/upgrade", `{"name":"x"}`},
			{"POST", app + "/enable", ``},
			{"POST", app + "/disable", `{"reason":"why"}`},
			{"POST", app + "/disable", `{"reason":"why"}`},
			{"PATCH", sites + site + "/apps/" + built, config},
			{"PATCH", sites + site + "/apps/" + built, config},
		}
		for i, c := range changes {
			key := strconv.Itoa(i)
			first, again := r.once(key, c[0], c[1], c[2]), r.once(key, c[0], c[1], c[2])
			if first.status != again.status || first.body != again.body || again.header.Get("Idempotent-Replayed") != "true" {
				r.t.Errorf("%s: %d, then %d %.300s", c[1], first.status, again.status, again.body)
			}
		}
		n, err := db.One[int](r.t.Context(), r.db, nil, `SELECT COUNT(*) FROM idempotency WHERE body IS NULL AND item <> ''`)
		if err != nil || n != len(changes) {
			r.t.Errorf("%d of %d are not kept, %v", n, len(changes), err)
		}
	})
}

// One of several equal requests to two servers makes the change. The others get its answer, or must wait.
func TestIdempotencyOfTwins(t *testing.T) {
	each(t, func(r *rig) {
		servers := []string{r.url, r.serve(r.api)}
		var made, replayed, waiting atomic.Int32
		var twins sync.WaitGroup
		for i := range 20 {
			twins.Go(func() {
				got := r.sendTo(servers[i%2], r.key, "POST", apps, `{"name":"x"}`, "Idempotency-Key", "twins")
				switch {
				case got.status == http.StatusCreated && got.header.Get("Idempotent-Replayed") == "":
					made.Add(1)
				case got.status == http.StatusCreated:
					replayed.Add(1)
				case got.status == http.StatusConflict && got.header.Get("Retry-After") != "":
					waiting.Add(1)
				default:
					r.t.Errorf("%d %s", got.status, got.body)
				}
			})
		}
		twins.Wait()
		if list := r.send(r.key, "GET", apps, "").body; made.Load() != 1 || !strings.HasPrefix(list, `{"count":1,`) {
			r.t.Errorf("made %d, replayed %d, waiting %d: %.40s", made.Load(), replayed.Load(), waiting.Load(), list)
		}
	})
}

// If a server crashes after its claim, before or after the change, the request is still carried out once.
func TestIdempotencyAfterACrash(t *testing.T) {
	each(t, func(r *rig) {
		first := r.once("after", "POST", apps, `{"name":"x"}`)
		r.compare("after the change", r.once("after", "POST", apps, `{"name":"x"}`), first.status, first.body)
		dbtest.Exec(r.t, r.db, `UPDATE idempotency SET status = 0, body = NULL`) // as if it had crashed before the change
		if got := r.once("after", "POST", apps, `{"name":"x"}`); got.status != http.StatusConflict || !strings.Contains(got.body, "idempotency_in_progress") {
			r.t.Errorf("within the lease: %d %s", got.status, got.body)
		}
		late := r.db.Now().Add(time.Minute)
		r.db.Now = func() time.Time { return late }
		if got := r.once("after", "POST", apps, `{"name":"x"}`); got.status != http.StatusCreated || got.header.Get("Idempotent-Replayed") != "" {
			r.t.Errorf("after the lease: %d %s", got.status, got.body)
		}
		tomorrow := late.Add(25 * time.Hour)
		r.db.Now = func() time.Time { return tomorrow }
		if got := r.once("after", "POST", apps, `{"name":"other"}`); got.status != http.StatusCreated {
			r.t.Errorf("a day later: %d %s", got.status, got.body)
		}
		r.db.Now = func() time.Time { return tomorrow.Add(25 * time.Hour) }
		if err := r.keys.Tidy(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		if n, err := db.One[int](r.t.Context(), r.db, nil, `SELECT COUNT(*) FROM idempotency`); err != nil || n != 0 {
			r.t.Error(n, err)
		}
	})
}
