package server_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/upstream/upstreamtest"
)

// If a git host does not answer, the page says so, and when it last did.
func TestConsoleChecksWithoutTheHost(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		host := upstreamtest.NewHost(t)
		repo := publish(t, host, "check", "v1.0.0")
		cfg := config.Config{Database: url, DataDir: t.TempDir()}
		s := start(t, cfg)
		app := must(s.CreateApp(t.Context(), custom(repo, "")))(t)
		host.Fail(http.StatusInternalServerError)
		at := time.Now().Add(-time.Hour)
		dbtest.Exec(t, dbtest.Open(t, url), "UPDATE plugin_sources SET checked_at = $1", at)
		cfg.Bootstrap.Key = s.key
		v := visit(t, start(t, cfg), s.key) // this server has not asked the host yet
		checked := v.post("/console/@current/apps/"+itoa(app.ID), "do", "check")
		v.want(502, "The git host does not answer. The newest known tag is from "+at.UTC().Format("2 January 2006, 15:"), checked)
		several := v.post("/console/@current/apps", "do", "check", "app", itoa(app.ID), "app", itoa(app.ID+1))
		v.want(200, "0 checked; 0 of them can be upgraded. Not checked, since the host did not answer: 1.", several)
	})
}

// An app whose repository has moved, or whose host has new credentials, gets the new address. Credentials are not shown.
func TestConsoleRelocatesApps(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		host := upstreamtest.NewHost(t)
		old, moved := publish(t, host, "old", "v1.0.0"), publish(t, host, "moved", "v1.0.0", "v1.1.0")
		app := must(s.CreateApp(t.Context(), custom(old, "")))(t)
		page := "/console/@current/apps/" + itoa(app.ID)
		v := visit(t, s, s.key)
		shown := v.get(page)
		v.want(200, `required value="`+old.URL+`"`, shown)
		v.want(200, "Banner comes from "+old.URL+" now.", v.post(page, shown.fill(t, "relocate")...))
		secret := strings.Replace(moved.URL, "://", "://joe:canary@", 1)
		refused := v.post(page, shown.fill(t, "relocate", "url", secret+"/nowhere")...)
		v.want(502, `required value="`+moved.URL+`/nowhere"`, refused)
		v.want(502, "Part of the address is not shown", refused)
		v.want(400, "Write https://x.example/banner", v.post(page, shown.fill(t, "relocate", "url", "git@x.example:banner")...))
		said := v.post(page, shown.fill(t, "relocate", "url", secret)...)
		v.want(200, "Banner comes from "+moved.URL+" now.", said)
		v.want(200, "Review the upgrade to v1.1.0", said)
		if strings.Contains(refused.body+said.body, "canary") {
			t.Error("a credential is shown")
		}
		mine := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Mine"}))(t)
		for _, body := range []string{v.get("/console/@current/apps/" + itoa(mine.ID)).body, visit(t, s, join(t, s)).get(page).body} {
			if strings.Contains(body, `value="relocate"`) {
				t.Errorf("is offered where it is refused:\n%s", body)
			}
		}
	})
}

// If two users describe an app at the same time, each changes only what they have edited.
func TestConsoleDescribesWhatWasEdited(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Banner", Description: "One"}))(t)
		page := "/console/@current/apps/" + itoa(app.ID)
		v := visit(t, s, s.key)
		form := func(changed ...string) []string { return v.get(page).fill(t, "describe", changed...) }
		named, described := form("name", "Line"), form("description", strings.Repeat("ű ", 5000), "is_global", "on")
		v.want(200, "The description of Banner is saved. Banner is shared with every organization.", v.post(page, described...))
		v.want(200, "The app is now called Line.", v.post(page, named...))
		v.want(200, "Nothing of Line was changed.", v.post(page, form("name", " Line ", "description", strings.Repeat("ű ", 5000))...)) // spaces at the ends
		got := must(s.GetApp(t.Context(), app.ID))(t)
		if got.Name != "Line" || got.Description != strings.TrimSpace(strings.Repeat("ű ", 5000)) || !got.IsGlobal {
			t.Errorf("%+v", got)
		}
		refused := v.post(page, form("name", strings.Repeat("x", 201), "description", "")...)
		v.want(400, `name="was.name" value="Line"`, refused)
		v.want(200, "Line is no longer shared with other organizations.", v.post(page, form("is_global", "")...))
		v.want(200, "The name and description of Banner are saved.", v.post(page, form("name", "Banner", "description", "One")...))
	})
}

