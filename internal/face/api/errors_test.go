package api_test

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/egress"
)

const (
	apps    = "/pipeline_frontend_apps/"
	invites = "/invites/"
)

func invalidRequest(code, detail string) string {
	return faultBody("invalid_request", code, detail, "null")
}

func validation(code, detail, attr string) string {
	if attr != "null" {
		attr = `"` + attr + `"`
	}
	return faultBody("validation_error", code, detail, attr)
}

func denied(detail string) string {
	return faultBody("authentication_error", "permission_denied", detail, "null")
}

// TestErrors checks each row of the table of errors on both engines, with the whole body.
func TestErrors(t *testing.T) {
	each(t, func(r *rig) {
		readOnly := r.newKey(r.owner, "plugin:read")
		member := r.newKey(r.join(r.org, "member@acme.example", access.Member), "*")
		long := func(n int) string { return strings.Repeat("ä", n) }
		const (
			badKey = "The API key is not valid: it may be mistyped, expired or revoked."
			noKey  = "An API key is needed: send the header Authorization: Bearer <API_KEY>."

			noAddress = "Must not be empty: give an address like name@example.com."
		)
		unauthenticated := faultBody("authentication_error", "not_authenticated", noKey, "null")
		needsPluginWrite := denied("This needs a key with the scope plugin:write.")
		failed := faultBody("authentication_error", "authentication_failed", badKey, "null")
		for _, c := range []struct {
			name, key, method, path, body string
			status                        int
			want                          string
		}{
			{"no key", "", "GET", apps, "", 401, unauthenticated},
			{"unknown key", access.NewKey(), "GET", apps, "", 401, failed},
			{"malformed key", "foy_x", "GET", apps, "", 401, failed},
			{"mistyped key", r.key[:len(r.key)-1] + "!", "GET", apps, "", 401, failed},
			{"scope missing", readOnly, "POST", apps, "{", 403, needsPluginWrite},
			{"level too low", member, "POST", apps, "{", 403, denied("Only admins and owners may change the apps and sites of this organization.")},
			{"level too low for sites", member, "POST", "/sites", "{", 403, denied("Only admins and owners may change the apps and sites of this organization.")},
			{"unknown organization", r.key, "GET", "/api/organizations/01981f0e-5c2b-7d34-9f7a-3b0c6f2f8a11/invites", "", 404, notFound},
			{"malformed organization", r.key, "GET", "/api/organizations/%00x/invites", "", 404, notFound},
			{"another's organization", r.otherKey, "POST", apps, "{", 404, notFound},
			{"unknown app", r.key, "GET", apps + "99/", "", 404, notFound},
			{"app beyond 64 bits", r.key, "GET", apps + "99999999999999999999/", "", 404, notFound},
			{"app that is no number", r.key, "DELETE", apps + "1x", "", 404, notFound},
			{"app by another spelling", r.key, "GET", apps + "+1", "", 404, notFound},
			{"key by another spelling", r.key, "DELETE", "/api/users/@me/keys/01", "", 404, notFound},
			{"key by a sign", r.key, "DELETE", "/api/users/@me/keys/%2B1", "", 404, notFound},
			{"activity of an app by another spelling", r.key, "GET", apps + "activity?app=01", "", 400, validation("invalid_input", "Must be the id of an app, a whole number.", "app")},
			{"activity of no app", r.key, "GET", apps + "activity?app=", "", 400, validation("invalid_input", "Must not be empty.", "app")},
			{"activity of no user", r.key, "GET", apps + "activity?user=", "", 400, validation("invalid_input", "Must not be empty.", "user")},
			{"activity of an app by a sign", r.key, "GET", apps + "activity?app=%2B1", "", 400, validation("invalid_input", "Must be the id of an app, a whole number.", "app")},
			{"version that is empty", r.key, "POST", apps + "1/upgrade", `{"version":""}`, 400, validation("invalid_input", "Must be the number of a version.", "version")},
			{"end before all times", r.key, "POST", "/api/users/@me/keys", `{"scopes":["*"],"expires_at":"0001-01-01T00:00:00Z"}`, 400, validation("invalid_input", "Must be a time like 2030-01-31T12:00:00Z.", "expires_at")},
			{"end that is empty", r.key, "POST", "/api/users/@me/keys", `{"scopes":["*"],"expires_at":""}`, 400, validation("invalid_input", "Must be a time like 2030-01-31T12:00:00Z.", "expires_at")},
			{"version by another spelling", r.key, "POST", apps + "1/upgrade", `{"version":"+1"}`, 400, validation("invalid_input", "Must be the number of a version.", "version")},
			{"unknown invite", r.key, "DELETE", invites + "x", "", 404, notFound},
			{"no such path", r.key, "GET", "/nope", "", 404, notFound},
			{"no such path, no key", "", "GET", "/nope", "", 404, notFound},
			{"method", "", "PUT", apps, "", 405, invalidRequest("method_not_allowed", "PUT is not allowed here: use GET, HEAD, POST.")},
			{"method on an app", r.key, "POST", apps + "1", "", 405, invalidRequest("method_not_allowed", "POST is not allowed here: use GET, HEAD, PATCH, DELETE.")},
			{"method on a fixed name", "", "PATCH", apps + "activity", "", 405, invalidRequest("method_not_allowed", "PATCH is not allowed here: use GET, HEAD.")},
			{"method on bulk", "", "DELETE", invites + "bulk/", "", 405, invalidRequest("method_not_allowed", "DELETE is not allowed here: use POST.")},
			{"method on an invite", r.key, "GET", invites + "x", "", 405, invalidRequest("method_not_allowed", "GET is not allowed here: use DELETE.")},
			{"too large", r.key, "PATCH", apps + "1", `{"name":"` + strings.Repeat("x", 2<<20) + `"}`, 413, invalidRequest("request_too_large", "The body must be at most 1048576 bytes long.")},
			{"not JSON", r.key, "POST", apps, `{"name":`, 400, invalidRequest("parse_error", "The body is not valid JSON: unexpected EOF (byte 8).")},
			{"not UTF-8", r.key, "POST", apps, "{\"name\":\"\xff\"}", 400, invalidRequest("parse_error", "The body is not valid JSON: invalid UTF-8 (byte 9).")},
			{"a lone surrogate", r.key, "POST", apps, `{"ignored":"\ud800"}`, 400, invalidRequest("parse_error", "The body is not valid JSON: invalid surrogate pair `\\ud800\"}` in string (byte 12).")},
			{"a duplicate key", r.key, "POST", apps, `{"name":"a","name":"b"}`, 400, invalidRequest("parse_error", `The body is not valid JSON: "name" appears twice.`)},
			{"two values", r.key, "POST", apps, `{} {}`, 400, invalidRequest("parse_error", "The body must be one JSON value; something follows it.")},
			{"no object", r.key, "POST", apps, `[]`, 400, validation("invalid_input", "The body must be a JSON object, not an array.", "null")},
			{"bulk: neither", r.key, "POST", invites + "bulk/", `"x"`, 400, validation("invalid_input", "The body must be a JSON object or an array of objects, not a string.", "null")},
			{"too deep", r.key, "POST", apps, `{"name":"x","metrics":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, 400, validation("invalid_input", "Must be nested at most 64 levels deep.", "metrics")},
			{"NUL", r.key, "POST", apps, `{"name":"x\u0000"}`, 400, validation("invalid_input", "Must not contain the NUL character.", "name")},
			{"missing", r.key, "POST", apps, ``, 400, validation("required", "Must be given: 1 to 200 characters.", "name")},
			{"null", r.key, "POST", apps, `{"name":null}`, 400, validation("null", "Must not be null.", "name")},
			{"empty", r.key, "POST", apps, `{"name":" \t "}`, 400, validation("blank", "Must not be empty: give 1 to 200 characters.", "name")},
			{"invisible", r.key, "POST", apps, `{"name":" \u200b\u2060\u3164"}`, 400, validation("blank", "Must not be empty: give 1 to 200 characters.", "name")},
			{"no address to invite", r.key, "POST", invites, `{"target_email":" "}`, 400, validation("blank", noAddress, "target_email")},
			{"no address to sign in", "", "POST", "/api/signin", `{"email":""}`, 400, validation("blank", noAddress, "email")},
			{"a number to sign in", "", "POST", "/api/signin", `{"email":5}`, 400, validation("invalid_input", "Must be a string, not a number.", "email")},
			{"nobody to sign in", "", "POST", "/api/signin", `{}`, 400, validation("required", "Must be given: the address of the user who wants to sign in.", "email")},
			{"a text as a time", r.key, "PATCH", "/api/organizations/@current", `{"invite_ttl":"60"}`, 400, validation("invalid_input", "Must be a whole number, not a string.", "invite_ttl")},
			{"no new address", r.key, "PATCH", "/api/users/@me", `{"email":" "}`, 400, validation("blank", noAddress, "email")},
			{"too long", r.key, "POST", apps, `{"name":"` + long(201) + `"}`, 400, validation("max_length", "Must be at most 200 characters long, not 201.", "name")},
			{"wrong type", r.key, "POST", apps, `{"name":"x","is_global":"yes"}`, 400, validation("invalid_input", "Must be true or false, not a string.", "is_global")},
			{"not a choice", r.key, "POST", invites, `{"target_email":"a@x.example","level":2}`, 400, validation("invalid_choice", "Must be 1 (member), 8 (admin) or 15 (owner).", "level")},
			{"twice in bulk", r.key, "POST", invites + "bulk", `[{"target_email":"a@x.example"},{"target_email":" A@X.example "}]`, 400, validation("unique", "Appears twice in this request.", "1.target_email")},
			{"upstream", r.key, "POST", apps, `{"plugin_type":"custom","url":"http://nowhere.invalid/a.git"}`, 502, faultBody("server_error", "upstream_unavailable", "nowhere.invalid does not resolve.", "null")},
			{"limit", r.key, "GET", apps + "?limit=1e3", "", 400, validation("invalid_input", "Must be a whole number, 1 or more.", "limit")},
			{"after", r.key, "GET", apps + "?after=0.x", "", 400, validation("invalid_input", "Must be as it is in the url of a next page.", "after")},
			{"after an invite", r.key, "GET", invites + "?after=0.9223372036854775807.01a1f900-0000-7000-8000-000000000001", "", 400, validation("invalid_input", "Must be as it is in the url of a next page.", "after")},
			{"offset", r.key, "GET", invites + "?offset=-1", "", 400, validation("invalid_input", "Must be a whole number, 0 or more.", "offset")},
		} {
			got := r.send(c.key, c.method, c.path, c.body)
			r.compare(c.name, got, c.status, c.want)
			challenge := ""
			switch c.want {
			case unauthenticated:
				challenge = "Bearer"
			case failed:
				challenge = `Bearer error="invalid_token"`
			case needsPluginWrite:
				challenge = `Bearer error="insufficient_scope", scope="plugin:write"`
			}
			if sent := got.header.Get("WWW-Authenticate"); sent != challenge {
				r.t.Errorf("%s: WWW-Authenticate: %q, want %q", c.name, sent, challenge)
			}
			if (got.header.Get("Allow") != "") != (c.status == 405) {
				r.t.Errorf("%s: Allow: %q", c.name, got.header.Get("Allow"))
			}
		}
		for _, route := range r.api.Routes() {
			if route.Method == "POST" || route.Method == "PATCH" {
				path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(strings.Replace(route.Path, "{organization_id}", "@current", 1), "1")
				got := r.send(r.key, route.Method, path, "name=x", "Content-Type", "application/x-www-form-urlencoded")
				types := "application/json"
				if strings.HasSuffix(path, "/invites/bulk") {
					types += " or text/csv"
				}
				r.compare(path, got, 415, invalidRequest("unsupported_media_type", "The Content-Type must be "+types+"."))
				if accepted := got.header.Get("Accept-Patch"); (accepted == "application/json") != (route.Method == "PATCH") {
					r.t.Errorf("%s %s: Accept-Patch: %q", route.Method, path, accepted)
				}
			}
		}
		compressed := r.send(r.key, "PATCH", apps+"1", "\x1f\x8b", "Content-Encoding", "gzip")
		r.compare("compressed", compressed, 415, invalidRequest("unsupported_media_type", "The body must not be compressed: send it without Content-Encoding."))
		if accepted := compressed.header.Get("Accept-Patch"); accepted != "application/json" {
			r.t.Errorf("compressed: Accept-Patch: %q", accepted)
		}
		r.wantParts(r.key, "GET", apps, "", 200, `{"count":0,`) // refused requests have left something
	})
}

// All faults of a body are reported at once, in the order of the contract.
func TestEveryFaultIsTold(t *testing.T) {
	each(t, func(r *rig) {
		got := r.send(r.key, "POST", apps, `{"public_jobs":1,"icon":[],"plugin_type":"x","description":"`+strings.Repeat("x", 10_001)+`"}`)
		const want = `plugin_type invalid_choice|name required|description max_length|icon invalid_input|public_jobs invalid_input`
		if told := faultsOf(got.body); told != want || got.status != 400 {
			r.t.Errorf("got %d %s, want %s", got.status, told, want)
		}
		got = r.send(r.key, "POST", invites+"bulk", `[{"target_email":"a@x.example"},{"level":"boss","first_name":"www.evil.example"},{"target_email":null}]`)
		const wantBulk = `1.target_email required|1.first_name invalid_input|1.level invalid_choice|2.target_email null`
		if told := faultsOf(got.body); told != wantBulk || got.status != 400 {
			r.t.Errorf("got %d %s, want %s", got.status, told, wantBulk)
		}
		for _, c := range []struct{ method, path, body, want string }{
			{"POST", invites + "bulk", `[{"target_email":"bad"},5,{"level":2}]`, "0.target_email invalid_input|1 invalid_input|2.target_email required|2.level invalid_choice"},
			{"POST", invites, `{"target_email":" ","message":"` + strings.Repeat("x", 5001) + `","send_email":null}`, "target_email blank|message max_length|send_email null"},
			{"PATCH", apps + "1/update_source", `{"source":5,"name":7,"is_global":"x"}`, "name invalid_input|is_global invalid_input|source invalid_input"},
			{"GET", apps + "activity?limit=x&app=y&user=z", "", "limit invalid_input|app invalid_input|user invalid_input"},
			{"POST", apps, `{"plugin_type":"custom","url":"ftp://x.example","name":7}`, "url invalid_input|name invalid_input"},
			{"GET", "/api/users/@me/keys?limit=x&offset=y", "", "limit invalid_input|offset invalid_input"},
			{"GET", apps + "1/upgrade?tag=%00&version=x&accept_changed=y", "", "tag invalid_input|accept_changed invalid_input|version invalid_input"},
			{"GET", apps + "1/health?site=x&since=y", "", "site invalid_input|since invalid_input"},
			{"POST", apps + "1/versions/1/withdraw", `{"reason":" ","version":0}`, "reason blank|version invalid_input"},
			{"POST", "/api/users/@me/keys", `{"scopes":[],"name":" ","expires_at":"soon"}`, "scopes required|name blank|expires_at invalid_input"},
			{
				"PATCH", "/api/organizations/@current", `{"name":" ","members_can_invite":1,"allowed_domains":["a b"],"invite_ttl":5}`,
				"members_can_invite invalid_input|name blank|invite_ttl invalid_input|allowed_domains invalid_input",
			},
		} {
			if got := r.send(r.key, c.method, c.path, c.body); faultsOf(got.body) != c.want || got.status != 400 {
				r.t.Errorf("%s %s: got %d %s, want %s", c.method, c.path, got.status, faultsOf(got.body), c.want)
			}
		}
	})
}

// faultsOf lists attr and code of each fault in an error body.
func faultsOf(body string) string {
	_, list, _ := strings.Cut(body, `"errors":[`)
	var all []string
	for _, f := range strings.Split(list, "},{") {
		all = append(all, between(f, `"attr":"`, `"`)+" "+between(f, `"code":"`, `"`))
	}
	return strings.Join(all, "|")
}

func TestThrottling(t *testing.T) {
	each(t, func(r *rig) {
		limited := *r.api
		limited.RateLimit = 3
		url := r.serve(&limited)
		now := time.Now().UTC()
		r.db.Now = func() time.Time { return now }
		for left := range 3 {
			got := r.sendTo(url, r.key, "GET", apps, "")
			want := fmt.Sprintf(`"default";r=%d;t=%d`, 2-left, 20*(left+1))
			if got.status != 200 || got.header.Get("RateLimit") != want || got.header.Get("RateLimit-Policy") != `"default";q=3;w=60` {
				r.t.Errorf("request %d: %d %v", left, got.status, got.header)
			}
		}
		got := r.sendTo(url, r.key, "POST", apps, "{")
		r.compare("one too many", got, 429, faultBody("throttled_error", "throttled", "At most 3 requests a minute: try again later.", "null"))
		if got.header.Get("Retry-After") != "20" {
			r.t.Errorf("Retry-After: %q", got.header.Get("Retry-After"))
		}
		if got := r.sendTo(url, r.newKey(r.owner, "*"), "GET", apps, ""); got.status != 429 {
			r.t.Errorf("another key of the same user: %d %s", got.status, got.body)
		}
		if got := r.sendTo(url, r.otherKey, "GET", "/api/organizations/@current/invites", ""); got.status != 200 {
			r.t.Errorf("another user: %d %s", got.status, got.body)
		}
		now = now.Add(20 * time.Second)
		if got := r.sendTo(url, r.key, "GET", apps, ""); got.status != 200 {
			r.t.Errorf("after the pause: %d %s", got.status, got.body)
		}
	})
}

func TestThrottlingWithoutKey(t *testing.T) {
	each(t, func(r *rig) {
		now := time.Now().UTC()
		r.db.Now = func() time.Time { return now }
		for range 600 {
			r.wantStatus("", "GET", apps, "", 401)
		}
		got := r.send(access.NewKey(), "GET", apps, "", "X-Forwarded-For", "192.0.2.1")
		r.compare("one too many", got, 429, faultBody("throttled_error", "throttled", "At most 600 requests a minute: try again later.", "null"))
		r.wantStatus(r.key, "GET", apps, "", 200) // with a key
	})
}

// An internal error is not shown, but logged with the id of the request.
func TestInternalError(t *testing.T) {
	each(t, func(r *rig) {
		var log strings.Builder
		url := r.serveLogged(&log)
		if got := r.sendTo(url, r.key, "GET", apps+"activity", ""); got.status != 200 {
			r.t.Fatal(got.body)
		}
		dbtest.Exec(r.t, r.db, `ALTER TABLE activity RENAME TO gone`) // on PostgreSQL other tables refer to it
		got := r.sendTo(url, r.key, "GET", apps+"activity?app=1", "", "X-Request-Id", "my-id.1")
		r.compare("broken", got, 500, faultBody("server_error", "error", "Something went wrong on our side.", "null"))
		for _, want := range []string{"request_id=my-id.1", "activity"} {
			if !strings.Contains(log.String(), want) {
				r.t.Errorf("the log does not say %s: %s", want, log.String())
			}
		}
		if strings.Contains(log.String(), r.key) {
			r.t.Error("the log has the key")
		}
	})
}

func TestRequestID(t *testing.T) {
	each(t, func(r *rig) {
		made := map[string]bool{}
		for sent, kept := range map[string]bool{
			"a": true, "AZ-az_0.9": true, strings.Repeat("x", 128): true,
			"": false, strings.Repeat("x", 129): false, "a b": false, "ä": false, "a;b": false, r.key: false, "x-" + strings.ToUpper(r.key): false,
		} {
			got := r.send("", "GET", "/nope", "", "X-Request-Id", sent).header.Get("X-Request-Id")
			if kept != (got == sent) || !regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`).MatchString(got) || made[got] {
				r.t.Errorf("%q became %q", sent, got)
			}
			made[got] = true
		}
	})
}

// No input, however odd, gets a server error.
func TestHostileInput(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"name":"x"}`)
		bodies := []string{
			"\x00", "{\"name\":\"\x00\"}", `{"name":"\u0000"}`, "\xff\xfe", `{"name":"\ud800"}`, `{"name":1e999}`, `{"level":1e999999}`,
			`{"target_email":"a@` + strings.Repeat("x", 70) + `.example"}`, `{"target_email":"a@xn--.example"}`, `{"target_email":"` + strings.Repeat("@", 300) + `"}`,
			strings.Repeat(`{"a":`, 5000), strings.Repeat("[", 1<<20), `{"` + strings.Repeat("a", 1<<19) + `":1}`, `{"config_schema":"\u0000"}`,
			`{"name":"` + strings.Repeat("x", 2<<20) + `"}`, `null`, `[null]`, `[[]]`, `[{}]`, `{"is_global":null}`, `{"tag":"\u202e\u0007"}`,
		}
		paths := []string{apps, apps + id, invites, invites + "bulk", apps + id + "/update_source", apps + id + "/upgrade"}
		for _, path := range paths {
			for _, body := range bodies {
				for _, method := range []string{"POST", "PATCH"} {
					if got := r.send(r.key, method, path, body); got.status >= 500 || got.status < 200 {
						r.t.Errorf("%s %s %.60q: %d %s", method, path, body, got.status, got.body)
					}
				}
			}
		}
		for _, path := range []string{
			apps + "%00", apps + "%ff", apps + "9223372036854775808", apps + "-1", invites + "%00", invites + "'--", apps + "?limit=%00", apps + "?offset=1e3",
			apps + "activity?user=%00", "/activity?item_id=%00", "/activity?item_id=%ff", apps + id + "/upgrade?tag=%00", apps + id + "/upgrade?tag=%ff", apps + "activity?app=%ff", apps + "?offset=99999999999999999999", "//x", "/./invites", "/../x",
		} {
			for _, method := range []string{"GET", "DELETE"} {
				if got := r.send(r.key, method, path, ""); got.status >= 500 || got.status >= 300 && got.status < 400 {
					r.t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
				}
			}
		}
	})
}

func TestExpiredLink(t *testing.T) {
	each(t, func(r *rig) {
		link := r.send(r.key, "POST", invites+r.invite("a@x.example")+"/link", "")
		_, token, _ := strings.Cut(between(link.body, `"url":"`, `"`), "/invite/")
		late := r.db.Now().Add(72 * time.Hour)
		r.db.Now = func() time.Time { return late }
		want := invalidRequest("expired", "The invitation has expired: ask its sender to send it again.")
		for _, method := range []string{"GET", "POST", "DELETE"} {
			r.compare(method, r.send("", method, "/api/signup/"+token, ""), 410, want)
		}
	})
}

// An unreadable catalog is reported as an upstream's failure.
func TestCatalogUnavailable(t *testing.T) {
	each(t, func(r *rig) {
		log := slog.New(slog.DiscardHandler)
		r.api.Plugins.Catalog = upstream.NewCatalog("https://127.0.0.1:1/c.json", egress.New(nil), log, r.db.Now)
		r.url = r.serve(r.api)
		r.want("GET", apps+"repository", "", 502, faultBody("server_error", "upstream_unavailable", "The catalog cannot be read now.", "null"))
	})
}
