package site

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"foyer/internal/base/fair"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/bundles"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/source"
	"foyer/internal/infra/bundle"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/sandbox"
	"foyer/internal/infra/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	sandboxtest.Main(m, map[string]sandbox.Task{bundle.TaskName: bundle.Work})
}

// rig is a service on an empty database, with two organizations and the owner of each.
type rig struct {
	Service
	testing.TB
	plugins plugin.Service
	orgs    org.Service
	caller  access.Caller
	other   access.Caller
}

func each(t *testing.T, test func(r rig)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(newRig(t, d)) })
}

func newRig(tb testing.TB, d *db.DB) rig {
	tb.Helper()
	r := rig{TB: tb, Service: Service{DB: d, Manifests: NewManifests(d), Box: seal.Box{Secret: "a secret for tests, not for you"}}}
	r.Manifests.BaseURL = "https://foyer.example"
	r.plugins = plugin.Service{
		DB: d, Children: sandbox.New(2, 16, slog.New(slog.DiscardHandler)),
		Saves: fair.OneEach(16, "Full"), Bundles: bundles.NewServer(d), Cache: plugin.NewCache(), Follow: r.FollowApp,
	}
	r.orgs = org.Service{DB: d, Keys: access.NewKeys(d), Follow: r.FollowOrganization}
	r.caller, r.other = r.owner("Acme"), r.owner("Other")
	return r
}

func (r rig) owner(name string) access.Caller {
	r.Helper()
	var o org.Organization
	var m org.Membership
	err := r.orgs.Keys.Change(r.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
		if o, err = r.orgs.Insert(ctx, tx, "", name); err != nil {
			return err
		}
		m, err = r.orgs.InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: o.ID, User: org.User{Email: strings.ToLower(name) + "@foyer.example"}, Level: access.Owner})
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	o.AppAccess = access.RootApps
	c := access.Caller{UserID: m.User.ID, Scope: access.All, Level: access.Owner, Organization: o.Organization, RequestID: "request"}
	r.suspend(c, o.AppAccess)
	return c
}

// suspend sets the access level of an organization.
func (r rig) suspend(c access.Caller, to access.AppAccess) {
	r.Helper()
	if _, err := r.orgs.Set(r.Context(), access.Caller{}, c.Organization.ID, org.Settings{AppAccess: &to}); err != nil {
		r.Fatal(err)
	}
}

// app makes an app of c with a bundle and a config_schema.
func (r rig) app(c access.Caller, name, schema string) plugin.Plugin {
	r.Helper()
	p, err := r.plugins.Create(r.Context(), c, plugin.Draft{Name: patch.Of(name), Type: patch.Of("source"), ConfigSchema: patch.Of(schema)})
	if err != nil {
		r.Fatal(err)
	}
	r.save(c, p.ID, name)
	return p
}

// save makes a version of an app whose bundle exports a text.
func (r rig) save(c access.Caller, id int64, text string) {
	r.Helper()
	edit := source.Edit{Field: "source", Name: "site.ts", Text: patch.Of("export const text = " + fmt.Sprintf("%q", text))}
	if _, err := r.plugins.UpdateSource(r.Context(), c, id, plugin.Draft{}, []source.Edit{edit}); err != nil {
		r.Fatal(err)
	}
}

func (r rig) patch(c access.Caller, id int64, d plugin.Draft) {
	r.Helper()
	if _, err := r.plugins.Update(r.Context(), c, id, d); err != nil {
		r.Fatal(err)
	}
}

func (r rig) site(c access.Caller, name string) Site {
	r.Helper()
	s, err := r.Create(r.Context(), c, Draft{Name: patch.Of(name)})
	if err != nil {
		r.Fatal(err)
	}
	return s
}

// given returns a config of pairs, each a key and JSON.
func given(pairs ...string) patch.Field[[]Value] {
	all := []Value{}
	for i := 0; i < len(pairs); i += 2 {
		v := Value{Key: pairs[i], JSON: patch.Of(pairs[i+1])}
		if pairs[i+1] == "null" {
			v.JSON = patch.Field[string]{Set: true, Null: true}
		}
		all = append(all, v)
	}
	return patch.Of(all)
}

