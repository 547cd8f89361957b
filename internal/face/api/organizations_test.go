package api_test

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
)

// A new name replaces the old one everywhere, even on servers that have cached the old one.
func TestRenamedOrganization(t *testing.T) {
	each(t, func(r *rig) {
		shared := apps + r.app(`{"name": "Shared", "is_global": true}`)
		token := r.token(r.invite("ada@x.example"))
		others := "/api/organizations/" + r.other.ID + apps
		elsewhere := *r.api // another server
		elsewhere.Keys = access.NewKeys(r.db)
		elsewhere.Plugins, elsewhere.Invites.Keys, elsewhere.Invites.Cache = newApps(t, r.db), elsewhere.Keys, invite.NewCache()
		elsewhere.Organizations.Keys = elsewhere.Keys
		theirs := r.serve(&elsewhere)

		shows := func(name, not string) {
			r.t.Helper()
			for _, url := range []string{r.url, theirs} {
				for _, read := range [][2]string{
					{r.key, shared},
					{r.key, apps},
					{r.otherKey, strings.Replace(shared, apps, others, 1)},
					{r.otherKey, others},
					{r.key, apps + "repository"},
					{r.key, apps + "unused"},
					{r.key, "/api/organizations"},
					{r.key, "/api/organizations/@current"},
					{"", "/api/signup/" + token},
				} {
					got := r.sendTo(url, read[0], "GET", read[1], "")
					if got.status != http.StatusOK || !strings.Contains(got.body, name) || strings.Contains(got.body, not) {
						r.t.Errorf("GET %s: %d %s; want %s", read[1], got.status, got.body, name)
					}
				}
			}
		}
		shows("Acme", "Renamed")
		r.set(org.Settings{Name: new(" Renamed\t")})
		now := r.db.Now
		r.db.Now = func() time.Time { return now().Add(2 * time.Second) }
		for _, url := range []string{r.url, theirs} {
			got := r.sendTo(url, r.key, "PATCH", shared, `{"description": "by `+url+`"}`)
			if got.status != http.StatusOK || !strings.Contains(got.body, `"organization_name":"Renamed"`) {
				r.t.Errorf("PATCH: %d %s", got.status, got.body)
			}
		}
		shows("Renamed", "Acme")
	})
}

