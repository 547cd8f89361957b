package plugin

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/source"
	"foyer/internal/infra/upstream/upstreamtest"
)

func (r rig) upgrade(id int64, m Move) {
	r.Helper()
	if _, err := r.Upgrade(r.Context(), r.caller, id, m); err != nil {
		r.Fatal(err)
	}
}

// An upgrade sets the fields in the request that the version's plugin.json does not name, whether the version is
// fetched or stored. A version keeps its config_schema.
func TestUpgradeSetsWhatTheManifestDoesNot(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		repo.Tag(r, "v1.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "one", "config": [1], "publicJobs": {"a": 1}}`}))
		p := r.install(repo)
		repo.Tag(r, "v2.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "two"}`}))
		repo.Tag(r, "v3.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "three", "config": [3]}`}))
		body := Draft{Name: patch.Of("body"), ConfigSchema: patch.Of("[9]"), PublicJobs: patch.Of("[8]")}
		for _, c := range []struct {
			tag                string
			body               Draft
			name, config, jobs string
		}{
			{"v2.0.0", body, "two", "[9]", "[8]"},
			{"v3.0.0", body, "three", "[3]", "[8]"},
			{"v2.0.0", body, "two", "[9]", "[8]"},
			{"v1.0.0", body, "one", "[1]", `{"a":1}`},
			{"v2.0.0", Draft{}, "two", "[9]", ""}, // the version's own
		} {
			c.body.Tag = patch.Of(c.tag)
			p, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Draft: c.body})
			if err != nil || p.Name != c.name || p.ConfigSchema != c.config || p.PublicJobs != c.jobs {
				r.Errorf("%s: %q %s %s, %v; want %+v", c.tag, p.Name, p.ConfigSchema, p.PublicJobs, err, c)
			}
		}
	})
}

// Upgrades to one version, each with another config_schema, keep as many saved versions as saves do.
func TestUpgradesKeepTheNewestSaved(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		repo.Tag(r, "v1.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "one"}`, "site.ts": "export function inject() {}"}))
		p := r.install(repo)
		for i := range maxSaved + 5 {
			m := Move{Version: patch.Of("1"), Draft: Draft{ConfigSchema: patch.Of(fmt.Sprintf("[%d]", i))}}
			r.upgrade(p.ID, m)
		}
		found, err := r.Versions(r.Context(), r.caller, p.ID, page.Page{Limit: 1000})
		if err != nil || found.Count != maxSaved+1 || found.Items[0].Number != maxSaved+6 || !found.Items[0].Current || found.Items[maxSaved].Commit == "" {
			r.Errorf("%d versions: %v", found.Count, err)
		}
	})
}

// A review says what an upgrade would do, for stored versions and others, and changes nothing.
func TestReview(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		repo.Tag(r, "v1.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "one"}`, "site.ts": "// 1", "gone.md": "x"}))
		p := r.install(repo)
		repo.Tag(r, "v2.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "one", "config": [2]}`, "site.ts": "export function inject() {}"}))
		rows := r.count(`SELECT COUNT(*) FROM plugin_versions`)
		review := func(m Move) Review {
			r.Helper()
			to, err := r.Review(r.Context(), r.caller, p.ID, m)
			if err != nil {
				r.Fatal(err)
			}
			return to
		}
		files := func(to Review) (names []string) {
			for _, f := range to.Files {
				names = append(names, f.Name)
			}
			return names
		}
		to := review(Move{})
		if to.Tag != "v2.0.0" || to.Number != 0 || to.Schema != "[2]" || to.Bundle.Size == 0 || !slices.Equal(files(to), []string{"gone.md", "plugin.json", "site.ts"}) {
			r.Errorf("the newest: %+v, %q", to.Version, files(to))
		}
		if to := review(Move{Version: patch.Of("1")}); to.Tag != "v1.0.0" || to.Number != 1 || len(to.Files) != 0 {
			r.Errorf("what it is at: %+v, %q", to.Version, files(to))
		}
		after, err := r.Get(r.Context(), r.caller, p.ID)
		if err != nil || after.Revision != p.Revision || after.Tag != "v1.0.0" || r.count(`SELECT COUNT(*) FROM plugin_versions`) != rows {
			r.Errorf("a review changes something: %+v, %+v, %v", p, after, err)
		}
		if _, err := r.Review(r.Context(), r.caller, p.ID, Move{Draft: Draft{Tag: patch.Of("v9")}}); !fault.Is(err, fault.Invalid) {
			r.Error("a tag that is not there:", err)
		}
		own := r.create(Draft{Name: patch.Of("own")})
		if _, err := r.Review(r.Context(), r.caller, own.ID, Move{}); !fault.Is(err, fault.Invalid) {
			r.Error("without an upstream:", err)
		}
		stranger := r.caller
		stranger.Level = access.Member
		if _, err := r.Review(r.Context(), stranger, p.ID, Move{}); !fault.Is(err, fault.Denied) {
			r.Error("of a member:", err)
		}
	})
}

