package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
)

// built makes an app with one version for each of these sites.
func (r rig) built(sites ...string) (Plugin, []Version) {
	r.Helper()
	p := r.create(Draft{Name: patch.Of("app"), Type: patch.Of("source")})
	for _, site := range sites {
		r.save(p.ID, "site.ts", patch.Of(site))
	}
	return p, r.versions(p.ID)
}

func (r rig) withdraw(id int64, w Withdrawal) {
	r.Helper()
	if _, err := r.Withdraw(r.Context(), r.caller, id, w); err != nil {
		r.Fatal(err)
	}
}

// versions returns the versions of an app, oldest first.
func (r rig) versions(id int64) []Version {
	r.Helper()
	found, err := r.Versions(r.Context(), r.caller, id, page.First)
	if err != nil {
		r.Fatal(err)
	}
	var all []Version
	for _, listed := range slices.Backward(found.Items) {
		v, err := r.Version(r.Context(), r.caller, id, listed.Number)
		if err != nil {
			r.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// A PATCH of config_schema makes a version with the same files; a PATCH of other fields makes none. Going back also
// restores the schema.
func TestVersionsKeepTheirSchema(t *testing.T) {
	each(t, func(r rig) {
		p, _ := r.built("export const a = 1")
		for _, d := range []Draft{{ConfigSchema: patch.Of(`[{"key":"a"}]`)}, {Name: patch.Of("other")}, {ConfigSchema: patch.Of(`[{"key":"a"}]`)}} {
			r.update(p.ID, d)
		}
		all := r.versions(p.ID)
		if len(all) != 2 || all[0].Schema != "" || all[1].Schema != `[{"key":"a"}]` || all[0].SHA256 != all[1].SHA256 || all[0].Bundle != all[1].Bundle {
			r.Fatalf("%+v", all)
		}
		if n := r.count(fmt.Sprintf(`SELECT COUNT(*) FROM plugin_files WHERE version_id = %d`, all[1].id)); n != 1 {
			r.Errorf("%d files in the copy", n)
		}
		back, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Version: patch.Of("1")})
		if err != nil || back.ConfigSchema != "" {
			r.Errorf("%q, %v", back.ConfigSchema, err)
		}
		r.save(p.ID, "plugin.json", patch.Of(`{"config": [{"key":"b"}]}`)) // 3
		r.update(p.ID, Draft{ConfigSchema: patch.Of(`[{"key":"c"}]`)})     // 4
		for number, want := range map[string]string{"3": `[{"key":"b"}]`, "4": `[{"key":"c"}]`} {
			if got, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Version: patch.Of(number)}); err != nil || got.ConfigSchema != want {
				r.Errorf("at version %s: %q, %v", number, got.ConfigSchema, err)
			}
		}
		bare := r.create(named("bare"))
		if r.update(bare.ID, Draft{ConfigSchema: patch.Of(`[{"key":"a"}]`)}); len(r.versions(bare.ID)) != 0 {
			r.Errorf("an app without versions has %d", len(r.versions(bare.ID)))
		}
	})
}

func TestDisable(t *testing.T) {
	each(t, func(r rig) {
		p, versions := r.built("export const a = 1")
		token := r.token(p.ID)
		if _, err := r.Disable(r.Context(), r.caller, p.ID, patch.Field[string]{}); !fault.Is(err, fault.Required) {
			r.Errorf("without a reason: %v", err)
		}
		for range 2 {
			if _, err := r.Disable(r.Context(), r.caller, p.ID, patch.Of(" broken ")); err != nil {
				r.Fatal(err)
			}
		}
		s, err := r.Source(r.Context(), r.caller, p.ID)
		if err != nil || s.Disabled.Reason != "broken" || s.Disabled.By.ID != r.caller.UserID || !s.Disabled.Is() {
			r.Errorf("%+v, %v", s.Disabled, err)
		}
		if script, err := r.Bundles.Serve(r.Context(), token, ""); err != nil || !script.Disabled || string(script.Plain()) != "export {};\n" {
			r.Errorf("site.js: %+v, %v", script, err)
		}
		if _, err := r.Bundles.Serve(r.Context(), token, versions[0].Bundle.SHA256); !fault.Is(err, fault.Gone) {
			r.Errorf("by its sum: %v", err)
		}
		if _, err := r.Enable(r.Context(), r.caller, p.ID); err != nil {
			r.Fatal(err)
		}
		if script, err := r.Bundles.Serve(r.Context(), token, ""); err != nil || script.Disabled {
			r.Errorf("enabled: %+v, %v", script, err)
		}
		if got := r.verbs(p.ID); got != "[enabled disabled source_updated installed]" {
			r.Error(got)
		}
	})
}

