package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// webhook makes a webhook and returns its id.
func (r *rig) webhook(events string) string {
	r.t.Helper()
	return between(r.create("/webhooks", `{"url":"https://hooks.example.com/foyer","events":[`+events+`]}`), `{"id":`, ",")
}

type seenEvent struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Sequence int64           `json:"sequence"`
	Data     json.RawMessage `json:"data"`
}

// number gives all entries their numbers.
func (r *rig) number() {
	r.t.Helper()
	if err := activity.NumberAll(r.t.Context(), r.db); err != nil {
		r.t.Fatal(err)
	}
}

// events numbers all entries and returns the events after a sequence.
func (r *rig) events(after int64) (events []seenEvent, next int64) {
	r.t.Helper()
	r.number()
	got := r.send(r.key, "GET", "/events?after="+strconv.FormatInt(after, 10), "")
	var page struct {
		Results []seenEvent `json:"results"`
		Next    int64       `json:"next"`
	}
	if err := json.Unmarshal([]byte(got.body), &page); err != nil || got.status != http.StatusOK {
		r.t.Fatalf("events: %d %s", got.status, got.body)
	}
	return page.Results, page.Next
}

// Each change that has an event makes exactly one, with the object as its GET answers it after the change.
func TestEventsShowTheObject(t *testing.T) {
	each(t, func(r *rig) {
		_, after := r.events(0)
		did := func(kind, data string) {
			r.t.Helper()
			events, next := r.events(after)
			after = next
			if len(events) != 1 || events[0].Type != kind || !strings.HasPrefix(events[0].ID, "evt_") || string(events[0].Data) != data {
				r.t.Errorf("%s: %+v, want %s", kind, events, data)
			}
		}
		send := func(method, path, body string) string {
			r.t.Helper()
			got := r.send(r.key, method, path, body)
			if got.status >= 300 {
				r.t.Fatalf("%s %s: %d %s", method, path, got.status, got.body)
			}
			return got.body
		}
		app := r.app(`{"name":"a","plugin_type":"source","config_schema":[{"key":"b","default":1.0}]}`)
		did("app.created", send("GET", apps+app, ""))
		did("app.updated", send("PATCH", apps+app, `{"name":"<b> & \u2028"}`))
		send("PATCH", apps+app+"/update_source", `{"source":{"site.ts":"export function inject() {}"}}`)
		did("app.source_updated", send("GET", apps+app, ""))
		did("app.upgraded", send("POST", apps+app+"/upgrade", `{"tag":"v2"}`))
		did("app.disabled", send("POST", apps+app+"/disable", `{"reason":"x"}`))
		did("app.enabled", send("POST", apps+app+"/enable", ``))
		site := r.site("shop")
		did("site.created", send("GET", sites+site, ""))
		r.placed(site, `{"app_id":`+app+`}`)
		did("site.changed", send("GET", sites+site, ""))
		did("site.changed", send("PATCH", sites+site, `{"name":"store"}`))
		last := send("GET", sites+site, "")
		send("DELETE", sites+site, "")
		did("site.deleted", last)
		last = send("GET", apps+app, "")
		send("DELETE", apps+app, "")
		did("app.deleted", last)
		invite := r.invite("ada@example.com")
		one := func() string { return between(send("GET", "/invites?status=any&id="+invite, ""), `"results":[`, `]}`) }
		did("invite.created", one())
		did("invite.resent", send("POST", "/invites/"+invite+"/resend", ""))
		last = one()
		send("DELETE", "/invites/"+invite, "")
		did("invite.deleted", last)
	})
}