// A review compares with the version that the app is at once the upstream has answered. An app that was deleted
// meanwhile is not found.
func TestReviewOfWhatChangesMeanwhile(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo := host.Repo(r, "app")
		commit := repo.Commit(r, map[string]string{"plugin.json": `{"name": "one"}`})
		repo.Tag(r, "v1.0.0", commit)
		p := r.install(repo)
		repo.Tag(r, "v2.0.0", commit)
		review := func(meanwhile func() error) (Review, error) {
			host.Intercept(func(http.ResponseWriter, *http.Request) bool {
				host.Intercept(nil)
				if err := meanwhile(); err != nil {
					r.Error(err)
				}
				return false
			})
			return r.Review(r.Context(), r.caller, p.ID, Move{})
		}
		to, err := review(func() error {
			_, err := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{}, []source.Edit{{Name: "new.md", Text: patch.Of("x")}})
			return err
		})
		if err != nil || len(to.Files) != 1 || to.Files[0].Name != "new.md" {
			r.Errorf("%+v, %v", to.Files, err)
		}
		if _, err := review(func() error { return r.Delete(r.Context(), r.caller, p.ID) }); !fault.Is(err, fault.NotFound) {
			r.Error(err)
		}
	})
}

// A review distinguishes a version that does not compile, and keeps the bundle and settings of the one before, from one
// that has no entry and so no bundle. The upgrade does what the review says.
func TestReviewOfWhatMakesNoBundle(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		publish := func(tag, config, site, text string) {
			repo.Tag(r, tag, repo.Commit(r, map[string]string{"plugin.json": `{"name": "app", "config": [` + config + `]}`, site: text}))
		}
		publish("v1.0.0", "1", "site.ts", "export function inject() {}")
		p := r.install(repo)
		publish("v2.0.0", "2", "site.ts", "export function inject() {")
		publish("v3.0.0", "3", "src/site.ts", "export function inject() {}")
		for _, c := range []struct {
			tag, schema string
			has, keeps  bool
		}{{"v2.0.0", "[1]", true, true}, {"v3.0.0", "[3]", false, false}, {"v2.0.0", "[1]", true, true}, {"v1.0.0", "[1]", true, false}} {
			m := Move{Draft: Draft{Tag: patch.Of(c.tag)}}
			to, err := r.Review(r.Context(), r.caller, p.ID, m)
			if err != nil || to.Keeps != c.keeps || to.Schema != c.schema || (to.Bundle.SHA256 != "") != c.has {
				r.Errorf("%s: %+v, %v; want %+v", c.tag, to, err, c)
			}
			r.upgrade(p.ID, m)
			versions := r.versions(p.ID)
			at := versions[slices.IndexFunc(versions, func(v Version) bool { return v.Current })]
			if at.Bundle != to.Bundle || at.Schema != to.Schema {
				r.Errorf("%s: %+v, reviewed as %+v", c.tag, at, to)
			}
		}
	})
}

// A review is refused where the upgrade is: for a withdrawn version, and for a version that compiles to its bundle.
func TestReviewOfWithdrawn(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		publish := func(tag, site string) Move {
			repo.Tag(r, tag, repo.Commit(r, map[string]string{"plugin.json": fmt.Sprintf(`{"name": %q}`, tag), "site.ts": site}))
			return Move{Draft: Draft{Tag: patch.Of(tag)}}
		}
		publish("v1.0.0", "export const a = 1")
		p := r.install(repo)
		second := publish("v2.0.0", "export const a = 2")
		r.upgrade(p.ID, second)
		r.withdraw(p.ID, Withdrawal{Number: 2, Reason: patch.Of("leaks"), GoTo: patch.Of(int64(1))})
		for name, test := range map[string]struct {
			Move
			field string
		}{
			"newest": {Move{}, "tag"}, "tag": {second, "tag"}, "version": {Move{Version: patch.Of("2")}, "version"}, "bundle": {publish("v1.5.0", "export const a = 2"), ""},
		} {
			_, reviewed := r.Review(r.Context(), r.caller, p.ID, test.Move)
			_, upgraded := r.Upgrade(r.Context(), r.caller, p.ID, test.Move)
			if !fault.Is(upgraded, fault.Invalid) || fault.Of(upgraded)[0].Field != test.field || fmt.Sprint(reviewed) != fmt.Sprint(upgraded) {
				r.Errorf("%s: %v, upgrade: %v", name, reviewed, upgraded)
			}
		}
		r.refuses(p.ID, second.Draft, fault.Invalid, "tag")
	})
}