// An app is said to have edits even if it went back to an old version that has them.
func TestConsoleEditsOfAnOldVersion(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	each(t, func(t *testing.T, s *running) {
		repo := publish(t, host, "edits"+filepath.Base(t.Name()), "v1.0.0")
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginCustom, URL: repo.URL}))(t)
		for i := range 12 {
			text := "export const x = " + strconv.Itoa(i)
			must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": &text}}))(t)
		}
		must(s.UpgradeApp(t.Context(), app.ID, client.Upgrade{Version: new(int64(2))}))(t)
		v := visit(t, s, s.key)
		v.want(200, "leaves those edits behind", v.get("/console/@current/apps/"+itoa(app.ID)))
	})
}

// A change of files is shown as it was made, even if the same files came back later. If it is no longer kept, the page
// says so.
func TestConsoleComparesByDigest(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := s.withSite(t, "export const a = 1", "export const a = 2", "export const a = 1")
	all := must(s.ListVersions(t.Context(), app.ID, client.Range{}))(t).Results
	v := visit(t, s, s.key)
	page := "/console/@current/apps/" + itoa(app.ID) + "/compare?version="
	v.want(200, "From version 1 to 2", v.get(page+all[1].SHA256+"&against="+all[2].SHA256))
	v.want(200, "From version 2 to 3", v.get(page+all[0].SHA256+"&against="+all[1].SHA256))
	v.want(404, "One of the two versions is not kept any more, or not among the newest 1000.", v.get(page+all[0].SHA256+"&against="+strings.Repeat("0", 64)))
}

// If the current version has the same bundle as the one to withdraw, the form asks for a version to go to.
func TestConsoleWithdrawsWithTheSameBundle(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := s.withSite(t, "export const a = 1", "export const a = 2", "export const a = 2 // the same")
	v := visit(t, s, s.key)
	page := "/console/@current/apps/" + itoa(app.ID) + "/versions/2"
	v.want(200, "Change to version", v.get(page))
	v.want(200, `name="version" ><option value="1">1</option></select>`, v.get(page))
	refused := v.post(page, "do", "withdraw", "reason", "It leaks.", "version", "")
	v.want(400, `<a href="#version">Version: Must be given`, refused)
	v.want(400, `"><option value="1">1</option></select>`, refused)
	v.want(400, "Change to version", v.post(page, "do", "withdraw", "reason", "", "version", "1"))
	v.want(200, "Version 2 is withdrawn", v.post(page, v.get(page).fill(t, "withdraw", "reason", "It leaks.", "version", "1")...))
}

