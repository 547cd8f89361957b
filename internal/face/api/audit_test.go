package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
)

type audited struct {
	Scope, Activity, Hash string
	Number                int64
	KeyID                 *int64 `json:"key_id"`
	Detail                struct{ Name string }
	Address               string
	CreatedAt             time.Time `json:"created_at"`
}

// audit reads the activity and returns it with the newest last.
func (r *rig) audit(key, query string) (count int, entries []audited) {
	r.t.Helper()
	got := r.send(key, "GET", "/activity?"+query, "")
	var page struct {
		Count   int
		Results []audited
	}
	if err := json.Unmarshal([]byte(got.body), &page); err != nil || got.status != http.StatusOK { //nolint:musttag // its names are matched in any case
		r.t.Fatalf("%s: %d %s", query, got.status, got.body)
	}
	slices.Reverse(page.Results)
	return page.Count, page.Results
}

// Admins see all activity, with the key that was used and its place in the chain.
func TestAudit(t *testing.T) {
	each(t, func(r *rig) {
		r.app(`{"name":"Banner"}`)
		r.invite("eve@example.com")
		r.number()
		r.api.KeepAddresses = true
		r.app(`{"name":"Other"}`)
		all := []string{
			"Organization created Acme 1", "OrganizationMembership added owner@acme.example 2", "Key created owner@acme.example 3",
			"Plugin installed Banner 4", "OrganizationInvite created eve@example.com 5", "Plugin installed Other 0",
		}
		for query, want := range map[string][]string{
			"":                                   all,
			"limit=2":                            all[4:],
			"limit=2&offset=1":                   all[3:5],
			"scope=Key":                          all[2:3],
			"activity=created":                   {all[0], all[2], all[4]},
			"activity=created&scope=Key":         {all[2]},
			"user=Owner@acme.example":            all[3:],
			"user=1":                             all[3:],
			"user=nobody@acme.example":           nil,
			"item_id=1&scope=Plugin":             {all[3]},
			"key_id=1":                           all[3:],
			"key_id=1&scope=OrganizationInvite":  {all[4]},
			"after=3":                            all[3:5],
			"after=0":                            all,
			"since=2000-01-01T00:00:00Z":         all,
			"since=2000-01-01t00:00:00.5z":       all,
			"until=2000-01-01T00:00:00%2B01:00":  nil,
			"since=2000-01-01T00:00:00Z&after=4": all[4:5],
		} {
			var got []string
			count, entries := r.audit(r.key, query)
			for _, e := range entries {
				got = append(got, fmt.Sprintf("%s %s %s %d", e.Scope, e.Activity, e.Detail.Name, e.Number))
			}
			if !slices.Equal(got, want) || !strings.Contains(query, "limit") && count != len(want) {
				r.t.Errorf("%s: %d: got %q, want %q", query, count, got, want)
			}
		}
		_, entries := r.audit(r.key, "")
		if e := entries[4]; e.KeyID == nil || *e.KeyID != 1 || e.Address != "" || len(e.Hash) != 64 {
			r.t.Errorf("%+v", e)
		}
		if e := entries[5]; e.Address != "127.0.0.1" || e.Hash != "" {
			r.t.Errorf("%+v", e)
		}
		got := r.send(r.key, "GET", "/activity/head", "")
		if want := `{"number":5,"hash":"` + entries[4].Hash + `","at":"`; !strings.HasPrefix(got.body, want) {
			r.t.Errorf("head: %s, want %s…", got.body, want)
		}
		next := r.send(r.key, "GET", "/activity?after=3&limit=1", "")
		if link := between(next.body, `"next":"`, `"`); !strings.Contains(link, "after=3") || !strings.Contains(link, "offset=1") {
			r.t.Errorf("the next page after 3 is %s", link)
		}
	})
}

// since and until may be more exact than the times of entries.
func TestAuditOfATime(t *testing.T) {
	each(t, func(r *rig) {
		r.app(`{"name":"Banner"}`)
		_, entries := r.audit(r.key, "scope=Plugin")
		at := entries[0].CreatedAt
		for query, want := range map[string]int{
			"since=" + at.Format(time.RFC3339Nano):                      1,
			"since=" + at.Add(time.Nanosecond).Format(time.RFC3339Nano): 0,
			"until=" + at.Format(time.RFC3339Nano):                      0,
			"until=" + at.Add(time.Nanosecond).Format(time.RFC3339Nano): 1,
		} {
			if count, entries := r.audit(r.key, "scope=Plugin&"+query); count != want || len(entries) != want {
				r.t.Errorf("%s: %d, %d", query, count, len(entries))
			}
		}
	})
}