// An upgrade with the commit of a review is refused if it leads elsewhere: to a moved tag, a newer tag or another
// version.
func TestUpgradeToReviewedCommit(t *testing.T) {
	each(t, func(r rig) {
		repo := r.publish(upstreamtest.NewHost(r))
		p := r.install(repo)
		publish := func(tag, site string) {
			repo.Tag(r, tag, repo.Commit(r, map[string]string{"plugin.json": `{"name": "app"}`, "site.ts": site}))
		}
		review := func(m Move) Move {
			r.Helper()
			to, err := r.Review(r.Context(), r.caller, p.ID, m)
			if err != nil {
				r.Fatal(err)
			}
			m.Commit = patch.Of(to.Commit)
			return m
		}
		refused := func(what string, id int64, m Move) {
			r.Helper()
			if _, err := r.Upgrade(r.Context(), r.caller, id, m); !fault.Is(err, fault.ContentChanged) || fault.Of(err)[0].Field != "commit" {
				r.Errorf("%s: %v", what, err)
			}
		}
		publish("v2.0.0", "// reviewed")
		tagged, newest := review(Move{Draft: Draft{Tag: patch.Of("v2.0.0")}}), review(Move{})
		publish("v2.0.0", "// not reviewed")
		refused("a tag that was moved", p.ID, tagged)
		newest = review(newest)
		publish("v3.0.0", "// newer")
		refused("a newer tag", p.ID, newest)
		first := review(Move{Version: patch.Of("1")})
		refused("another version", p.ID, Move{Version: first.Version, Commit: newest.Commit})
		refused("no version", r.create(named("local")).ID, Move{Draft: named("renamed"), Commit: first.Commit})
		for _, m := range []Move{first, review(tagged), review(Move{})} {
			if _, err := r.Upgrade(r.Context(), r.caller, p.ID, m); err != nil {
				r.Error(err)
			}
		}
		if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got.Tag != "v3.0.0" {
			r.Errorf("at %+v, %v", got, err)
		}
	})
}

// Only the app that was installed with a tag has its version, not another app with the same tag.
func TestUpgradeToTagOfTwoApps(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		for _, name := range []string{"a", "b"} {
			repo := host.Repo(r, name)
			repo.Tag(r, "v1.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "first"}`}))
			p := r.install(repo)
			repo.Tag(r, "v2.0.0", repo.Commit(r, map[string]string{"plugin.json": fmt.Sprintf(`{"name": %q}`, name)}))
			p, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Draft: Draft{Tag: patch.Of("v2.0.0")}})
			if err != nil || p.Name != name {
				r.Errorf("%s: %+v, %v", name, p, err)
			}
		}
	})
}

// A saved version describes the app as an installed one does, if it has a plugin.json.
func TestUpgradeToSaved(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(Draft{Name: patch.Of("A"), ConfigSchema: patch.Of("[0]"), PublicJobs: patch.Of("[0]")})
		r.save(p.ID, "note.md", patch.Of("no manifest"))
		r.save(p.ID, "plugin.json", patch.Of(`{"name": "B", "config": [2], "publicJobs": {"j": 2}}`))
		r.save(p.ID, "plugin.json", patch.Of(`{"name": "C"}`))
		for _, c := range []struct {
			version            int
			name, config, jobs string
		}{
			{2, "B", "[2]", `{"j":2}`},
			{3, "C", "", ""},
			{2, "B", "[2]", `{"j":2}`},
			{1, "B", "[0]", `{"j":2}`}, // the config_schema it came with
		} {
			p, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Version: patch.Of(strconv.Itoa(c.version))})
			if err != nil || p.Name != c.name || p.ConfigSchema != c.config || p.PublicJobs != c.jobs {
				r.Errorf("version %d: %q %s %s, %v; want %+v", c.version, p.Name, p.ConfigSchema, p.PublicJobs, err, c)
			}
		}
	})
}

// An app whose files were changed goes back to a tag as it was installed.
func TestUpgradeBackToTag(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		for _, tag := range []string{"v1.0.0", "v2.0.0"} {
			repo.Tag(r, tag, repo.Commit(r, map[string]string{"plugin.json": `{"name": "x"}`, "note.md": tag}))
		}
		p := r.create(Draft{Type: patch.Of("custom"), URL: patch.Of(repo.URL), Tag: patch.Of("v1.0.0")})
		r.save(p.ID, "note.md", patch.Of("edited"))
		for _, step := range []struct {
			tag    string
			number int
		}{{"v2.0.0", 3}, {"v1.0.0", 1}} {
			r.upgrade(p.ID, Move{Draft: Draft{Tag: patch.Of(step.tag)}})
			if v := r.versions(p.ID)[step.number-1]; !v.Current || v.Tag != step.tag || v.Commit == "" {
				r.Errorf("at %s: %+v", step.tag, v)
			}
		}
	})
}