// Switching an app off or on changes it and puts it first in the order of last changes; if it is in that state already,
// nothing changes.
func TestDisableIsAChange(t *testing.T) {
	each(t, func(r rig) {
		pass := r.clock()
		first, second := r.create(Draft{Name: patch.Of("first")}), r.create(Draft{Name: patch.Of("second")})
		disable := func() (Plugin, error) { return r.Disable(r.Context(), r.caller, first.ID, patch.Of("broken")) }
		enable := func() (Plugin, error) { return r.Enable(r.Context(), r.caller, first.ID) }
		for i, set := range []func() (Plugin, error){disable, enable} {
			pass(time.Hour)
			r.update(second.ID, Draft{Description: patch.Of(strconv.Itoa(i))})
			pass(time.Hour)
			answered, err := set()
			if err != nil {
				r.Fatal(err)
			}
			pass(time.Hour)
			if _, err := set(); err != nil {
				r.Fatal(err)
			}
			found, err := r.Find(r.Context(), r.caller, Filter{Order: page.Order{By: "updated_at", Descending: true}}, page.First)
			if err != nil || len(found.Items) != 2 {
				r.Fatal(found, err)
			}
			if p := found.Items[0]; p.ID != first.ID || !p.UpdatedAt.Equal(answered.UpdatedAt) || p.Revision != answered.Revision {
				r.Errorf("%d: %+v; want %+v", i, p, answered)
			}
		}
	})
}

func (r rig) token(id int64) string {
	r.Helper()
	s, err := r.Source(r.Context(), r.caller, id)
	if err != nil {
		r.Fatal(err)
	}
	return s.PublicToken
}

// verbs returns the verbs of a plugin's activity, newest first.
func (r rig) verbs(id int64) string {
	r.Helper()
	found, err := r.Activity(r.Context(), r.caller, strconv.FormatInt(id, 10), "", page.First)
	if err != nil {
		r.Fatal(err)
	}
	var all []activity.Verb
	for _, e := range found.Items {
		all = append(all, e.Verb)
	}
	return fmt.Sprint(all)
}

// Withdrawing a version also withdraws those with the same bundle. If one of them is current, it needs another version
// to go to. Nothing goes to them until they are restored.
func TestWithdraw(t *testing.T) {
	each(t, func(r rig) {
		p, versions := r.built("export const a = 1", "export const a = 2")
		if _, err := r.Update(r.Context(), r.caller, p.ID, Draft{ConfigSchema: patch.Of(`[{"key":"a"}]`)}); err != nil {
			r.Fatal(err) // version 3, with the bundle of 2
		}
		withdraw := func(number, to int64) error {
			_, err := r.Withdraw(r.Context(), r.caller, p.ID, Withdrawal{Number: number, Reason: patch.Of("leaks"), GoTo: patch.Field[int64]{Set: to != 0, Value: to}})
			return err
		}
		if err := withdraw(2, 0); !fault.Is(err, fault.Required) || !strings.Contains(err.Error(), "another version for the app to go to") {
			r.Errorf("the current bundle, without a version to go to: %v", err)
		}
		if err := withdraw(2, 3); !fault.Is(err, fault.Invalid) {
			r.Errorf("to the same bundle: %v", err)
		}
		if err := withdraw(4, 1); !fault.Is(err, fault.NotFound) {
			r.Errorf("a version that is not there: %v", err)
		}
		if err := withdraw(2, 1); err != nil {
			r.Fatal(err)
		}
		all := r.versions(p.ID)
		if all[0].Withdrawn.Is() || !all[1].Withdrawn.Is() || all[2].Withdrawn.Reason != "leaks" || all[1].Withdrawn.By.ID != r.caller.UserID {
			r.Errorf("%+v", all)
		}
		token := r.token(p.ID)
		if script, err := r.Bundles.Serve(r.Context(), token, ""); err != nil || script.SHA256 != versions[0].Bundle.SHA256 {
			r.Errorf("the app is not at version 1: %v", err)
		}
		if _, err := r.Bundles.Serve(r.Context(), token, versions[1].Bundle.SHA256); !fault.Is(err, fault.Gone) {
			r.Errorf("withdrawn: %v", err)
		}
		if _, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Version: patch.Of("3")}); !fault.Is(err, fault.Invalid) {
			r.Errorf("upgrade: %v", err)
		}
		again := []source.Edit{{Field: "source", Name: "site.ts", Text: patch.Of("export const a = 2")}}
		if _, err := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{}, again); !fault.Is(err, fault.Invalid) {
			r.Errorf("the same bundle, saved again: %v", err)
		}
		r.save(p.ID, "site.ts", patch.Of("export const a = 3"))
		if err := withdraw(1, 0); err != nil {
			r.Fatal(err)
		}
		if v, err := r.Restore(r.Context(), r.caller, p.ID, 3); err != nil || v.Withdrawn.Is() {
			r.Errorf("%+v, %v", v, err)
		}
		all = r.versions(p.ID)
		if !all[0].Withdrawn.Is() || all[1].Withdrawn.Is() || all[2].Withdrawn.Is() {
			r.Errorf("not those with the bundle of version 3 are restored: %+v", all)
		}
		if _, err := r.Bundles.Serve(r.Context(), token, versions[1].Bundle.SHA256); err != nil {
			r.Errorf("restored: %v", err)
		}
	})
}

