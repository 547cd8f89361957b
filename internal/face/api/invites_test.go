package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/face/api"
)

// inviteBody returns the answer for an invite by the owner, with the id and times from got after checking their form.
func (r *rig) inviteBody(got, email, firstName, level, message string) string {
	r.t.Helper()
	id, at := between(got, `"id":"`, `"`), between(got, `"created_at":"`, `"`)
	if _, err := time.Parse("2006-01-02T15:04:05.000000Z", at); err != nil || len(id) != 36 || id[14] != '7' {
		r.t.Errorf("id %s, created at %s", id, at)
	}
	u := r.owner.User
	return `{"id":"` + id + `","target_email":"` + email + `","first_name":"` + firstName + `","emailing_attempt_made":false,"level":` + level +
		`,"is_expired":false,"created_by":{"id":1,"uuid":"` + u.UUID + `","distinct_id":"` + u.DistinctID +
		`","first_name":"","last_name":"","email":"owner@acme.example","is_email_verified":false,"hedgehog_config":{}},"created_at":"` + at +
		`","updated_at":"` + at + `","message":"` + message +
		`","status":"pending","accepted_at":null,"delivery":{"state":"none","detail":"","attempts":0,"at":null}}`
}

func TestInvites(t *testing.T) {
	each(t, func(r *rig) {
		first := r.send(r.key, "POST", invites, `{"target_email":" Pat@BÜCHER.example ","first_name":"Pat","level":"admin","message":"Hi\n<b>","send_email":false,"id":"x"}`)
		r.compare("create", first, 201, r.inviteBody(first.body, "pat@xn--bcher-kva.example", "Pat", "8", `Hi\n<b>`))
		second := r.send(r.key, "POST", invites, `{"target_email":"b@x.example","first_name":null,"message":null}`)
		r.compare("create", second, 201, r.inviteBody(second.body, "b@x.example", "", "1", ""))
		r.want("GET", invites, "", 200, `{"count":2,"next":null,"previous":null,"results":[`+second.body+`,`+first.body+`]}`)
		again := r.send(r.key, "POST", invites, `{"target_email":"B@x.example","level":"15"}`)
		r.compare("replace", again, 201, r.inviteBody(again.body, "b@x.example", "", "15", ""))
		if between(again.body, `"id":"`, `"`) == between(second.body, `"id":"`, `"`) {
			r.t.Error("a replaced invite keeps its id")
		}
		r.want("GET", invites, "", 200, `{"count":2,"next":null,"previous":null,"results":[`+again.body+`,`+first.body+`]}`)
		if got := r.send(r.key, "DELETE", invites+strings.ToUpper(between(first.body, `"id":"`, `"`)), ""); got.status != 204 || got.body != "" {
			r.t.Errorf("delete: %+v", got)
		}
		r.want("DELETE", invites+between(first.body, `"id":"`, `"`), "", 404, notFound)
		r.compare("of another organization", r.send(r.otherKey, "DELETE", "/api/organizations/@current/invites/"+between(again.body, `"id":"`, `"`), ""), 404, notFound)
		r.want("POST", invites, `{"target_email":"Owner@acme.example"}`, 400,
			validation("already_member", "owner@acme.example is already a member of this organization.", "target_email"))
	})
}

// A list shows the author of each invite, even if the previous one has another.
func TestAppendInvite(t *testing.T) {
	t.Parallel()
	ada, bob := org.User{ID: 1, Email: "ada@x.example"}, org.User{ID: 2, Email: "bob@x.example"}
	now := time.Now()
	appendInvite := api.AppendInvite(now)
	var text []byte
	for _, by := range []org.User{{}, {}, ada, ada, bob, ada} {
		i := invite.Invite{CreatedBy: by}
		alone, from := api.AppendInvite(now)(nil, i), len(text)
		if text = appendInvite(text, i); string(text[from:]) != string(alone) || !strings.Contains(string(alone), `"email":"`+by.Email+`"`) {
			t.Errorf("%s\nalone: %s", text[from:], alone)
		}
	}
}

func TestInvitesOfADay(t *testing.T) {
	each(t, func(r *rig) {
		limited := *r.api
		limited.Invites.Limits = invite.Limits{Invites: 1}
		url := r.serve(&limited)
		now := time.Now().UTC()
		r.db.Now = func() time.Time { return now }
		if got := r.sendTo(url, r.key, "POST", invites, `{"target_email":"a@x.example"}`); got.status != 201 {
			r.t.Fatalf("%d %s", got.status, got.body)
		}
		got := r.sendTo(url, r.key, "POST", invites, `{"target_email":"b@x.example"}`)
		if got.status != 429 || !strings.Contains(got.body, `{"type":"throttled_error","code":"quota_exceeded","detail":"At most 1 `) || got.header.Get("Retry-After") != "86400" {
			r.t.Errorf("one too many: %+v", got)
		}
	})
}