// A version that did not compile keeps the bundle it was stored with, whichever one is served when an upgrade goes back
// to it. Sites that are pinned to it get no other.
func TestUpgradeToBroken(t *testing.T) {
	const manifest, broken, good = `{"name": "x"}`, "export const a: = 1", "export const a = "
	each(t, func(r rig) {
		served := func(id int64) Bundle {
			s, err := r.Source(r.Context(), r.caller, id)
			if err != nil {
				r.Fatal(err)
			}
			return s.Bundle
		}
		goTo := func(id int64, m Move) Bundle {
			r.upgrade(id, m)
			return served(id)
		}
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		repo.Tag(r, "v1.0.0", repo.Commit(r, map[string]string{"plugin.json": manifest, "site.tsx": broken}))
		p := r.install(repo)
		repo.Tag(r, "v2.0.0", repo.Commit(r, map[string]string{"plugin.json": manifest, "site.ts": good + "2", "site.tsx": broken}))
		second := goTo(p.ID, Move{})
		if back := goTo(p.ID, Move{Draft: Draft{Tag: patch.Of("v1.0.0")}}); back != (Bundle{}) || second == (Bundle{}) {
			r.Errorf("back at v1.0.0: %+v, before %+v", back, second)
		}

		p = r.create(named("saved"))
		first := r.save(p.ID, "site.ts", patch.Of(good+"3")).Bundle
		r.save(p.ID, "site.ts", patch.Of(broken))
		third := r.save(p.ID, "site.ts", patch.Of(good+"4")).Bundle
		for _, c := range []struct {
			version string
			want    Bundle
		}{{"2", first}, {"1", first}, {"3", third}, {"2", first}} {
			if got := goTo(p.ID, Move{Version: patch.Of(c.version)}); got != c.want {
				r.Errorf("version %s: %+v, want %+v", c.version, got, c.want)
			}
		}
	})
}

// When several upgrades go to a version that is not stored yet, the first stores it and the others find it.
func TestUpgradeTogether(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo := r.publish(host)
		p := r.install(repo)
		for i, m := range []Move{{}, {AcceptChanged: patch.Of(true)}} {
			repo.Tag(r, "v2.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "y"}`, "n.md": strconv.Itoa(i)}))
			during(host, func() {
				if _, err := r.Upgrade(r.Context(), r.caller, p.ID, m); err != nil {
					r.Error(err)
				}
			})
			second, err := r.Upgrade(r.Context(), r.caller, p.ID, m)
			if err != nil || second.Tag != "v2.0.0" || second.Name != "y" {
				r.Errorf("the second: %+v, %v", second, err)
			}
			versions, err := r.Versions(r.Context(), r.caller, p.ID, page.First)
			if err != nil || versions.Count != i+2 || versions.Items[0].Number != int64(i+2) || !versions.Items[0].Current {
				r.Errorf("%d versions, %v", versions.Count, err)
			}
			if entries, err := r.Activity(r.Context(), r.caller, "", "", page.First); err != nil || entries.Count != i+2 {
				r.Errorf("%d entries of activity, %v", entries.Count, err)
			}
		}
	})
}

// If a tag is moved between two simultaneous upgrades, it has changed for the later one.
func TestUpgradeTogetherToMovedTag(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo := r.publish(host)
		p := r.install(repo)
		first := repo.Commit(r, map[string]string{"plugin.json": `{"name": "first"}`})
		repo.Tag(r, "v2.0.0", first)
		repo.Tag(r, "still-served", first)
		during(host, func() {
			repo.Tag(r, "v2.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "moved"}`}))
			if _, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{}); err != nil {
				r.Error(err)
			}
		})
		if _, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{}); !fault.Is(err, fault.ContentChanged) {
			r.Errorf("got %v", err)
		}
		if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got.Name != "moved" {
			r.Errorf("stored %+v, %v", got, err)
		}
	})
}

// during calls do once, during the next fetch of a version.
func during(host *upstreamtest.Host, do func()) {
	host.Intercept(func(_ http.ResponseWriter, req *http.Request) bool {
		if req.Method == http.MethodPost {
			host.Intercept(nil)
			do()
		}
		return false
	})
}