// Another release of the compiler may make another bundle from the same files: such a version is not withdrawn as well.
func TestConsoleWithdrawsWithAnotherBundle(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		s := start(t, config.Config{Database: url})
		app := s.withSite(t, "export const a = 1", "export const a = 2", "export const a = 1")
		d, earlier := dbtest.Open(t, url), strings.Repeat("f", 64)
		dbtest.Exec(t, d, `INSERT INTO contents (sha256, content) VALUES ($1, 'export{}')`, earlier)
		dbtest.Exec(t, d, `UPDATE plugin_versions SET bundle = $1 WHERE plugin_id = $2 AND number = 1`, earlier, app.ID)
		v := visit(t, s, s.key)
		page := "/console/@current/apps/" + itoa(app.ID) + "/versions/"
		if _, form, _ := strings.Cut(v.get(page+"3").body, `id="stop"`); !strings.Contains(form, `<option value="2">2</option><option value="1">1</option></select>`) {
			t.Errorf("where to go:\n%s", form)
		}
		first := v.get(page + "1")
		v.lacks(200, "Change to version</label>", first)
		v.want(200, "Version 1 is withdrawn", v.post(page+"1", first.fill(t, "withdraw", "reason", "It leaks.")...))
		all := must(s.ListVersions(t.Context(), app.ID, client.Range{}))(t).Results
		if !all[0].Current || all[0].Withdrawn != nil || all[2].Withdrawn == nil {
			t.Errorf("got %+v", all)
		}
	})
}

// A version with the same files has the same bundle: it is withdrawn as well, and cannot be the version to go to.
func TestConsoleWithdrawsWithTheSameFiles(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := s.withSite(t, "export const a = 1", "export const a = 2", "export const a = 1")
	v := visit(t, s, s.key)
	page := "/console/@current/apps/" + itoa(app.ID) + "/versions/"
	if got := v.get(page + "1").body; !strings.Contains(got, `<option value="2">2</option></select>`) || strings.Contains(got, `<option value="3">3</option></select>`) ||
		!strings.Contains(got, "Change to version</label>") {
		t.Errorf("where to go:\n%s", got)
	}
	v.want(200, "Version 1 is withdrawn", v.post(page+"1", v.get(page+"1").fill(t, "withdraw", "reason", "It leaks.", "version", "2")...))
	v.lacks(200, `value="withdraw"`, v.get(page+"2"))
}

// The only version of an app cannot be withdrawn; the page says what to do instead.
func TestConsoleWithdrawsNotTheOnlyVersion(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{})
	app := s.withSite(t, "export const a = 1")
	v := visit(t, s, s.key)
	page := v.get("/console/@current/apps/" + itoa(app.ID) + "/versions/1")
	v.want(200, `#change">disable the app</a> to stop it`, page)
	v.lacks(200, `value="withdraw"`, page)
}

// If an upgrade makes no bundle, the review says what that does to pages, for one app and for several.
func TestConsoleUpgradesToNoBundle(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	each(t, func(t *testing.T, s *running) {
		repo := publish(t, host, "none"+filepath.Base(t.Name()), "v1.0.0")
		app := must(s.CreateApp(t.Context(), custom(repo, "")))(t)
		v := visit(t, s, s.key)
		page := "/console/@current/apps/" + itoa(app.ID) + "/upgrade?tag="
		several := func(tag string) shown {
			return v.post("/console/@current/apps", "do", "review", "id", itoa(app.ID)+" "+tag)
		}
		repo.Tag(t, "v2.0.0", repo.Commit(t, map[string]string{"plugin.json": `{"name": "Banner"}`, "site.ts": "export const a = ;"}))
		repo.Tag(t, "v3.0.0", repo.Commit(t, map[string]string{"plugin.json": `{"name": "Banner"}`, "index.js": site}))
		v.want(200, "Of an earlier version, with its fields: this one does not compile.", v.get(page+"v2.0.0"))
		v.want(200, "of an earlier version: this one does not compile", several("v2.0.0"))
		v.want(200, "pages stop running it.", v.get(page+"v3.0.0"))
		v.want(200, "pages stop running it", several("v3.0.0"))
	})
}

