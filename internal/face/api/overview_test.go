package api_test

import (
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
)

// The overview counts what the lists show, and hides what the key or the organization may not see.
func TestOverview(t *testing.T) {
	each(t, func(r *rig) {
		r.app(`{"name": "Banner"}`)
		r.invite("ada@x.example")
		const page = "/api/organizations/@current/overview"
		all := `{"apps":{"count":1,"updates":0,"broken":0,"disabled":0,"failing":0},"sites":0,"members":1,"invites":{"count":1,"expired":0,"failed":0}}`
		const people = `{"apps":null,"sites":null,"members":1,"invites":{"count":1,"expired":0,"failed":0}}`
		for scope, want := range map[string]string{
			"*":                        all,
			"plugin:read":              `{"apps":{"count":1,"updates":0,"broken":0,"disabled":0,"failing":0},"sites":0,"members":null,"invites":null}`,
			"organization_member:read": people,
		} {
			if got := r.send(r.newKey(r.owner, scope), "GET", page, ""); got.status != 200 || got.body != want {
				r.t.Errorf("%s: %d %s", scope, got.status, got.body)
			}
		}
		r.set(org.Settings{AppAccess: new(access.NoApps)})
		r.want("GET", page, "", 200, people)
	})
}