// A UUID may be sent in upper case (RFC 9562).
func TestOrganizationIDInUpperCase(t *testing.T) {
	each(t, func(r *rig) {
		upper := strings.ToUpper(r.org.ID)
		for _, path := range []string{"", "/invites", "/pipeline_frontend_apps/"} {
			r.wantStatus(r.key, "GET", "/api/organizations/"+upper+path, "", 200)
		}
		r.compare("not one's own", r.send(r.otherKey, "GET", "/api/organizations/"+upper, ""), 404, notFound)
		r.wantParts(r.key, "POST", "/api/users/@me/keys", `{"scopes": ["*"], "organization_id": "`+upper+`"}`, 201, `"organization_id":"`+r.org.ID+`"`)
		key, _, err := r.keys.Create(r.t.Context(), access.Draft{UserID: r.owner.User.ID, Scope: access.All, OrganizationID: upper})
		if err != nil || key.OrganizationID != r.org.ID {
			r.t.Errorf("%+v, %v", key, err)
		}
		if o, err := r.orgs.Set(r.t.Context(), access.Caller{}, upper, org.Settings{}); err != nil || o.ID != r.org.ID {
			r.t.Errorf("%+v, %v", o, err)
		}
		if all, err := r.orgs.Members(r.t.Context(), upper); err != nil || len(all) != 1 {
			r.t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestChangeOrganization(t *testing.T) {
	each(t, func(r *rig) {
		const here = "/api/organizations/@current"
		admin := r.newKey(r.join(r.org, "admin@acme.example", access.Admin), "*")
		r.wantStatus(admin, "PATCH", here, `{"name":"Mine"}`, 403)
		r.wantStatus(r.newKey(r.owner, "organization_member:write"), "PATCH", here, `{"name":"Mine"}`, 403)
		before := r.wantStatus(r.key, "GET", here, "", 200).body
		for _, body := range []string{
			`{"name":""}`, `{"name":null}`, `{"name":5}`, `{"members_can_invite":"yes"}`, `{"allowed_domains":["no domain"]}`, `{"allowed_domains":null}`,
			`{"invite_ttl":59}`, `{"invite_ttl":0}`, `{"invite_ttl":"60"}`, `{"invite_ttl":60.5}`, `{"invite_ttl":1e99}`, `{"invite_ttl":259201}`,
			`{"name":"Good","invite_ttl":-1}`,
		} {
			r.wantStatus(r.key, "PATCH", here, body, 400)
		}
		all := r.wantStatus(r.key, "PATCH", here, `{"name":"","allowed_domains":["x.example","no domain","nor this"],"invite_ttl":-1}`, 400).body
		for _, attr := range []string{"name", "allowed_domains", "invite_ttl"} {
			if !strings.Contains(all, `"attr":"`+attr+`"`) {
				r.t.Errorf("nothing is said of %s: %s", attr, all)
			}
		}
		domains := func(n int) string {
			return `{"allowed_domains":["x.example"` + strings.Repeat(`,"x.example"`, n-1) + `]}`
		}
		r.wantParts(r.key, "PATCH", here, domains(1001), 400, `"code":"max_length","detail":"At most 1000 domains fit, not 1001.","attr":"allowed_domains"`)
		r.compare("what was refused", r.send(r.key, "GET", here, ""), 200, before)
		r.wantStatus(r.key, "PATCH", here, domains(1000), 200)

		got := r.wantStatus(r.key, "PATCH", here, `{"name":" Acme & Co ","members_can_invite":false,"members_can_manage_apps":true,"allowed_domains":["X.example"],"invite_ttl":60}`, 200)
		if !strings.Contains(got.body, `"name":"Acme & Co"`) || !strings.Contains(got.body, `"members_can_invite":false,"members_can_manage_apps":true,"allowed_domains":["x.example"]`) ||
			!strings.HasSuffix(got.body, `"invite_ttl":60}`) {
			r.t.Error(got.body)
		}
		r.compare("what is stored", r.send(r.key, "GET", here, ""), 200, got.body)
		r.wantStatus(r.key, "POST", invites, `{"target_email":"a@y.example"}`, 400)
		id := r.invite("a@x.example")
		now := r.db.Now().Add(time.Minute)
		r.db.Now = func() time.Time { return now }
		r.wantParts(r.key, "GET", invites, "", 200, `"id":"`+id, `"is_expired":true`) // it lives longer than its organization says
		r.api.Organizations.MaxInviteTTL = 30 * time.Second                           // as after a restart with another FOYER_INVITE_TTL
		read := r.wantStatus(r.key, "GET", here, "", 200).body
		r.compare("what is sent back as it was read", r.send(r.key, "PATCH", here, read), 200, read)
		r.wantStatus(r.key, "PATCH", here, `{"invite_ttl":61}`, 400)
		if got := r.wantStatus(r.key, "PATCH", here, `{"invite_ttl":null}`, 200); !strings.HasSuffix(got.body, `"invite_ttl":null}`) {
			r.t.Error(got.body)
		}
	})
}

func TestKeysOfMembers(t *testing.T) {
	each(t, func(r *rig) {
		admin, member := r.join(r.org, "admin@acme.example", access.Admin), r.join(r.org, "member@acme.example", access.Member)
		adminKey, memberKey := r.newKey(admin, "*"), r.newKey(member, "*")
		const self = "/api/users/@me/keys"
		bound := r.wantStatus(memberKey, "POST", self, `{"scopes":["plugin:read"],"organization_id":"`+r.org.ID+`","name":"reports"}`, 201).body
		r.join(r.other, "member@acme.example", access.Member)
		there := r.wantStatus(memberKey, "POST", self, `{"scopes":["plugin:read"],"organization_id":"`+r.other.ID+`"}`, 201).body
		id := func(body string) string { return between(body, `"id":`, ",") }

		r.wantStatus(memberKey, "GET", "/keys", "", 403)
		list := r.wantStatus(adminKey, "GET", "/keys", "", 200).body
		want := `"name":"reports","prefix":"` + between(bound, `"key":"`, `"`)[:12] + `","user":{"uuid":"` + member.User.UUID + `","email":"member@acme.example"}}`
		if !strings.HasPrefix(list, `{"count":3,`) || !strings.Contains(list, want) || strings.Contains(list, "owner@acme") || strings.Contains(list, `"id":`+id(there)+`,`) {
			r.t.Errorf("not the keys that an admin may see here: %s", list)
		}
		r.wantParts(r.key, "GET", "/keys", "", 200, "owner@acme.example")
		r.wantStatus(memberKey, "GET", "/members", "", 200)
		boundKey := between(bound, `"key":"`, `"`)
		r.wantStatus(boundKey, "GET", "/pipeline_frontend_apps", "", 200)
		if err := r.keys.FlushUse(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		unused := r.newKey(member, "*")
		used := r.wantStatus(r.key, "GET", "/keys", "", 200).body
		elsewhere := r.wantStatus(r.otherKey, "GET", "/api/organizations/"+r.other.ID+"/keys", "", 200).body
		for _, key := range []struct {
			text, of string
			used     bool
		}{{memberKey, used, true}, {memberKey, elsewhere, false}, {boundKey, used, true}, {unused, used, false}} {
			lines := strings.Split(key.of, `{"id":`)
			i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"prefix":"`+key.text[:12]+`"`) })
			if i < 0 || strings.Contains(lines[i], `"last_used_at":null`) == key.used {
				r.t.Errorf("used here is %t, where the member has used the keys in one organization: %s", key.used, key.of)
			}
		}
		r.wantStatus(adminKey, "DELETE", "/keys/"+id(there), "", 404)
		r.wantStatus(adminKey, "DELETE", "/keys/0", "", 404)
		unbound := between(list, `"id":`, ",")
		r.wantStatus(adminKey, "DELETE", "/keys/"+unbound, "", 403)
		r.wantStatus(adminKey, "DELETE", "/keys/"+id(bound), "", 204)
		r.wantStatus(boundKey, "GET", "/pipeline_frontend_apps", "", 401)

		again := r.wantStatus(memberKey, "POST", self, `{"scopes":["plugin:read"],"organization_id":"`+r.org.ID+`"}`, 201).body
		admins := r.wantStatus(adminKey, "POST", self, `{"scopes":["plugin:read"],"organization_id":"`+r.org.ID+`"}`, 201).body
		r.wantStatus(r.key, "DELETE", "/members/"+member.User.UUID, "", 204)
		r.join(r.org, "member@acme.example", access.Member)
		r.wantStatus(between(again, `"key":"`, `"`), "GET", "/pipeline_frontend_apps", "", 401) // revoked, not just suspended
		r.wantStatus(between(there, `"key":"`, `"`), "GET", "/api/users/@me", "", 200)
		r.wantStatus(between(admins, `"key":"`, `"`), "GET", "/pipeline_frontend_apps", "", 200)
		r.wantStatus(memberKey, "GET", "/pipeline_frontend_apps", "", 200)
	})
}

func TestChangeSelf(t *testing.T) {
	each(t, func(r *rig) {
		const self = "/api/users/@me"
		r.invite("a@x.example")
		r.wantStatus(r.key, "GET", invites, "", 200)
		for _, body := range []string{`{"first_name":"http://x.example"}`, `{"last_name":"a\u0000"}`, `{"first_name":7}`, `{"first_name":"` + strings.Repeat("x", 31) + `"}`} {
			r.wantStatus(r.key, "PATCH", self, body, 400)
		}
		r.wantStatus(r.newKey(r.owner, "plugin:write"), "PATCH", self, `{"first_name":"Ada"}`, 403)
		bound := between(r.wantStatus(r.key, "POST", self+"/keys", `{"scopes":["*"],"organization_id":"`+r.org.ID+`"}`, 201).body, `"key":"`, `"`)
		r.wantStatus(bound, "PATCH", self, `{`, 403)
		if got := r.send(bound, "PATCH", self, `{"first_name":"Ada"}`, "If-Match", `"another"`); got.status != http.StatusForbidden {
			r.t.Errorf("a bound key, If-Match: %d", got.status)
		}
		r.wantParts(r.key, "PATCH", self, `{"first_name":" Ada ","last_name":"King"}`, 200, `"first_name":"Ada","last_name":"King"`)
		r.wantParts(r.key, "PATCH", self, `{"last_name":null}`, 200, `"first_name":"Ada","last_name":""`)
		r.wantParts(r.key, "GET", invites, "", 200, `"first_name":"Ada","last_name":""`) // a list still shows the old name
		member := r.newKey(r.join(r.org, "member@acme.example", access.Member), "*")
		for _, body := range []string{`{"email":null}`, `{"email":7}`, `{"email":""}`, `{"email":"owner"}`, `{"email":"owner@acme.example"}`, `{"email":"a@x.example","first_name":7}`} {
			r.wantStatus(member, "PATCH", self, body, 400)
		}
		r.wantParts(member, "PATCH", self, `{"email":"owner@other.example","first_name":"Bea"}`, 200, `"first_name":"Bea","last_name":"","email":"member@acme.example"`) // the address of somebody else is told, or changed
		r.api.Addresses.Mails = false
		r.wantStatus(member, "PATCH", self, `{"email":"new@acme.example"}`, 403)
		r.wantStatus(member, "PATCH", self, `{"email":"member@acme.example"}`, 200)
	})
}

// Members can be searched by address and names. They show whose invite they accepted and when they were last active.
func TestFindMembers(t *testing.T) {
	each(t, func(r *rig) {
		made := r.wantStatus(r.key, "POST", invites, `{"target_email":"adele@bücher.example","first_name":"Ädele"}`, 201).body
		link := between(r.wantStatus(r.key, "POST", invites+between(made, `"id":"`, `"`)+"/link", "", 200).body, `/invite/`, `"`)
		accepted := r.wantStatus("", "POST", "/api/signup/"+link, `{"last_name":"100%_!"}`, 201).body
		r.wantCount(r.key, invites+"?status=any&search="+url.QueryEscape("adele@bücher.example"), 1) // the invite
		uuid, key := between(accepted, `"uuid":"`, `"`), between(accepted, `"api_key":"`, `"`)
		r.join(r.other, "adele@xn--bcher-kva.example", access.Member)
		for query, want := range map[string]int{
			"": 2, "?search=": 2, "?search=ADELE@": 1, "?search=" + url.QueryEscape("äDELE 100"): 1, "?search=" + url.QueryEscape("0%_!"): 1,
			"?search=" + url.QueryEscape("%"): 1, "?search=_!": 1, "?search=nobody": 0, "?level=1": 1, "?level=owner": 1, "?level=admin": 0, "?level=member&search=adele": 1,
			"?level=15&search=adele": 0, "?search=" + url.QueryEscape("Adele@BÜCHER.example"): 1,
			"?search=" + url.QueryEscape(" @bücher.example "): 1, "?search=" + url.QueryEscape("@bücher.ex"): 1, "?search=" + url.QueryEscape("x@bücher.example"): 0,
		} {
			if got := between(r.wantStatus(r.key, "GET", "/members"+query, "", 200).body, `"count":`, `,`); got != strconv.Itoa(want) {
				r.t.Errorf("%s: %s members, want %d", query, got, want)
			}
		}
		for _, query := range []string{"?level=2", "?level=", "?level=boss", "?search=%00", "?search=%ff", "?search=" + strings.Repeat("x", 401)} {
			r.wantStatus(r.key, "GET", "/members"+query, "", 400)
		}
		r.wantStatus(key, "GET", "/members/"+uuid, "", 200)
		if err := r.api.Keys.FlushUse(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		shown := r.wantStatus(key, "GET", "/members/"+uuid, "", 200).body
		self := r.wantStatus(r.key, "GET", "/api/users/@me", "", 200).body
		for _, want := range []string{`"invited_by":{"uuid":"` + between(self, `"uuid":"`, `"`) + `"`, `"last_active_at":"20`, `:00:00.000000Z"`} {
			if !strings.Contains(shown, want) {
				r.t.Errorf("no %s in %s", want, shown)
			}
		}
		r.wantParts(r.otherKey, "GET", "/api/organizations/"+r.other.ID+"/members/"+uuid, "", 200, `"last_active_at":null`)
		idle := r.join(r.org, "idle@acme.example", access.Member).User.UUID
		r.wantStatus(key, "GET", "/members/"+uuid, "", 200)
		if err := r.api.Keys.FlushUse(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		r.wantParts(key, "GET", "/members/"+idle, "", 200, `"last_active_at":null`) // active who did nothing
		r.wantStatus(r.key, "GET", "/members/01890000-0000-7000-8000-000000000001", "", 404)
	})
}