// A field of both versions whose accepted values have changed is not "the same": sites that have it may be held.
func TestConsoleUpgradesToChangedFields(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	each(t, func(t *testing.T, s *running) {
		repo := host.Repo(t, "fields"+filepath.Base(t.Name()))
		publish := func(tag, fields string) {
			repo.Tag(t, tag, repo.Commit(t, map[string]string{"plugin.json": `{"name": "Banner", "config": [` + fields + `]}`, "site.ts": site}))
		}
		const same = `{"key": "same", "type": "string", "required": true, "site": true}, `
		publish("v1.0.0", same+`{"key": "color", "type": "string", "choices": ["navy", "teal"], "site": true}, {"key": "host", "type": "string", "site": true}`)
		app := must(s.CreateApp(t.Context(), custom(repo, "")))(t)
		publish("v2.0.0", same+`{"key": "color", "type": "string", "choices": ["navy", "black"], "site": true}, {"key": "host", "type": "string", "required": true, "site": true}`)
		v := visit(t, s, s.key)
		for _, review := range []shown{
			v.get("/console/@current/apps/" + itoa(app.ID) + "/upgrade?tag=v2.0.0"),
			v.post("/console/@current/apps", "do", "review", "id", itoa(app.ID)+" v2.0.0"),
		} {
			v.want(200, `<bdi>color</bdi> <span class="tag new">changed</span>, <bdi>host</bdi> <span class="tag bad">changed, required</span>`, review)
			v.want(200, "Sites keep the version they run until their values are what the fields take.", review)
			v.lacks(200, "<bdi>same</bdi>", review)
		}
	})
}

// confirmed returns what a browser sends to confirm the review of several upgrades.
func confirmed(review shown) []string {
	form := []string{"do", "upgrade"}
	for _, id := range review.hidden("id") {
		form = append(form, "id", id)
	}
	return form
}

// Several apps are upgraded after a review; a refused upgrade does not stop the others.
func TestConsoleUpgradesSeveral(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		host := upstreamtest.NewHost(t)
		var ids []string
		form := []string{"do", "review"}
		for n := range 3 {
			repo := publish(t, host, "app"+strconv.Itoa(n), "v1.0.0")
			app := must(s.CreateApp(t.Context(), custom(repo, "")))(t)
			ids = append(ids, itoa(app.ID))
			if n < 2 {
				repo.Tag(t, "v2.0.0", repo.Commit(t, map[string]string{
					"plugin.json": `{"name": "Banner", "config": [{"key": "title", "name": "Title", "type": "string", "required": true, "site": true}]}`,
					"site.ts":     site,
				}))
			}
			if _, _, err := s.CheckForUpdates(t.Context(), app.ID); err != nil {
				t.Fatal(err)
			}
			form = append(form, "id", itoa(app.ID)+" v2.0.0")
		}
		tags := func() (all []string) {
			for _, app := range must(s.ListApps(t.Context(), client.AppFilter{}, client.Range{}))(t).Results {
				all = append(all, app.Tag)
			}
			return all
		}
		v := visit(t, s, s.key)
		const apps = "/console/@current/apps"
		v.want(200, `name="do" value="review"`, v.get(apps))
		review := v.post(apps, form...)
		for _, text := range []string{
			"<bdi>v1.0.0</bdi> → <bdi>v2.0.0</bdi>", `<bdi>Title</bdi> <span class="tag bad">new, required`, "Sites keep the version they run", " bytes</td>",
			`/apps/` + ids[0] + `/upgrade?tag=v2.0.0">2 files`, "cannot be upgraded", "Upgrade the other 2",
		} {
			v.want(200, text, review)
		}
		if got := tags(); slices.Contains(got, "v2.0.0") {
			t.Errorf("upgraded by a review: %v", got)
		}
		v.want(200, "2 upgraded</h1>", v.post(apps, confirmed(review)...))
		if got := tags(); !slices.Equal(got, []string{"v2.0.0", "v2.0.0", "v1.0.0"}) {
			t.Errorf("upgraded to %v", got)
		}
		done := v.post(apps, "do", "upgrade", "id", ids[2]+" v2.0.0", "id", ids[0]+" v1.0.0", "id", "12345 v1.0.0")
		for _, text := range []string{"1 upgraded, 2 not</h1>", ">not upgraded<", ">App 12345<", "It is gone"} {
			v.want(200, text, done)
		}
		if got := tags(); !slices.Equal(got, []string{"v1.0.0", "v2.0.0", "v1.0.0"}) {
			t.Errorf("then to %v", got)
		}
		v.want(400, "Choose at least one.", v.post(apps, "do", "review"))
	})
}