// However much is saved later, what is withdrawn is not forgotten: its url says so, and nobody can save it again.
func TestWithdrawnIsKept(t *testing.T) {
	each(t, func(r rig) {
		p, versions := r.built("export const a = 1", "export const a = 2")
		r.withdraw(p.ID, Withdrawal{Number: 1, Reason: patch.Of("leaks")})
		r.save(p.ID, "site.ts", patch.Field[string]{Null: true}) // nothing is left to compile
		for i := range maxSaved - 1 {
			r.save(p.ID, "note.md", patch.Of(fmt.Sprint("note ", i)))
		}
		found, err := r.Versions(r.Context(), r.caller, p.ID, page.Page{Limit: 1000})
		if err != nil || found.Count != maxSaved+1 || found.Items[maxSaved].Number != 1 {
			r.Fatalf("%d versions: %v", found.Count, err)
		}
		if _, err := r.Bundles.Serve(r.Context(), r.token(p.ID), versions[0].Bundle.SHA256); !fault.Is(err, fault.Gone) {
			r.Errorf("its bundle: %v", err)
		}
		again := []source.Edit{{Field: "source", Name: "site.ts", Text: patch.Of("export const a = 1")}}
		if _, err := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{}, again); !fault.Is(err, fault.Invalid) {
			r.Errorf("saved again: %v", err)
		}
	})
}

// A version without a bundle is withdrawn alone, and needs another version to go to if it is current.
func TestWithdrawWithoutBundle(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("app"))
		r.save(p.ID, "a.md", patch.Of("1"))
		r.save(p.ID, "a.md", patch.Of("2"))
		withdraw := func(number int64) error {
			_, err := r.Withdraw(r.Context(), r.caller, p.ID, Withdrawal{Number: number, Reason: patch.Of("leaks")})
			return err
		}
		if err := withdraw(1); err != nil {
			r.Error(err)
		}
		if err := withdraw(2); !fault.Is(err, fault.Required) {
			r.Errorf("the current version: %v", err)
		}
		r.save(p.ID, "a.md", patch.Of("3"))
		if all := r.versions(p.ID); !all[0].Withdrawn.Is() || all[1].Withdrawn.Is() || all[2].Withdrawn.Is() {
			r.Errorf("%+v", all)
		}
	})
}