func TestInvitesExpire(t *testing.T) {
	each(t, func(r *rig) {
		now := r.db.Now()
		r.db.Now = func() time.Time { return now }
		r.invite("a@x.example")
		now = now.Add(72*time.Hour - time.Second)
		r.wantParts(r.key, "GET", invites, "", 200, `"is_expired":false`) // a second before
		now = now.Add(time.Second)
		r.wantParts(r.key, "GET", invites, "", 200, `{"count":1,`, `"is_expired":true`) // expired
		r.invite("a@x.example")
		r.wantParts(r.key, "GET", invites, "", 200, `{"count":1,`, `"is_expired":false`) // invited again
	})
}

func TestBulk(t *testing.T) {
	each(t, func(r *rig) {
		bulk := invites + "bulk/"
		one := r.send(r.key, "POST", bulk, `{"target_email":"a@x.example"}`)
		r.compare("an object", one, 200, r.inviteBody(one.body, "a@x.example", "", "1", ""))
		r.want("POST", bulk, `[]`, 200, `[]`)
		many := r.send(r.key, "POST", bulk, `[{"target_email":"z@x.example"},{"target_email":"a@x.example","level":8}]`)
		items := strings.Split(strings.Trim(many.body, "[]"), `},{"id"`)
		if many.status != 200 || len(items) != 2 || !strings.Contains(items[0], "z@x.example") || !strings.Contains(items[1], `"level":8`) {
			r.t.Errorf("an array: %d %s", many.status, many.body)
		}
		before := r.send(r.key, "GET", invites, "").body
		r.want("POST", bulk, `[{"target_email":"new@x.example"},{"target_email":"owner@acme.example"}]`, 400,
			validation("already_member", "owner@acme.example is already a member of this organization.", "1.target_email"))
		item := `{"target_email":"a@x.example"}`
		r.want("POST", bulk, "["+strings.Repeat(item+",", 100)+item+"]", 400, validation("max_length", "At most 100 items fit in one request.", "null"))
		r.want("POST", bulk, `[`+item+`,5]`, 400, validation("invalid_input", "Must be an object, not a number.", "1"))
		if after := r.send(r.key, "GET", invites, "").body; after != before {
			r.t.Errorf("refused requests have changed something: %s, before: %s", after, before)
		}
	})
}

func TestWhoMayInvite(t *testing.T) {
	each(t, func(r *rig) {
		member := r.newKey(r.join(r.org, "member@acme.example", access.Member), "*")
		admin := r.newKey(r.join(r.org, "admin@acme.example", access.Admin), "*")
		r.compare("above one's own level", r.send(member, "POST", invites, `{"target_email":"a@x.example","level":8}`), 403,
			denied("You may invite people up to your own level, 1 (member)."))
		r.compare("the same in bulk", r.send(admin, "POST", invites+"bulk", `[{"target_email":"a@x.example","level":15}]`), 403,
			denied("You may invite people up to your own level, 8 (admin)."))
		owners := r.invite("theirs@x.example")
		r.compare("replace another's", r.send(member, "POST", invites, `{"target_email":"theirs@x.example"}`), 403,
			denied("theirs@x.example has been invited by somebody else: ask them or an admin."))
		r.compare("delete another's", r.send(member, "DELETE", invites+owners, ""), 403,
			denied("Only admins, owners and the inviter may take back an invite."))
		own := r.send(member, "POST", invites, `{"target_email":"mine@x.example"}`)
		r.wantStatus(member, "DELETE", invites+between(own.body, `"id":"`, `"`), "", 204) // delete one's own
		r.wantStatus(admin, "DELETE", invites+owners, "", 204)
		off := false
		r.set(org.Settings{MembersCanInvite: &off})
		r.compare("switched off", r.send(member, "POST", invites, `{"target_email":"a@x.example"}`), 403,
			denied("Only admins and owners may invite people to this organization."))
		r.wantStatus(admin, "POST", invites, `{"target_email":"a@x.example"}`, 201)
	})
}

// A UUID in a path has one form, as the organization's has.
func TestFormsOfUUIDs(t *testing.T) {
	each(t, func(r *rig) {
		invite, member := r.invite("ada@x.example"), r.owner.User.UUID
		for _, form := range []func(string) string{
			func(id string) string { return "{" + id + "}" },
			func(id string) string { return "urn:uuid:" + id },
			func(id string) string { return strings.ReplaceAll(id, "-", "") },
		} {
			r.wantStatus(r.key, "GET", "/api/organizations/"+form(r.org.ID), "", 404)
			r.wantStatus(r.key, "DELETE", invites+form(invite), "", 404)
			r.wantStatus(r.key, "GET", "/members/"+form(member), "", 404)
			r.wantStatus(r.key, "GET", invites+"?id="+form(invite), "", 400)
		}
	})
}

