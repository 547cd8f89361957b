package api_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
)

func TestSignup(t *testing.T) {
	each(t, func(r *rig) {
		id := between(r.send(r.key, "POST", "/invites", `{"target_email":"ada@x.example","first_name":"Ada","level":"admin"}`).body, `{"id":"`, `"`)
		link := r.wantStatus(r.key, "POST", "/invites/"+id+"/link", "", 200)
		if link.header.Get("Cache-Control") != "no-store" {
			r.t.Error("the link may be cached")
		}
		expires := between(link.body, `"expires_at":"`, `"`)
		path := "/api/signup/" + between(link.body, baseURL+"/invite/", `"`)
		r.compare("look", r.send("", "GET", path, ""), 200, `{"target_email":"ada@x.example","first_name":"Ada","organization_name":"Acme","level":8,`+
			`"invited_by":{"first_name":"","last_name":"","email":"owner@acme.example"},"expires_at":"`+expires+`"}`)
		r.wantStatus("", "POST", path, `{"last_name":5}`, 400)
		got := r.wantStatus("", "POST", path+"/", `{"last_name":"Lovelace"}`, 201)
		for _, want := range []string{
			`"first_name":"Ada","last_name":"Lovelace","email":"ada@x.example","is_email_verified":false`, `"organization":{"id":"` + r.org.ID + `","name":"Acme","level":8,`,
			`"members_can_invite":true`, `},"level":8,"api_key":"foy_`,
		} {
			if !strings.Contains(got.body, want) {
				r.t.Errorf("%s lacks %s", got.body, want)
			}
		}
		key := between(got.body, `"api_key":"`, `"`)
		r.wantStatus(key, "GET", "/members", "", 200)
		r.wantStatus(key, "POST", "/pipeline_frontend_apps", `{"name":"a"}`, 201)
		for _, method := range []string{"GET", "POST", "DELETE"} {
			r.compare("used", r.send("", method, path, ""), 404, notFound)
		}
		r.wantStatus("", "PATCH", path, "", 405)
		for _, method := range []string{"GET", "POST", "DELETE", "PATCH", "OPTIONS"} {
			if h := r.send("", method, path, "").header; h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "no-referrer" {
				r.t.Errorf("%s: %v", method, h)
			}
		}
	})
}

func TestDeclineNeedsNoKey(t *testing.T) {
	each(t, func(r *rig) {
		path := "/api/signup/" + r.token(r.invite("ada@x.example"))
		r.wantStatus("", "DELETE", path, "", 204)
		r.compare("declined", r.send("", "GET", path, ""), 404, notFound)
		r.wantParts(r.key, "GET", "/invites", "", 200, `"count":0`)
	})
}

func TestResendOverHTTP(t *testing.T) {
	each(t, func(r *rig) {
		id := r.invite("ada@x.example")
		token := r.token(id)
		got := r.wantStatus(r.key, "POST", "/invites/"+strings.ToUpper(id)+"/resend/", "", 200)
		if !strings.HasPrefix(got.body, `{"id":"`+id+`"`) {
			r.t.Error(got.body)
		}
		r.wantStatus("", "GET", "/api/signup/"+token, "", 404)
		member := r.newKey(r.join(r.org, "m@acme.example", access.Member), "*")
		r.wantStatus(member, "POST", "/invites/"+id+"/resend", "", 403)
		r.wantStatus(member, "POST", "/invites/"+id+"/link", "", 403)
		r.wantStatus(r.key, "POST", "/invites/%00/resend", "", 404)
		r.wantStatus(r.otherKey, "POST", "/api/organizations/"+r.other.ID+"/invites/"+id+"/link", "", 404)
	})
}

