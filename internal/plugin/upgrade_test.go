package plugin

import (
	"strconv"
	"testing"

	"foyer/internal/patch"
	"foyer/internal/upstream/upstreamtest"
)

// Of the fields of an upgrade, those that the version's plugin.json does not say
// are set, whether the version is fetched or was held.
func TestUpgradeSetsWhatTheManifestDoesNot(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		repo.Tag(r, "v1.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "one", "config": [1], "publicJobs": {"a": 1}}`}))
		p := r.create(Draft{Type: patch.Of("custom"), URL: patch.Of(repo.URL)})
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
			{"v2.0.0", Draft{}, "two", "", ""},
		} {
			c.body.Tag = patch.Of(c.tag)
			p, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Draft: c.body})
			if err != nil || p.Name != c.name || p.ConfigSchema != c.config || p.PublicJobs != c.jobs {
				r.Errorf("%s: %q %s %s, %v; want %+v", c.tag, p.Name, p.ConfigSchema, p.PublicJobs, err, c)
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
			{1, "B", "[2]", `{"j":2}`},
		} {
			p, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Version: patch.Of(strconv.Itoa(c.version))})
			if err != nil || p.Name != c.name || p.ConfigSchema != c.config || p.PublicJobs != c.jobs {
				r.Errorf("version %d: %q %s %s, %v; want %+v", c.version, p.Name, p.ConfigSchema, p.PublicJobs, err, c)
			}
		}
	})
}