// An app that leaves a withdrawn version gets all fields that the manifest of the next one names, and keeps none of the
// public jobs of the version that it leaves.
func TestWithdrawGoesBackWhole(t *testing.T) {
	each(t, func(r rig) {
		manifest := func(name, jobs string) source.Edit {
			text := fmt.Sprintf(`{"name": %q, "icon": %q, "publicJobs": %s}`, name, name+".png", jobs)
			return source.Edit{Field: "source", Name: "plugin.json", Text: patch.Of(text)}
		}
		p, err := r.Create(r.Context(), r.caller, Draft{Name: patch.Of("app"), Type: patch.Of("source")})
		if err != nil {
			r.Fatal(err)
		}
		jobs := []string{`{"one": {}}`, "null", `{"three": {}}`}
		for i, name := range []string{"One", "Two", "Three"} {
			site := source.Edit{Field: "source", Name: "site.ts", Text: patch.Of(fmt.Sprintf("export const a = %d", i))}
			if _, err := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{}, []source.Edit{manifest(name, jobs[i]), site}); err != nil {
				r.Fatal(err)
			}
		}
		for _, number := range []string{"1", "2", "3"} { // an upgrade to a version reads the fields of its plugin.json
			r.upgrade(p.ID, Move{Version: patch.Of(number)})
		}
		for i, want := range []string{"Two Two.png ", `One One.png {"one":{}}`} {
			number := int64(3 - i)
			r.withdraw(p.ID, Withdrawal{Number: number, Reason: patch.Of("leaks"), GoTo: patch.Of(number - 1)})
			got, err := r.Get(r.Context(), r.caller, p.ID)
			if shown := got.Name + " " + got.Icon + " " + got.PublicJobs; err != nil || shown != want {
				r.Errorf("%s, want %s, %v", shown, want, err)
			}
		}
	})
}

// An app that leaves a withdrawn version for one that does not compile gets the settings in that version's plugin.json,
// as after an upgrade to it. Pages keep the bundle and settings of the version before; the next version that compiles
// has the new settings.
func TestWithdrawGoesToWhatDoesNotCompile(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(Draft{Name: patch.Of("app"), Type: patch.Of("source")})
		schema := func(key string) string { return fmt.Sprintf(`[{"key":%q}]`, key) }
		for _, v := range [][2]string{{"one", "1"}, {"two", "((("}, {"three", "3"}} {
			edits := []source.Edit{
				{Field: "source", Name: "plugin.json", Text: patch.Of(`{"config":` + schema(v[0]) + `}`)},
				{Field: "source", Name: "site.ts", Text: patch.Of("export const a = " + v[1])},
			}
			if _, err := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{}, edits); err != nil {
				r.Fatal(err)
			}
		}
		r.withdraw(p.ID, Withdrawal{Number: 3, Reason: patch.Of("leaks"), GoTo: patch.Of(int64(2))})
		if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got.ConfigSchema != schema("two") {
			r.Errorf("the app has the settings %s, %v", got.ConfigSchema, err)
		}
		r.save(p.ID, "site.ts", patch.Of("export const a = 4"))
		var all []string
		for _, v := range r.versions(p.ID) {
			all = append(all, v.Schema)
		}
		if want := []string{schema("one"), schema("one"), schema("three"), schema("two")}; !slices.Equal(all, want) {
			r.Errorf("versions have the settings %s, want %s", all, want)
		}
	})
}

// Other organizations do not see who switched a global app off, and cannot switch it on.
func TestOffBelongsToItsOrganization(t *testing.T) {
	each(t, func(r rig) {
		p, _ := r.built("export const a = 1")
		r.update(p.ID, Draft{IsGlobal: patch.Of(true)})
		r.save(p.ID, "site.ts", patch.Of("export const a = 2"))
		r.save(p.ID, "site.ts", patch.Of("export const a = 3"))
		r.withdraw(p.ID, Withdrawal{Number: 2, Reason: patch.Of("x")})
		if _, err := r.Disable(r.Context(), r.caller, p.ID, patch.Of("x")); err != nil {
			r.Fatal(err)
		}
		other := r.caller
		other.Organization.ID = "another"
		found, err := r.Versions(r.Context(), other, p.ID, page.First)
		if err != nil || !found.Items[1].Withdrawn.Is() || found.Items[1].Withdrawn.By.ID != 0 {
			r.Errorf("%+v, %v", found.Items, err)
		}
		s, err := r.Source(r.Context(), other, p.ID)
		if err != nil || !s.Disabled.Is() || s.Disabled.By.ID != 0 {
			r.Errorf("%+v, %v", s.Disabled, err)
		}
		if _, err := r.Enable(r.Context(), other, p.ID); !fault.Is(err, fault.Denied) {
			r.Errorf("enable: %v", err)
		}
		if _, err := r.Restore(r.Context(), other, p.ID, 2); !fault.Is(err, fault.Denied) {
			r.Errorf("restore: %v", err)
		}
	})
}