// Many people read a log, and a token grants access.
func TestTokensAreNotLogged(t *testing.T) {
	each(t, func(r *rig) {
		var log bytes.Buffer
		r.api.Log = slog.New(slog.NewJSONHandler(&log, nil))
		token := r.token(r.invite("ada@x.example"))
		for _, before := range []string{
			"/api/signup/", "/api/SIGNUP/", "/api/x//signup/", "/api/signup2/", "/api/%73ignup/", "/api/%2573ignup/", "/api/ſignup/",
			"/api/invites/", "/api/organizations/" + r.org.ID + "/invites/", "/api/Ⱥ/signup/", "/api/" + strings.Repeat("Ⱥ", 90) + "/signup/", "/api/invite;x/", "/api/invite%20/",
			"/api/signup%2f", "/api/",
		} {
			for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
				r.send("", method, before+token, "")
				r.send("", method, before+token+"/x", "")
			}
		}
		if text := log.String(); !strings.Contains(text, "/api/signup/{token}") || strings.Contains(text, token) {
			r.t.Error(text)
		}
	})
}

// A key that somebody pasted into a path is not logged.
func TestKeysAreNotLogged(t *testing.T) {
	each(t, func(r *rig) {
		var log bytes.Buffer
		r.api.Log = slog.New(slog.NewJSONHandler(&log, nil))
		for _, path := range []string{"/api/users/@me/keys/" + r.key, "/api/organizations/" + r.key, apps + r.key + "/", apps + "x" + r.key, "/api/" + r.key} {
			r.send(r.key, "DELETE", path, "")
		}
		if text := log.String(); !strings.Contains(text, "/api/users/@me/keys/{id}") || strings.Contains(text, r.key) {
			r.t.Error(text)
		}
	})
}

// Requests without a key may not send bodies of a megabyte.
func TestSignupTakesSmallBodies(t *testing.T) {
	each(t, func(r *rig) {
		path := "/api/signup/" + strings.Repeat("A", 64)
		r.wantStatus("", "POST", path, `{"first_name":"`+strings.Repeat("x", 64<<10)+`"}`, 413)
		r.wantStatus("", "POST", path, `{"first_name":"`+strings.Repeat("x", 60<<10)+`"}`, 400) // a body is checked before its object
	})
}

func TestPeersAreLimited(t *testing.T) {
	each(t, func(r *rig) {
		now := r.db.Now()
		r.db.Now = func() time.Time { return now }
		path := "/api/signup/" + strings.Repeat("A", 64)
		for range 600 {
			if got := r.send("", "GET", path, ""); got.status == http.StatusTooManyRequests {
				r.t.Fatal("too early")
			}
		}
		if got := r.wantStatus("", "GET", path, "", 429); got.header.Get("Retry-After") == "" {
			r.t.Error("does not say when to try again")
		}
	})
}

// Requests for sign-in links are counted, though each answer is the same.
func TestSignInIsCounted(t *testing.T) {
	each(t, func(r *rig) {
		now := r.db.Now()
		r.db.Now = func() time.Time { return now }
		for _, left := range []string{"r=599;", "r=598;"} {
			got := r.wantStatus("", "POST", "/api/signin", `{"email":"owner@acme.example"}`, 202)
			if !strings.Contains(got.header.Get("RateLimit"), left) {
				r.t.Errorf("%s, want %s", got.header.Get("RateLimit"), left)
			}
		}
	})
}

func TestMembers(t *testing.T) {
	each(t, func(r *rig) {
		admin, member := r.join(r.org, "admin@acme.example", access.Admin), r.join(r.org, "member@acme.example", access.Member)
		adminKey, memberKey := r.newKey(admin, "*"), r.newKey(member, "*")
		at := func(m org.Membership) string { return "/members/" + m.User.UUID }

		r.wantParts(memberKey, "GET", "/members/?limit=1&offset=1", "", 200, `{"count":3,"next":"`+baseURL, `"results":[{"id":"`+admin.User.UUID+`","user":{"id":`)
		r.wantStatus(memberKey, "PATCH", at(member), `{"level":8}`, 403)
		r.wantStatus(memberKey, "DELETE", at(admin), "", 403)
		r.wantStatus(adminKey, "PATCH", at(r.owner), `{"level":1}`, 403)
		r.wantStatus(adminKey, "DELETE", at(r.owner), "", 403)
		r.wantStatus(adminKey, "PATCH", at(member), `{"level":"owner"}`, 403)
		r.wantStatus(adminKey, "PATCH", at(admin), `{"level":15}`, 403)
		r.wantStatus(adminKey, "PATCH", at(member), `{"level":7}`, 400)
		r.wantStatus(adminKey, "PATCH", at(member), `{"level":null}`, 400)
		r.wantStatus(adminKey, "PATCH", at(member), ``, 200)
		r.wantParts(adminKey, "PATCH", at(member), `{"level":"admin"}`, 200, `"level":8`)
		r.wantStatus(memberKey, "PATCH", at(member), `{"level":1}`, 200)
		r.wantStatus(r.key, "PATCH", at(r.owner), `{"level":8}`, 403)
		r.wantStatus(r.key, "DELETE", at(r.owner), "", 403)
		r.wantStatus(memberKey, "DELETE", at(member), "", 204)
		r.wantStatus(memberKey, "GET", "/members", "", 404)
		r.wantStatus(r.key, "DELETE", at(member), "", 404)
		r.wantStatus(r.key, "DELETE", "/members/nobody", "", 404)
		r.wantStatus(r.key, "DELETE", at(admin), "", 204)
	})
}