// An entry that is not an event has no data: the chain has a hash of data only for events.
func TestNoEventHasNoData(t *testing.T) {
	each(t, func(r *rig) {
		site := r.site("shop")
		app := r.built(`[]`)
		r.wantStatus(r.key, "PATCH", apps+app+"/update_source", `{"source":{"site.ts":"export const two = 2"}}`, 200)
		r.placed(site, `{"app_id":`+app+`}`)
		invite := r.invite("ada@example.com")
		webhook := "/webhooks/" + r.webhook(`"app.*"`)
		before, _ := r.events(0)
		for _, c := range [][3]string{
			{"POST", apps + app + "/versions/1/withdraw", `{"reason":"why"}`},
			{"POST", apps + app + "/versions/1/restore", ``},
			{"POST", sites + site + "/apps/" + app + "/preview", `{"url":"https://shop.example.com/","version":2}`},
			{"POST", "/invites/" + invite + "/link", ``},
			{"POST", webhook + "/rotate", ``},
			{"PATCH", "", `{"name":"Acme 2"}`},
			{"POST", "/api/users/@me/keys", `{"scopes":["*"]}`},
		} {
			if got := r.send(r.key, c[0], c[1], c[2]); got.status >= 300 {
				r.t.Fatalf("%s %s: %d %s", c[0], c[1], got.status, got.body)
			}
		}
		after, _ := r.events(0)
		with, err := db.All[string](r.t.Context(), r.db, nil, `SELECT activity FROM activity WHERE organization_id = $1 AND data_hash <> '' ORDER BY id`, r.org.ID)
		if err != nil || len(after) != len(before) || len(with) != len(after) {
			r.t.Errorf("%d events, %d before; with data: %q, %v", len(after), len(before), with, err)
		}
	})
}