// The bundles of an organization that may not use apps are not found.
func TestBundlesOfSuspended(t *testing.T) {
	each(t, func(r rig) {
		p, _ := r.built("export const a = 1")
		token := r.token(p.ID)
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			return db.Exec(ctx, tx, `UPDATE organizations SET access_level = 0`)
		})
		if err != nil {
			r.Fatal(err)
		}
		if _, err := r.Bundles.Serve(r.Context(), token, ""); !fault.Is(err, fault.NotFound) {
			r.Error(err)
		}
	})
}

// Follow is called in the transaction of each change that pages may see, and of no other.
func TestFollow(t *testing.T) {
	each(t, func(r rig) {
		var told []int64
		r.Follow = func(_ context.Context, _ *db.Tx, _ access.Caller, id int64) error {
			told = append(told, id)
			return nil
		}
		p, _ := r.built("export const a = 1", "export const a = 2", "export const a = 3")
		for name, change := range map[string]struct {
			told bool
			do   func() error
		}{
			"description": {false, func() error {
				_, err := r.Update(r.Context(), r.caller, p.ID, Draft{Description: patch.Of("x")})
				return err
			}},
			"name": {true, func() error { _, err := r.Update(r.Context(), r.caller, p.ID, Draft{Name: patch.Of("x")}); return err }},
			"back": {true, func() error {
				_, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Version: patch.Of("1")})
				return err
			}},
			"withdraw": {true, func() error {
				_, err := r.Withdraw(r.Context(), r.caller, p.ID, Withdrawal{Number: 2, Reason: patch.Of("x")})
				return err
			}},
			"shared": {true, func() error {
				_, err := r.Update(r.Context(), r.caller, p.ID, Draft{IsGlobal: patch.Of(true)})
				return err
			}},
			"disable": {true, func() error { _, err := r.Disable(r.Context(), r.caller, p.ID, patch.Of("x")); return err }},
		} {
			told = nil
			if err := change.do(); err != nil || (len(told) > 0) != change.told {
				r.Errorf("%s: told %v, %v", name, told, err)
			}
		}
		told = nil
		if err := r.Delete(r.Context(), r.caller, p.ID); err != nil || len(told) == 0 {
			r.Errorf("delete: told %v, %v", told, err)
		}
	})
}

// The activity says who switched what off or on, and why, and where the app went.
func TestActivityOfOff(t *testing.T) {
	each(t, func(r rig) {
		p, versions := r.built("export const a = 1", "export const a = 2")
		why := patch.Of("bad")
		_, withdrawn := r.Withdraw(r.Context(), r.caller, p.ID, Withdrawal{Number: 1, Reason: why})
		_, restored := r.Restore(r.Context(), r.caller, p.ID, 1)
		_, disabled := r.Disable(r.Context(), r.caller, p.ID, why)
		_, enabled := r.Enable(r.Context(), r.caller, p.ID)
		_, moved := r.Withdraw(r.Context(), r.caller, p.ID, Withdrawal{Number: 2, Reason: why, GoTo: patch.Of(int64(1))})
		found, err := r.Activity(r.Context(), r.caller, "", "", page.Page{Limit: 6})
		if err := errors.Join(withdrawn, restored, disabled, enabled, moved, err); err != nil || len(found.Items) != 6 {
			r.Fatal(err)
		}
		on, off := `"before":"bad","after":null`, `"before":null,"after":"bad"`
		for i, want := range []string{
			`withdrawn versions.2.reason ` + off, fmt.Sprintf(`upgraded source "before":%q,"after":%q`, versions[1].SHA256, versions[0].SHA256),
			`enabled reason ` + on, `disabled reason ` + off, `restored versions.1.reason ` + on, `withdrawn versions.1.reason ` + off,
		} {
			part := strings.SplitN(want, " ", 3)
			e, change := found.Items[i], `[{"action":"changed","field":"`+part[1]+`",`+part[2]+`}]`
			if string(e.Verb) != part[0] || e.Changes != change || e.User.ID != r.caller.UserID {
				r.Errorf("%s by %d: %s, want %s", e.Verb, e.User.ID, e.Changes, want)
			}
		}
	})
}