func TestAuditOfWrongFilters(t *testing.T) {
	each(t, func(r *rig) {
		for query, attr := range map[string]string{
			"scope=Keys": "scope", "activity=made": "activity", "user=x": "user", "user=0": "user", "user=a@b": "user", "key_id=0": "key_id", "key_id=x": "key_id",
			"since=yesterday": "since", "until=2026-01-01": "until", "after=-1": "after", "after=5.x": "after", "limit=0": "limit", "offset=x": "offset",
			"scope=": "scope", "activity=": "activity", "user=": "user", "key_id=": "key_id", "item_id=": "item_id", "since=": "since", "until=": "until", "after=": "after",
			"scope=Key&scope=Session": "scope",
		} {
			r.wantParts(r.key, "GET", "/activity?"+query, "", 400, `"attr":"`+attr+`"`)
		}
		r.want("GET", "/activity?until=2026-11-23T09:30:00+01:00", "", 400,
			faultBody("validation_error", "invalid_input", "Must be a time like 2026-11-23T09:30:00Z (RFC 3339); write %2B for a +.", `"until"`))
	})
}

// A key without * sees only the activity of objects that it may read anyway.
func TestAuditOfNarrowKeys(t *testing.T) {
	each(t, func(r *rig) {
		r.app(`{"name":"Banner"}`)
		r.invite("eve@example.com")
		for _, c := range []struct {
			scopes, want []string
			refused      map[string]string
		}{
			{
				[]string{"organization_member:read"},
				[]string{"OrganizationMembership", "OrganizationInvite"},
				map[string]string{"Plugin": "plugin:read", "Key": "*", "Organization": "*", "Site": "plugin:read"},
			},
			{
				[]string{"organization_member:read", "plugin:read"},
				[]string{"OrganizationMembership", "Plugin", "OrganizationInvite"},
				map[string]string{"Key": "*", "Session": "*"},
			},
		} {
			key := r.newKey(r.owner, c.scopes...)
			count, entries := r.audit(key, "")
			var got []string
			for _, e := range entries {
				got = append(got, e.Scope)
			}
			if !slices.Equal(got, c.want) || count != len(c.want) {
				r.t.Errorf("%v: %d %v, want %v", c.scopes, count, got, c.want)
			}
			if lines := r.stream(key, ""); len(lines) != len(c.want) {
				r.t.Errorf("%v: streams %v", c.scopes, lines)
			}
			for scope, needed := range c.refused {
				r.wantParts(key, "GET", "/activity?scope="+scope, "", 403, "scope "+needed+".")
			}
		}
	})
}

// stream reads all lines of the stream.
func (r *rig) stream(key, query string) []string {
	r.t.Helper()
	got := r.send(key, "GET", "/activity?"+query, "", "Accept", "text/html, application/x-ndjson;q=0.9")
	if got.status != http.StatusOK || got.header.Get("Cache-Control") != "no-store" {
		r.t.Fatalf("%d, Cache-Control %q: %s", got.status, got.header.Get("Cache-Control"), got.body)
	}
	return slices.DeleteFunc(strings.Split(got.body, "\n"), func(line string) bool { return line == "" })
}

func TestAuditStream(t *testing.T) {
	each(t, func(r *rig) {
		for i := range 5 {
			r.app(fmt.Sprintf(`{"name":"App %d"}`, i))
		}
		r.number()
		r.app(`{"name":"Last"}`)
		if got := r.send(r.key, "GET", "/activity", "", "Accept", "application/json, application/x-ndjson;q=0"); !strings.HasPrefix(got.body, `{"count":`) {
			r.t.Errorf("lines are not wanted: %s", got.body)
		}
		lines := r.stream(r.key, "")
		for i, line := range lines {
			r.checker.CheckValue(t, "#/components/schemas/Audit", []byte(line))
			want := fmt.Sprintf(`"number":%d,`, i+1)
			if i == len(lines)-1 {
				want = `"number":null,"hash":null,`
			}
			if !strings.Contains(line, want) {
				r.t.Errorf("line %d: %s", i, line)
			}
		}
		if len(lines) != 9 {
			r.t.Errorf("%d lines: %q", len(lines), lines)
		}
		if lines := r.stream(r.key, "scope=Key"); len(lines) != 1 {
			r.t.Errorf("of keys: %q", lines)
		}
		if lines := r.stream(r.key, "scope=Webhook"); len(lines) != 0 {
			r.t.Errorf("of webhooks: %q", lines)
		}
		c, err := client.New(r.url, r.key)
		if err != nil {
			r.t.Fatal(err)
		}
		var names []string
		for e, err := range c.Organization(r.org.ID).StreamAudit(t.Context(), client.AuditFilter{After: 7}) {
			if err != nil {
				r.t.Fatal(err)
			}
			names = append(names, e.Detail.Name)
		}
		if !slices.Equal(names, []string{"App 4", "Last"}) {
			r.t.Errorf("the client streams %q", names)
		}
	})
}

