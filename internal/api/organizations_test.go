package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"foyer/internal/access"
	"foyer/internal/invite"
	"foyer/internal/org"
)

// A new name is shown wherever the old one was, whoever remembers the old one.
func TestRenamedOrganization(t *testing.T) {
	each(t, func(r *rig) {
		shared := apps + r.app(`{"name": "Shared", "is_global": true}`)
		token := r.token(r.invite("ada@x.example"))
		others := "/api/organizations/" + r.other.ID + apps
		elsewhere := *r.api // another server
		elsewhere.Keys = &access.Keys{DB: r.db}
		elsewhere.Plugins, elsewhere.Invites.Keys, elsewhere.Invites.Memory = newApps(t, r.db), elsewhere.Keys, invite.NewMemory()
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
		r.db.Now = func() time.Time { return now().Add(access.MaxAge) }
		for _, url := range []string{r.url, theirs} {
			got := r.sendTo(url, r.key, "PATCH", shared, `{"description": "by `+url+`"}`)
			if got.status != http.StatusOK || !strings.Contains(got.body, `"organization_name":"Renamed"`) {
				r.t.Errorf("PATCH: %d %s", got.status, got.body)
			}
		}
		shows("Renamed", "Acme")
	})
}

// RFC 9562: a UUID may be given in upper case.
func TestOrganizationIDInUpperCase(t *testing.T) {
	each(t, func(r *rig) {
		upper := strings.ToUpper(r.org.ID)
		for _, path := range []string{"", "/invites", "/pipeline_frontend_apps/"} {
			if got := r.send(r.key, "GET", "/api/organizations/"+upper+path, ""); got.status != http.StatusOK {
				r.t.Errorf("GET %s: %d %s", path, got.status, got.body)
			}
		}
		r.compare("not one's own", r.send(r.otherKey, "GET", "/api/organizations/"+upper, ""), 404, notFound)
		made := r.send(r.key, "POST", "/api/users/@me/keys", `{"scopes": ["*"], "organization_id": "`+upper+`"}`)
		if made.status != http.StatusCreated || !strings.Contains(made.body, `"organization_id":"`+r.org.ID+`"`) {
			r.t.Errorf("POST: %d %s", made.status, made.body)
		}
		key, _, err := r.keys.Create(r.t.Context(), access.Draft{UserID: r.owner.User.ID, Scope: access.All, OrganizationID: upper})
		if err != nil || key.OrganizationID != r.org.ID {
			r.t.Errorf("%+v, %v", key, err)
		}
		if o, err := r.orgs.Set(r.t.Context(), upper, org.Settings{}); err != nil || o.ID != r.org.ID {
			r.t.Errorf("%+v, %v", o, err)
		}
		if all, err := r.orgs.Members(r.t.Context(), upper); err != nil || len(all) != 1 {
			r.t.Errorf("%+v, %v", all, err)
		}
	})
}