// A user's level in one organization neither counts nor changes in another.
func TestMemberOfTwoOrganizations(t *testing.T) {
	each(t, func(r *rig) {
		eve, bob := r.join(r.other, "eve@x.example", access.Owner), r.join(r.other, "bob@x.example", access.Member)
		r.join(r.org, "eve@x.example", access.Member)
		r.join(r.other, "owner@acme.example", access.Member)
		here, there := "/api/organizations/"+r.org.ID+"/members/", "/api/organizations/"+r.other.ID+"/members/"
		before := r.wantStatus(r.otherKey, "GET", there, "", 200)

		r.wantStatus(r.newKey(eve, "*"), "PATCH", here+r.owner.User.UUID, `{"level":1}`, 403)
		r.wantStatus(r.key, "PATCH", there+bob.User.UUID, `{"level":8}`, 403)
		r.wantStatus(r.key, "PATCH", here+bob.User.UUID, `{"level":8}`, 404)
		r.wantStatus(r.key, "DELETE", here+bob.User.UUID, "", 404)
		if _, err := r.orgs.SetLevel(r.t.Context(), r.org.ID, bob.User.Email, access.Admin); !fault.Is(err, fault.NotFound) {
			r.t.Errorf("set the level of no member: %v", err)
		}
		if _, err := r.orgs.RemoveMember(r.t.Context(), r.org.ID, bob.User.Email); !fault.Is(err, fault.NotFound) {
			r.t.Errorf("remove no member: %v", err)
		}
		r.wantStatus(r.key, "PATCH", here+eve.User.UUID, `{"level":8}`, 200)
		r.wantStatus(r.key, "DELETE", here+eve.User.UUID, "", 204)
		r.compare("the members there", r.send(r.otherKey, "GET", there, ""), 200, before.body)
	})
}

func TestOrganizationsAndSelf(t *testing.T) {
	each(t, func(r *rig) {
		if _, err := r.api.Invites.AddMember(r.t.Context(), r.other.ID, "owner@acme.example", access.Member); err != nil {
			r.t.Fatal(err)
		}
		one := `{"id":"` + r.org.ID + `","name":"Acme","level":15,"access_level":9,"members_can_invite":true,"members_can_manage_apps":false,"allowed_domains":[],"created_at":"` +
			r.org.CreatedAt.Format("2006-01-02T15:04:05.000000Z") + `","invite_ttl":null}`
		r.want("GET", "/api/organizations/@current", "", 200, one)
		all := r.wantStatus(r.key, "GET", "/api/organizations/", "", 200)
		if !strings.HasPrefix(all.body, `{"count":2,"next":null,"previous":null,"results":[`+one+`,{"id":"`+r.other.ID+`","name":"Other","level":1`) {
			r.t.Error(all.body)
		}
		r.wantStatus(r.otherKey, "GET", "/api/organizations/"+r.org.ID, "", 404)
		r.wantParts(r.key, "GET", "/api/users/@me", "", 200, `"email":"owner@acme.example"`)
	})
}