// slowStream begins a stream that is larger than the connection's buffers, and reads one line.
func (r *rig) slowStream(key string) (answer, *bufio.Reader) {
	r.t.Helper()
	got, body := r.open(r.url, key, "/activity", "application/x-ndjson")
	lines := bufio.NewReader(body)
	if got.status == http.StatusOK {
		if _, err := lines.ReadString('\n'); err != nil {
			r.t.Fatal(err)
		}
	}
	return got, lines
}

// fill makes so much activity that a stream must wait for its client.
func (r *rig) fill() {
	r.t.Helper()
	schema := `[{"key":"` + strings.Repeat("x", 900_000) + `"}]`
	for i := range 24 {
		id := r.app(`{"name":"Large"}`)
		r.wantStatus(r.key, "PATCH", "/pipeline_frontend_apps/"+id, fmt.Sprintf(`{"tag":"%d","config_schema":%s}`, i, schema), 200)
	}
	r.number()
}

// A stream ends when its key is revoked, and says so. Nobody gets more than four streams.
func TestAuditStreamsEnd(t *testing.T) {
	each(t, func(r *rig) {
		var ahead atomic.Int64
		now := r.db.Now
		r.db.Now = func() time.Time { return now().Add(time.Duration(ahead.Load())) }
		r.fill()
		key, secret := r.makeKey(access.Draft{UserID: r.owner.User.ID, Scope: access.All})
		var first *bufio.Reader
		for i := range 4 {
			_, lines := r.slowStream(secret)
			if i == 0 {
				first = lines
			}
		}
		if got, _ := r.slowStream(r.key); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
			r.t.Errorf("a fifth stream: %d", got.status)
		}
		admin := r.join(r.org, "admin@acme.example", access.Admin)
		_, lowered := r.slowStream(r.newKey(admin, "*"))
		if err := r.keys.Revoke(t.Context(), key.ID); err != nil {
			r.t.Fatal(err)
		}
		r.wantStatus(r.key, "PATCH", "/members/"+admin.User.UUID, `{"level":1}`, 200)
		ahead.Store(int64(3 * time.Second))
		for code, stream := range map[string]*bufio.Reader{"authentication_failed": first, "permission_denied": lowered} {
			rest, err := io.ReadAll(stream)
			if err != nil {
				r.t.Fatal(err)
			}
			all := strings.Split(strings.TrimSpace(string(rest)), "\n")
			if last := all[len(all)-1]; !strings.Contains(last, `"code":"`+code+`"`) || len(all) >= 40 {
				r.t.Errorf("%d lines, then %.300s, not %s", len(all), last, code)
			}
		}
	})
}

// goneClient is a disconnected client: writing to it fails.
type goneClient struct {
	*httptest.ResponseRecorder
	writes int
}

func (*goneClient) SetWriteDeadline(time.Time) error { return nil }

func (g *goneClient) Write([]byte) (int, error) {
	g.writes++
	return 0, io.ErrClosedPipe
}

// A client that disconnects from a stream is not logged as an error, and HEAD streams nothing.
func TestAuditStreamBrokenOff(t *testing.T) {
	each(t, func(r *rig) {
		r.app(`{"name":"App"}`)
		var log bytes.Buffer
		logged := *r.api
		logged.Log = slog.New(slog.NewTextHandler(&log, nil))
		h := logged.Observe(logged.Handler(func(*wire.Mux) {}), func(*http.Request, api.Outcome) {})
		for method, writes := range map[string]int{"GET": 1, "HEAD": 0} {
			req := httptest.NewRequestWithContext(t.Context(), method, "/api/organizations/"+url.PathEscape(r.org.ID)+"/activity", http.NoBody)
			req.Header.Set("Authorization", "Bearer "+r.key)
			req.Header.Set("Accept", "application/x-ndjson")
			w := &goneClient{ResponseRecorder: httptest.NewRecorder()}
			h.ServeHTTP(w, req)
			if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != "application/x-ndjson" || w.writes != writes {
				r.t.Errorf("%s: %d %s, written %d times", method, w.Code, got, w.writes)
			}
		}
		if strings.Contains(log.String(), "level=ERROR") {
			r.t.Error(log.String())
		}
	})
}

// The document lists all activities and scopes.
func TestDocumentListsActivities(t *testing.T) {
	t.Parallel()
	type enum struct {
		Enum []string `json:"enum"`
	}
	var document struct {
		Components struct {
			Schemas struct {
				Verbs  enum `json:"ActivityVerb"`
				Scopes enum `json:"ActivityKind"`
			} `json:"schemas"`
		} `json:"components"`
	}
	decodeDocument(t, &document)
	if got, want := document.Components.Schemas.Verbs.Enum, texts(activity.Verbs()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := document.Components.Schemas.Scopes.Enum, texts(activity.Scopes()); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func texts[T ~string](all []T) []string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	return names
}
