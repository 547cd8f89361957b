package api_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/face/api"
	"foyer/internal/face/openapi/openapitest"
)

// Every route gives each kind of caller the right status, and finds nothing of another organization. The routes come
// from the table, so that new ones are covered automatically.
func TestEveryRouteForEveryCaller(t *testing.T) {
	each(t, func(r *rig) {
		admin := r.join(r.org, "admin@acme.example", access.Admin)
		member := r.join(r.org, "member@acme.example", access.Member)
		keys := map[string]string{
			"no key":                           "",
			"bad key":                          access.NewKey(),
			"plugin:read":                      r.newKey(r.owner, "plugin:read"),
			"plugin:write":                     r.newKey(r.owner, "plugin:write"),
			"organization_member:read":         r.newKey(r.owner, "organization_member:read"),
			"organization_member:write":        r.newKey(r.owner, "organization_member:write"),
			"member":                           r.newKey(member, "*"),
			"admin":                            r.newKey(admin, "*"),
			"owner":                            r.key,
			"another organization's owner":     r.otherKey,
			"a member of no organization here": r.newKey(r.join(r.newOrg("Third"), "x@third.example", access.Member), "*"),
		}
		for _, route := range r.api.Routes() {
			for who, key := range keys {
				path := r.target(route)
				for path, body := range map[string]string{path: "", path + "/": "{"} { // a body is not read for those who may not
					got := r.send(key, route.Method, path, body, "If-Match", "*") // which fails if the change does not check it
					if want := expected(route, who); got.status/100 == 5 || want != got.status && (want != 0 || got.status == 401 || got.status == 403) {
						r.t.Errorf("%s %s as %s: got %d, want %d: %s", route.Method, path, who, got.status, want, got.body)
					}
					if got.status == http.StatusNotFound && strings.HasPrefix(who, "another") && got.body != notFound {
						r.t.Errorf("%s %s as %s tells more than that it is not there: %s", route.Method, path, who, got.body)
					}
				}
			}
			_, below, _ := strings.Cut(route.Path, "{organization_id}")
			if !strings.Contains(below, "{") || strings.Contains(below, "{token}") {
				continue
			}
			path := strings.Replace(r.target(route), r.org.ID, r.other.ID, 1)
			const body = `{"reason":"x","enabled":false,"revision":1,"app_id":1,"url":"https://x.example/","version":1,"level":1}`
			if got := r.send(r.otherKey, route.Method, path, body); got.status != http.StatusNotFound || got.body != notFound {
				r.t.Errorf("%s %s, of a thing of another organization: got %d %s", route.Method, path, got.status, got.body)
			}
		}
	})
}

// target returns a route's path with existing objects.
func (r *rig) target(route api.Route) string {
	r.made++
	email := "someone" + strconv.Itoa(r.made) + "@matrix.example"
	path := strings.Replace(route.Path, "{organization_id}", r.org.ID, 1)
	switch {
	case strings.Contains(path, "{token}"):
		return strings.Replace(path, "{token}", r.token(r.invite(email)), 1)
	case strings.Contains(path, "{user_uuid}"):
		return strings.Replace(path, "{user_uuid}", r.join(r.org, email, access.Member).User.UUID, 1)
	case strings.Contains(path, "/invites/{id}"):
		return strings.Replace(path, "{id}", r.invite(email), 1)
	case strings.Contains(path, "/sites/{id}"):
		site := r.site("matrix " + strconv.Itoa(r.made))
		app := r.app(`{"name":"matrix"}`)
		r.placed(site, `{"app_id":`+app+`}`)
		return strings.NewReplacer("{id}", site, "{app_id}", app).Replace(path)
	case strings.Contains(path, "/webhooks/{id}"):
		r.send(r.key, "DELETE", "/webhooks/"+r.hook, "") // an organization may have 50
		r.hook = r.webhook(`"app.*"`)
		return strings.NewReplacer("{id}", r.hook, "{delivery_id}", "1000000").Replace(path)
	case strings.Contains(path, "/sessions/{id}"):
		if _, err := r.api.SignIn.ByKey(r.t.Context(), r.key, access.SessionDraft{}); err != nil {
			r.t.Fatal(err)
		}
		return strings.Replace(path, "{id}", between(r.send(r.key, "GET", "/api/users/@me/sessions", "").body, `{"id":`, `,`), 1)
	case strings.Contains(path, "/keys/{id}"):
		return strings.Replace(path, "{id}", "1000000", 1)
	case strings.Contains(path, "{id}"):
		return strings.Replace(path, "{id}", r.app(`{"name":"matrix"}`), 1)
	}
	return path
}

// expected returns the status that a caller gets because of its kind, or 0 if other checks decide.
func expected(route api.Route, who string) int {
	if strings.Contains(route.Path, "{token}") || route.Path == "/api/signin" {
		return 0 // for every holder of the token; for anyone
	}
	switch who {
	case "no key", "bad key":
		return http.StatusUnauthorized
	case "another organization's owner", "a member of no organization here":
		if !strings.Contains(route.Path, "{organization_id}") {
			return 0
		}
		return http.StatusNotFound
	case "member", "admin":
		if strings.HasSuffix(route.Path, "{organization_id}") && route.Method == http.MethodPatch {
			return http.StatusForbidden // only for owners
		}
		if who == "admin" {
			return 0
		}
		if route.Scope == access.PluginWrite || strings.HasSuffix(route.Path, "/preview") || strings.Contains(route.Path, "{organization_id}/keys") {
			return http.StatusForbidden
		}
		if strings.Contains(route.Path, "{organization_id}/activity") || strings.Contains(route.Path, "/webhooks") || strings.HasSuffix(route.Path, "/events") {
			return http.StatusForbidden
		}
		if strings.Contains(route.Path, "{organization_id}/invites/{id}") || strings.Contains(route.Path, "{user_uuid}") && route.Method != http.MethodGet {
			return http.StatusForbidden // the owner's invite; another member
		}
	case "owner":
	default:
		scope, err := access.ParseScopes([]string{who})
		if err != nil || !scope.Includes(route.Scope) {
			return http.StatusForbidden
		}
	}
	return 0
}

// The table of routes and the OpenAPI document list the same operations, and the
// same scopes for each.
func TestRoutesAreDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]string{}
	for _, o := range openapitest.Operations(t, api.OpenAPI()) {
		if strings.HasPrefix(o.Path, "/api/") {
			documented[o.Method+" "+o.Path] = o.Scope
		}
	}
	for _, route := range (&api.API{}).Routes() {
		name := route.Method + " " + route.Path
		scope, ok := documented[name]
		if !ok {
			t.Errorf("%s is not documented", name)
		} else if scope != route.Scope.String() {
			t.Errorf("%s needs %s, the document says %s", name, route.Scope, scope)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("%s is documented, but not there", name)
	}
}