// Accepting an invite makes two events, of the invite and of the member. Expiry makes one for each issue.
func TestEventsOfInvites(t *testing.T) {
	each(t, func(r *rig) {
		now := r.db.Now()
		r.db.Now = func() time.Time { return now }
		declined, accepted, expired := r.token(r.invite("a@x.example")), r.token(r.invite("b@x.example")), r.invite("c@x.example")
		_, after := r.events(0)
		r.send("", "DELETE", "/api/signup/"+declined, "")
		r.wantStatus("", "POST", "/api/signup/"+accepted, "{}", 201)
		now = now.Add(100 * time.Hour)
		for range 2 {
			if err := r.api.Invites.Expire(r.t.Context()); err != nil {
				r.t.Fatal(err)
			}
		}
		r.send(r.key, "POST", "/invites/"+expired+"/resend", "")
		now = now.Add(100 * time.Hour)
		if err := r.api.Invites.Expire(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		events, _ := r.events(after)
		var got []string
		for _, e := range events {
			got = append(got, e.Type)
		}
		slices.Sort(got) // entries of concurrent transactions may swap places on PostgreSQL
		want := []string{"invite.accepted", "invite.declined", "invite.expired", "invite.expired", "invite.resent", "member.added"}
		if !slices.Equal(got, want) {
			r.t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestEventsForAdmins(t *testing.T) {
	each(t, func(r *rig) {
		admin := r.newKey(r.join(r.org, "admin@acme.example", access.Admin), "*")
		for _, c := range []struct {
			key    string
			status int
		}{{admin, 200}, {r.newKey(r.owner, "plugin:write"), 403}, {r.newKey(r.join(r.org, "m@acme.example", access.Member), "*"), 403}, {r.otherKey, 404}} {
			r.wantStatus(c.key, "GET", "/events", "", c.status)
		}
		for query, attr := range map[string]string{"after=x": "after", "after=-1": "after", "after=": "after", "limit=0": "limit", "wait=61": "wait", "wait=x": "wait", "wait=": "wait"} {
			r.wantParts(r.key, "GET", "/events?"+query, "", 400, `"attr":"`+attr+`"`)
		}
		now := r.db.Now()
		r.app(`{"name":"old"}`)
		r.db.Now = func() time.Time { return now.Add(31 * 24 * time.Hour) }
		if events, _ := r.events(0); len(events) != 0 {
			r.t.Errorf("after 30 days: %+v", events)
		}
		if err := r.api.Events.Tidy(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		r.db.Now = func() time.Time { return now }
		if events, _ := r.events(0); len(events) != 0 {
			r.t.Errorf("they were dropped: %+v", events)
		}
	})
}

// eventStream begins a stream of the events after a sequence.
func (r *rig) eventStream(url, key string, after int64) *eventStream {
	r.t.Helper()
	got, body := r.open(url, key, "/events?limit=2&after="+strconv.FormatInt(after, 10), "text/event-stream")
	if got.status != 200 || got.header.Get("Content-Type") != "text/event-stream" {
		r.t.Fatal(got)
	}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 4<<20)
	return &eventStream{lines, r.t}
}

// eventStream reads the lines of a stream of events.
type eventStream struct {
	*bufio.Scanner
	t testing.TB
}

// until reads up to a line that begins with a text.
func (s *eventStream) until(text string) string {
	s.t.Helper()
	for s.Scan() {
		if strings.HasPrefix(s.Text(), text) {
			return s.Text()
		}
	}
	s.t.Fatalf("no %q: %v", text, s.Err())
	return ""
}

// A waiting request gets an event as soon as there is one, and a stream ends when its caller loses permission.
func TestEventsAsTheyCome(t *testing.T) {
	each(t, func(r *rig) {
		go activity.Chain(r.t.Context(), r.db, func(error) {})
		_, after := r.events(0)
		reader := r.join(r.org, "reader@acme.example", access.Admin)
		stream := r.eventStream(r.url, r.newKey(reader, "*"), after)
		stream.until(":")
		r.app(`{"name":"first"}`)
		stream.until("event: app.created")
		if data := stream.until("data: "); !strings.Contains(data, `"name":"first"`) {
			r.t.Error(data)
		}
		_, after = r.events(0)
		waited := make(chan answer, 1)
		go func() {
			waited <- r.send(r.key, "GET", "/events?wait=30&after="+strconv.FormatInt(after, 10), "")
		}()
		r.app(`{"name":"second"}`)
		if got := <-waited; got.status != 200 || !strings.Contains(got.body, `"name":"second"`) {
			r.t.Error(got)
		}
		if _, err := r.orgs.RemoveMember(r.t.Context(), r.org.ID, "reader@acme.example"); err != nil {
			r.t.Fatal(err)
		}
		stream.until("event: error")
		if data := stream.until("data: "); !strings.Contains(data, `"code":`) {
			r.t.Error(data)
		}
		for stream.Scan() { // the stream must end
		}
	})
}

// A stream also ends if there are far more events than its client has read.
func TestEventsThatWereThere(t *testing.T) {
	each(t, func(r *rig) {
		var ahead atomic.Int64
		now := r.db.Now
		r.db.Now = func() time.Time { return now().Add(time.Duration(ahead.Load())) }
		const events = 30
		r.largeEvents(events)
		key, secret := r.makeKey(access.Draft{UserID: r.owner.User.ID, Scope: access.All})
		stream := r.eventStream(r.url, secret, 0)
		stream.until("event: app.created")
		admin := r.join(r.org, "lowered@acme.example", access.Admin)
		lowered := r.eventStream(r.url, r.newKey(admin, "*"), 0)
		lowered.until("event: app.created")
		r.wantStatus(r.key, "PATCH", "/members/"+admin.User.UUID, `{"level":1}`, 200)
		if err := r.keys.Revoke(r.t.Context(), key.ID); err != nil {
			r.t.Fatal(err)
		}
		ahead.Store(int64(3 * time.Second))
		seen := 1
		for last := ""; last != "event: error"; seen++ {
			last = stream.until("event: ")
		}
		if data := stream.until("data: "); !strings.Contains(data, `"code":"authentication_failed"`) || seen >= events {
			r.t.Errorf("%d events, then %.300s", seen, data)
		}
		lowered.until("event: error")
		if data := lowered.until("data: "); !strings.Contains(data, `"code":"permission_denied"`) {
			r.t.Errorf("of whom was lowered: %.300s", data)
		}
	})
}

// A HEAD request does not wait for events.
func TestEventsHead(t *testing.T) {
	each(t, func(r *rig) {
		_, after := r.events(0)
		path := "/events?wait=60&after=" + strconv.FormatInt(after, 10)
		for _, accept := range []string{"application/json", "text/event-stream"} {
			if got := r.send(r.key, "HEAD", path, "", "Accept", accept); got.status != 200 || got.header.Get("Content-Type") != accept {
				r.t.Errorf("%s: %d %v", accept, got.status, got.header)
			}
		}
	})
}

// A stream leaves memory for other requests, however much it has sent.
func TestEventStreamLeavesRoom(t *testing.T) {
	each(t, func(r *rig) {
		limited := *r.api
		limited.InFlight = inflight.New(15 << 20)
		url := r.serve(&limited)
		_, after := r.events(0)
		id := r.largeEvents(12)
		stream := r.eventStream(url, r.key, after)
		for range 12 {
			stream.until("event: app.")
		}
		r.wantStatus(r.key, "PATCH", "/pipeline_frontend_apps/"+id, `{"config_schema":[],"description":"last"}`, 200)
		r.number()
		stream.until("data: ")
		if data := stream.until("data: "); !strings.Contains(data, `"last"`) {
			r.t.Errorf("%.300s", data)
		}
		if got := r.sendTo(url, r.key, "GET", "/pipeline_frontend_apps/"+id, ""); got.status != 200 {
			r.t.Errorf("beside a stream: %d %s", got.status, got.body)
		}
	})
}

// Streams that wait for events leave the memory to other requests, and get the next event.
func TestWaitingEventStreamsLeaveRoom(t *testing.T) {
	each(t, func(r *rig) {
		limited := *r.api
		limited.InFlight = inflight.New(15 << 20)
		url := r.serve(&limited)
		_, after := r.events(0)
		streams := make([]*eventStream, 4)
		for i := range streams {
			streams[i] = r.eventStream(url, r.key, after)
		}
		body := `{"name":"Large","source":{"site.ts":"//` + strings.Repeat("x", 1_000_000) + `"}}`
		if got := r.sendTo(url, r.key, "POST", "/pipeline_frontend_apps", body); got.status != 201 {
			r.t.Errorf("beside the streams: %d %s", got.status, got.body)
		}
		r.number()
		for _, stream := range streams {
			stream.until("event: app.created")
		}
	})
}

// largeEvents creates an app and changes it, which makes n events of about 1 MB each, and returns its id.
func (r *rig) largeEvents(n int) (id string) {
	r.t.Helper()
	id = r.app(`{"name":"Large","config_schema":[{"key":"` + strings.Repeat("x", 900_000) + `"}]}`)
	for i := range n - 1 {
		r.wantStatus(r.key, "PATCH", "/pipeline_frontend_apps/"+id, `{"description":"`+strconv.Itoa(i)+`"}`, 200)
	}
	r.number()
	return id
}

func TestWebhooksAPI(t *testing.T) {
	each(t, func(r *rig) {
		id := r.webhook(`"app.*","invite.accepted"`)
		got := r.send(r.key, "GET", "/webhooks/"+id, "").body
		if strings.Contains(got, "secret") || !strings.Contains(got, `"events":["app.*","invite.accepted"],"description":"","enabled":true,"disabled_reason":""`) {
			r.t.Error(got)
		}
		r.wantParts(r.key, "POST", "/webhooks/"+id+"/rotate", "", 200, `"secret":"whsec_`)
		for body, attr := range map[string]string{
			`{}`: "url", `{"url":"https://a.example"}`: "events", `{"url":"ftp://a.example","events":["app.*"]}`: "url",
			`{"url":"http://127.0.0.1/","events":["app.*"]}`:                                   "url",
			`{"url":"http://[::ffff:10.0.0.1]/","events":["app.*"]}`:                           "url",
			`{"url":"http://localhost:8000/","events":["app.*"]}`:                              "url",
			`{"url":"http://2130706433/","events":["app.*"]}`:                                  "url",
			`{"url":"https://u:p@a.example/","events":["app.*"]}`:                              "url",
			`{"url":"https://a.example/#x","events":["app.*"]}`:                                "url",
			`{"url":"https://a.example:65536/","events":["app.*"]}`:                            "url",
			`{"url":"https://:443/","events":["app.*"]}`:                                       "url",
			`{"url":"https://[::1","events":["app.*"]}`:                                        "url",
			`{"url":"https://a.example/` + strings.Repeat("x", 2000) + `","events":["app.*"]}`: "url",
			`{"url":"https://a.example","events":null}`:                                        "events",
			`{"url":"https://a.example","events":[]}`:                                          "events",
			`{"url":"https://a.example","events":["*"]}`:                                       "events",
			`{"url":"https://a.example","events":["app.x"]}`:                                   "events",
			`{"url":"https://a.example","events":["app.*"],"enabled":1}`:                       "enabled",
		} {
			r.wantParts(r.key, "POST", "/webhooks", body, 400, `"attr":"`+attr+`"`)
			if got := r.send(r.key, "PATCH", "/webhooks/"+id, body); body != "{}" && attr != "events" && got.status != 400 {
				r.t.Errorf("PATCH %s: %d %s", body, got.status, got.body)
			}
		}
		r.wantParts(r.key, "PATCH", "/webhooks/"+id, `{"enabled":false}`, 200, `"enabled":false`)
		r.wantStatus(r.key, "POST", "/webhooks/"+id+"/test", "", 400)
		for range 49 {
			r.webhook(`"site.*"`)
		}
		r.wantStatus(r.key, "POST", "/webhooks", `{"url":"https://a.example","events":["app.*"]}`, 400) // the 51st
		r.wantStatus(r.key, "DELETE", "/webhooks/"+id, "", 204)
		r.want("GET", "/webhooks/"+id, "", 404, notFound)
		r.want("PATCH", "/webhooks/"+id, `{"enabled":true}`, 404, notFound)
		if got := r.send(r.key, "PATCH", "/webhooks/"+id, `{"enabled":1}`); got.status != 400 { // a body is checked before its object
			r.t.Error(got)
		}
		if log := r.send(r.key, "GET", "/activity?scope=Webhook", "").body; strings.Contains(log, "whsec") {
			r.t.Error(log)
		} else {
			for _, done := range []string{"created", "rotated", "updated", "deleted"} {
				if !strings.Contains(log, `"activity":"`+done+`"`) {
					r.t.Errorf("not recorded as %s: %s", done, log)
				}
			}
		}
	})
}

// A member's event has the member as its GET answers it after the change or, if removed, before it.
func TestEventsOfMembers(t *testing.T) {
	each(t, func(r *rig) {
		_, after := r.events(0)
		last := ""
		did := func(kind, uuid string) {
			r.t.Helper()
			events, next := r.events(after)
			after = next
			if got := r.send(r.key, "GET", "/members/"+uuid, ""); kind != "member.removed" && got.status == http.StatusOK {
				last = got.body
			}
			events = slices.DeleteFunc(events, func(e seenEvent) bool { return !strings.HasPrefix(e.Type, "member.") })
			if len(events) != 1 || events[0].Type != kind || string(events[0].Data) != last {
				r.t.Errorf("%s: %+v, want %s", kind, events, last)
			}
		}
		got := r.wantStatus("", "POST", "/api/signup/"+r.token(r.invite("ada@x.example")), `{"first_name":"Ada"}`, 201)
		ada := between(got.body, `"uuid":"`, `"`)
		all, err := r.orgs.Members(r.t.Context(), r.org.ID)
		if err != nil {
			r.t.Fatal(err)
		}
		own := r.newKey(all[len(all)-1], "*")
		did("member.added", ada)
		if !strings.Contains(last, `"invited_by":{"uuid":"`+r.owner.User.UUID) {
			r.t.Error(last)
		}
		for _, change := range []struct{ key, path, body string }{
			{r.key, "/members/" + ada, `{"level":"admin"}`},
			{own, "/api/users/@me", `{"last_name":"Lovelace"}`},
		} {
			r.wantStatus(change.key, "PATCH", change.path, change.body, 200)
			did("member.changed", ada)
		}
		if _, err := r.orgs.SetUser(r.t.Context(), "ada@x.example", org.SelfPatch{Email: patch.Of("ada@new.example")}); err != nil {
			r.t.Fatal(err)
		}
		did("member.changed", ada)
		r.wantStatus(r.key, "PATCH", "/members/"+ada, `{"level":"admin"}`, 200)
		if events, _ := r.events(after); len(events) > 0 {
			r.t.Errorf("nothing has changed: %+v", events)
		}
		r.wantStatus(r.key, "DELETE", "/members/"+ada, "", 204)
		did("member.removed", ada)
	})
}

// A client that has read past the last event, as before a backup was restored, gets an error: it would miss the next
// events, which get the same numbers again.
func TestEventsAfterTheLast(t *testing.T) {
	each(t, func(r *rig) {
		r.site("shop")
		r.number()
		head := patch.ID(between(r.send(r.key, "GET", "/activity/head", "").body, `{"number":`, ","))
		at := func(n int64) string { return "/events?after=" + strconv.FormatInt(n, 10) }
		want := faultBody("validation_error", "invalid_input", fmt.Sprintf(
			"Must be at most %d, the last number here: events may have been lost since %d was given, as when a backup is restored.", head, head+1), `"after"`)
		r.want("GET", at(head), "", 200, fmt.Sprintf(`{"results":[],"next":%d}`, head))
		r.want("GET", at(head+1), "", 400, want)
		r.want("GET", at(head+1)+"&wait=60", "", 400, want)
		r.compare("a stream", r.send(r.key, "GET", at(0), "", "Accept", "text/event-stream", "Last-Event-ID", strconv.FormatInt(head+1, 10)), 400, want)
	})
}