func (r rig) place(c access.Caller, s Site, p plugin.Plugin, config ...string) Placement {
	r.Helper()
	placed, err := r.Place(r.Context(), c, s.ID, PlacementDraft{AppID: patch.Of(p.ID), Config: given(config...)})
	if err != nil {
		r.Fatal(err)
	}
	return placed
}

func (r rig) change(c access.Caller, s Site, p plugin.Plugin, d PlacementDraft) Placement {
	r.Helper()
	placed, err := r.Change(r.Context(), c, s.ID, p.ID, d)
	if err != nil {
		r.Fatal(err)
	}
	return placed
}

// manifest returns the revision of a site's manifest, and its apps as NAME@VERSION{CONFIG}.
func (r rig) manifest(s Site) (revision int64, apps string) {
	r.Helper()
	r.Manifests.invalidate() // other parts of this server make changes visible within a second
	content, err := r.Manifest(r.Context(), s.Token)
	if err != nil {
		r.Fatal(err)
	}
	return r.read(content)
}

func (r rig) read(content *Content) (revision int64, apps string) {
	r.Helper()
	var m struct {
		Site     string
		Revision int64
		Sample   float64
		Apps     []entry
	}
	if err := json.Unmarshal(content.Plain(), &m); err != nil { //nolint:musttag // its names are matched in any case
		r.Fatal(err)
	}
	var all []string
	for _, e := range m.Apps {
		bundle := r.text(fmt.Sprintf(`
			SELECT s.public_token || '/' || v.bundle FROM plugin_sources s JOIN plugin_versions v ON v.plugin_id = s.plugin_id
			WHERE s.plugin_id = %d AND v.number = %d`, e.ID, e.Version))
		if e.URL != "https://foyer.example/apps/"+bundle+".js" || !strings.HasPrefix(e.Integrity, "sha384-") {
			r.Errorf("%+v", e)
		}
		all = append(all, fmt.Sprintf("%s@%d%s", e.Name, e.Version, e.Config))
	}
	return m.Revision, strings.Join(all, " ")
}

// wants compares what a site runs with what is wanted.
func (r rig) wants(what string, s Site, want string) {
	r.Helper()
	if _, got := r.manifest(s); got != want {
		r.Errorf("%s: runs %q, want %q", what, got, want)
	}
}

// held checks the version that a placement runs and the reason why it is held.
func (r rig) held(what string, s Site, p plugin.Plugin, running int64, part string) {
	r.Helper()
	placed, err := r.App(r.Context(), r.callerOf(s), s.ID, p.ID)
	if err != nil {
		r.Fatal(err)
	}
	if placed.Running != running || !strings.Contains(placed.Held, part) || (part == "") != (placed.Held == "") {
		r.Errorf("%s: runs %d, held %q; want %d, %q", what, placed.Running, placed.Held, running, part)
	}
}

func (r rig) callerOf(s Site) access.Caller {
	if s.OrganizationID == r.other.Organization.ID {
		return r.other
	}
	return r.caller
}

func (r rig) history(s Site) []Revision {
	r.Helper()
	found, err := r.History(r.Context(), r.callerOf(s), s.ID, page.First)
	if err != nil {
		r.Fatal(err)
	}
	return found.Items
}

// blames returns the fields and kinds of faults.
func blames(err error) string {
	if err == nil {
		return ""
	}
	var all []string
	for _, f := range fault.Of(err) {
		kind := map[fault.Kind]string{ //nolint:exhaustive // the others are not met here
			fault.Invalid: "invalid", fault.InvalidChoice: "choice", fault.Required: "required", fault.TooLong: "long", fault.NotUnique: "unique",
			fault.Null: "null", fault.Blank: "blank", fault.NotFound: "not found", fault.Denied: "denied", fault.Internal: err.Error(),
		}[f.Kind]
		all = append(all, strings.TrimSpace(f.Field+" "+kind))
	}
	return strings.Join(all, ", ")
}

func (r rig) text(query string) string {
	r.Helper()
	all, err := db.All[string](r.Context(), r.DB, nil, query)
	if err != nil {
		r.Fatal(err)
	}
	return strings.Join(all, " ")
}