// An upgrade does what was reviewed: if the app has changed meanwhile, the page says so.
func TestConsoleUpgradesWhatWasReviewed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		repo := publish(t, upstreamtest.NewHost(t), "reviewed", "v1.0.0", "v1.1.0", "v1.2.0")
		app := must(s.CreateApp(t.Context(), custom(repo, "v1.0.0")))(t)
		v := visit(t, s, s.key)
		const apps = "/console/@current/apps"
		page := apps + "/" + itoa(app.ID) + "/upgrade"
		alone := v.get(page+"?tag=v1.1.0").fill(t, "upgrade")
		several := confirmed(v.post(apps, "do", "review", "id", itoa(app.ID)+" v1.1.0"))
		to := func(tag string) {
			t.Helper()
			must(s.UpgradeApp(t.Context(), app.ID, client.Upgrade{AppPatch: client.AppPatch{Tag: &tag}}))(t)
		}
		to("v1.2.0")
		refused := v.post(page+"?tag=v1.1.0", alone...)
		v.want(412, "Somebody else has changed the app since this page was opened.", refused)
		v.want(412, "<bdi>v1.2.0</bdi> → <bdi>v1.1.0</bdi>", refused)
		v.want(400, "Tag: The repository has no tag", v.post(page, "do", "upgrade", "tag", "v9.9.9"))
		v.want(200, "Somebody else has changed the app since this page was opened.", v.post(apps, several...))
		if got := must(s.GetApp(t.Context(), app.ID))(t); got.Tag != "v1.2.0" {
			t.Errorf("at %s, which nobody has reviewed", got.Tag)
		}
		v.want(200, "Banner is now at v1.1.0.", v.post(page+"?tag=v1.1.0", refused.fill(t, "upgrade")...))
		to("v1.0.0")
		several = confirmed(v.post(apps, "do", "review", "id", itoa(app.ID)+" v1.1.0"))
		v.want(200, `<h1 tabindex="-1" autofocus>1 upgraded</h1>`, v.post(apps, several...))
	})
}

// If a tag is moved after the review, it is not installed; its new content is shown first.
func TestConsoleUpgradesToReviewedCommit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		repo := publish(t, upstreamtest.NewHost(t), "moving", "v1.0.0", "v2.0.0")
		app := must(s.CreateApp(t.Context(), custom(repo, "v1.0.0")))(t)
		v := visit(t, s, s.key)
		const apps = "/console/@current/apps"
		page := apps + "/" + itoa(app.ID) + "/upgrade"
		alone := v.get(page+"?tag=v2.0.0").fill(t, "upgrade")
		several := confirmed(v.post(apps, "do", "review", "id", itoa(app.ID)+" v2.0.0"))
		repo.Tag(t, "v2.0.0", repo.Commit(t, files("moved")))
		refused := v.post(page+"?tag=v2.0.0", alone...)
		v.want(400, "The upgrade leads to another commit than when this page was opened.", refused)
		v.want(400, "export const tag = 'moved'", refused)
		done := v.post(apps, several...)
		v.want(200, "The upgrade leads to another commit than the one reviewed: review it again.", done)
		v.want(200, "/apps/"+itoa(app.ID)+`/upgrade?tag=v2.0.0">Review it</a>`, done)
		if got := must(s.GetApp(t.Context(), app.ID))(t); got.Tag != "v1.0.0" {
			t.Errorf("at %s, which nobody has reviewed", got.Tag)
		}
		v.want(200, "Banner is now at v2.0.0.", v.post(page+"?tag=v2.0.0", refused.fill(t, "upgrade")...))
	})
}
