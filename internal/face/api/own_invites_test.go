package api_test

import (
	"strings"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
)

// A user sees and answers the invites to their own verified address, without any link.
func TestOwnInvites(t *testing.T) {
	each(t, func(r *rig) {
		const own = "/api/users/@me/invites/"
		list := func(key string) string { return r.wantStatus(key, "GET", own, "", 200).body }
		bea := r.newKey(r.join(r.other, "bea@x.example", access.Member), "*")
		made := r.wantStatus(r.key, "POST", invites, `{"target_email":"bea@x.example","level":8,"message":"Welcome!"}`, 201).body
		id := between(made, `"id":"`, `"`)
		if all := list(bea); !strings.HasPrefix(all, `{"count":0,`) {
			r.t.Errorf("an address that is not verified: %s", all)
		}
		r.wantStatus(bea, "POST", own+id+"/accept", `{}`, 404)
		r.wantStatus(bea, "POST", own+id+"/accept", `{"token":"`+r.token(r.invite("other@x.example"))+`"}`, 404)
		r.wantStatus(bea, "POST", own+id+"/accept", `{"token":7}`, 400)
		r.wantStatus(bea, "DELETE", own+id, "", 404)
		handed := r.token(id)
		r.wantStatus("", "POST", "/api/signup/"+handed, `{}`, 403)

		r.verify("bea@x.example")
		if all := list(bea); !strings.Contains(all, `"id":"`+id+`","target_email":"bea@x.example"`) || !strings.Contains(all, `"message":"Welcome!"`) {
			r.t.Error(all)
		}
		r.wantStatus(r.key, "POST", own+id+"/accept", `{}`, 404)
		bound := between(r.wantStatus(bea, "POST", "/api/users/@me/keys", `{"scopes":["*"],"organization_id":"`+r.other.ID+`"}`, 201).body, `"key":"`, `"`)
		for _, key := range []string{bound, r.newKey(r.owner, "organization_member:write")} {
			r.wantStatus(key, "GET", own, "", 403)
			r.wantStatus(key, "POST", own+id+"/accept", `{}`, 403)
			r.wantStatus(key, "DELETE", own+id, "", 403)
		}
		r.wantParts(bea, "POST", own+id+"/accept", `{}`, 200, `"name":"Acme","level":8`)
		r.wantParts(r.key, "GET", invites+"?status=any&id="+id, "", 200, `"status":"accepted"`)
		r.wantStatus(bea, "POST", own+id+"/accept", `{"token":null}`, 404)
		r.wantStatus(bea, "GET", "/members", "", 200)

		r.wantStatus(r.otherKey, "DELETE", "/api/organizations/"+r.other.ID+"/members/"+between(r.send(bea, "GET", "/api/users/@me", "").body, `"uuid":"`, `"`), "", 204)
		again := between(r.wantStatus(r.otherKey, "POST", "/api/organizations/"+r.other.ID+"/invites", `{"target_email":"bea@x.example"}`, 201).body, `"id":"`, `"`)
		r.wantStatus(bea, "DELETE", own+again, "", 204)
		r.wantStatus(bea, "DELETE", own+again, "", 404)
		if all := list(bea); !strings.HasPrefix(all, `{"count":0,`) {
			r.t.Error(all)
		}
	})
}

// A user whose address is not verified can answer an invite with its link, passed on by hand.
func TestOwnInviteByItsLink(t *testing.T) {
	each(t, func(r *rig) {
		bea := r.newKey(r.join(r.other, "bea@x.example", access.Member), "*")
		id := r.invite("bea@x.example")
		handed := r.token(id)
		r.wantStatus(r.otherKey, "POST", "/api/users/@me/invites/"+id+"/accept", `{"token":"`+handed+`"}`, 404)
		r.wantStatus(bea, "POST", "/api/users/@me/invites/"+id+"/accept", `{"token":"`+handed+`"}`, 200)
	})
}

// verify marks a user's address as verified.
func (r *rig) verify(email string) {
	r.t.Helper()
	dbtest.Exec(r.t, r.db, `UPDATE users SET is_email_verified = TRUE WHERE email = $1`, email)
}