// The status of an invite can be read, even for 30 days after it was accepted.
func TestInviteStatus(t *testing.T) {
	each(t, func(r *rig) {
		ids := map[string]string{}
		for name, more := range map[string]string{"ada": `,"level":8`, "ben": `,"first_name":"B%_!","expires_in":60`, "cleo": `,"expires_in":2592000`} {
			ids[name] = between(r.wantStatus(r.key, "POST", invites, `{"target_email":"`+name+`@x.example"`+more+`}`, 201).body, `"id":"`, `"`)
		}
		for _, body := range []string{`59`, `2592001`, `"60"`, `-1`} {
			r.wantStatus(r.key, "POST", invites, `{"target_email":"no@x.example","expires_in":`+body+`}`, 400)
		}
		r.wantStatus("", "POST", "/api/signup/"+r.token(ids["cleo"]), "", 201)
		now := r.db.Now().Add(time.Minute)
		r.db.Now = func() time.Time { return now }
		for query, want := range map[string]string{
			"": "ada ben", "status=pending": "ada", "status=expired": "ben", "status=accepted": "cleo", "status=any": "ada ben cleo",
			"status=accepted,pending": "ada cleo", "level=admin": "ada", "level=1": "ben", "level=1&status=any": "ben cleo", "delivery=none&status=any": "ada ben cleo",
			"delivery=sent": "", "search=ADA": "ada", "search=%25_!": "ben", "search=cleo%40x&status=any": "cleo", "search=%25": "ben", "search=x.example%20b": "", "search=%20": "", "search=x.example": "ada ben",
			"id=" + ids["cleo"] + "&status=any": "cleo", "id=" + ids["cleo"]: "", "status=any&limit=1&offset=3": "",
		} {
			list := r.wantStatus(r.key, "GET", invites+"?"+query, "", 200).body
			var got []string
			for _, name := range []string{"ada", "ben", "cleo"} {
				if strings.Contains(list, `"id":"`+ids[name]) {
					got = append(got, name)
				}
			}
			if strings.Join(got, " ") != want || !strings.Contains(query, "limit") && !strings.HasPrefix(list, fmt.Sprintf(`{"count":%d,`, len(got))) {
				r.t.Errorf("%s: %q, want %q: %s", query, got, want, list)
			}
		}
		for _, query := range []string{"status=gone", "status=", "status=any,pending", "delivery=lost", "level=7", "id=7", "search=%00"} {
			r.wantStatus(r.key, "GET", invites+"?"+query, "", 400)
		}
		r.wantCount(r.otherKey, "/api/organizations/"+r.other.ID+"/invites?status=any", 0) // another organization's
		r.wantParts(r.key, "GET", invites+"?status=accepted", "", 200, `"status":"accepted","accepted_at":"20`, `"delivery":{"state":"none","detail":"","attempts":0,"at":null}`)
		r.wantStatus(r.otherKey, "DELETE", "/api/organizations/"+r.other.ID+"/invites/"+ids["cleo"], "", 404)
		r.wantStatus(r.newKey(r.join(r.org, "m@acme.example", access.Member), "*"), "DELETE", invites+ids["cleo"], "", 403)
		r.wantStatus(r.key, "DELETE", invites+ids["cleo"], "", 204)
		r.wantStatus(r.key, "DELETE", invites+ids["cleo"], "", 404)
		r.wantStatus("", "POST", "/api/signup/"+r.token(r.invite("dora@x.example")), "", 201)
		later := now.Add(31 * 24 * time.Hour)
		r.db.Now = func() time.Time { return later }
		if err := r.api.Invites.Tidy(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		r.wantCount(r.key, invites+"?status=accepted", 0) // kept for too long
	})
}

// A client that follows next sees each matching invite once, whatever is deleted and added meanwhile.
func TestFilteredInvitesAreWalked(t *testing.T) {
	each(t, func(r *rig) {
		for n, query := range []string{"status=any", "status=pending", "level=1", "delivery=none", "search=walk"} {
			var want []string
			for i := range 5 {
				want = append([]string{r.invite(fmt.Sprintf("walk%d.%d@x.example", n, i))}, want...)
			}
			if query == "status=any" { // accepted ones are in another table
				r.wantStatus("", "POST", "/api/signup/"+r.token(want[3]), "", 201)
			}
			var got, late []string
			path := invites + "?limit=2&" + query
			for page := 0; path != ""; page++ {
				var list struct {
					Next    string `json:"next"`
					Results []struct {
						ID string `json:"id"`
					} `json:"results"`
				}
				body := r.wantStatus(r.key, "GET", path, "", 200).body
				if err := json.Unmarshal([]byte(body), &list); err != nil {
					r.t.Fatal(err)
				}
				late = append(late, r.invite(fmt.Sprintf("walk%d.late%d@x.example", n, page)))
				for i, found := range list.Results {
					got = append(got, found.ID)
					if page > 0 || i > 0 { // otherwise one more is added than deleted
						r.wantStatus(r.key, "DELETE", invites+found.ID, "", 204)
					}
				}
				path = strings.TrimPrefix(list.Next, baseURL)
			}
			if !slices.Equal(got, want) {
				r.t.Errorf("%s: %q, want %q", query, got, want)
			}
			for _, id := range append(late, want[0]) {
				r.wantStatus(r.key, "DELETE", invites+id, "", 204)
			}
		}
		r.wantStatus(r.key, "GET", invites+"?level=1&offset=2&after=2.zz", "", 400)
	})
}