func TestOwnKeys(t *testing.T) {
	each(t, func(r *rig) {
		const keys = "/api/users/@me/keys"
		made := r.wantParts(r.key, "POST", keys, `{"scopes":["plugin:read"],"organization_id":"`+r.org.ID+`","expires_at":"2100-01-01T00:00:00Z"}`, 201, `"scopes":["plugin:read"],"organization_id":"`+r.org.ID+`","created_at":"`, `"expires_at":"2100-01-01T00:00:00.000000Z"`)
		told := `"field":"expires_at","before":null,"after":"2100-01-01T00:00:00.000000Z"`
		r.wantParts(r.key, "GET", "/activity?scope=Key", "", 200, told)
		bound := between(made.body, `"key":"`, `"`)
		r.wantStatus(bound, "GET", "/pipeline_frontend_apps", "", 200)
		r.wantStatus(bound, "GET", "/invites", "", 403)
		if list := r.wantStatus(bound, "GET", keys, "", 200); !strings.Contains(list.body, `{"count":1,`) || strings.Contains(list.body, bound) {
			r.t.Error(list.body)
		}
		r.wantStatus(r.key, "POST", keys, `{"scopes":["plugin:read"],"organization_id":"`+r.other.ID+`"}`, 400)
		for body, status := range map[string]int{
			`{"scopes":["*"]}`: 403, `{"scopes":["plugin:write"]}`: 403, `{"scopes":["plugin:read"],"organization_id":"` + r.other.ID + `"}`: 400,
			`{"scopes":["plugin:read"],"expires_at":"2101-01-01T00:00:00Z"}`: 403, `{"scopes":["plugin:read"],"expires_at":"2001-01-01T00:00:00Z"}`: 400,
			`{"scopes":["plugin:read"],"expires_at":"0001-01-01T00:00:00Z"}`: 400, `{"scopes":["plugin:read"],"expires_at":"soon"}`: 400,
			`{"scopes":["plugin:read"],"expires_at":4102444800}`: 400, `{"scopes":["plugin:read"],"organization_id":1}`: 400,
			`{}`: 400, `{"scopes":null}`: 400, `{"scopes":[]}`: 400, `{"scopes":"*"}`: 400,
			`{"scopes":["plugin:read"],"expires_at":"9999-12-31T23:59:59-05:00"}`: 400, `{"scopes":["*",1]}`: 400, `{"scopes":["all"]}`: 400,
		} {
			r.wantStatus(bound, "POST", keys, body, status)
		}
		heir := r.wantParts(bound, "POST", keys, `{"scopes":["plugin:read"]}`, 201, `"organization_id":"`+r.org.ID+`"`, `"expires_at":"2100-01-01`)
		id := between(made.body, `{"id":`, ",")
		heirID := between(heir.body, `{"id":`, ",")
		brief := between(r.wantStatus(bound, "POST", keys, `{"scopes":["plugin:read"],"expires_at":"2099-01-01T00:00:00Z"}`, 201).body, `"key":"`, `"`)
		other := between(r.wantStatus(r.key, "POST", keys, `{"scopes":["organization_member:read"],"expires_at":null}`, 201).body, `"key":"`, `"`)
		for _, narrow := range []string{brief, other} {
			r.wantStatus(narrow, "DELETE", keys+"/"+heirID, "", 403)
		}
		r.wantStatus(bound, "DELETE", keys+"/"+heirID, "", 204)
		r.wantStatus(r.otherKey, "DELETE", keys+"/"+id, "", 404)
		r.wantStatus(r.key, "DELETE", keys+"/x", "", 404)
		r.wantStatus(r.key, "DELETE", keys+"/"+id, "", 204)
		r.wantStatus(bound, "GET", keys, "", 401)
	})
}

// A request for a link gets the same answer for every address.
func TestSignInAnswers(t *testing.T) {
	each(t, func(r *rig) {
		for range 7 { // even over the limit
			for _, email := range []string{"owner@acme.example", "nobody@acme.example"} {
				r.compare(email, r.send("", "POST", "/api/signin", `{"email":"`+email+`"}`), http.StatusAccepted, "{}")
			}
		}
		for _, body := range []string{`{}`, `{"email":null}`, `{"email":5}`, `{"email":"nobody"}`} {
			r.wantParts("", "POST", "/api/signin", body, 400, `"attr":"email"`)
		}
	})
}
