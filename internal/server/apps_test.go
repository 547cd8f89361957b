package server_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/infra/upstream/upstreamtest"
)

const site = "export function inject({ config }: { config: { n: number } }): number { return config.n + 1 }\n"

// publish makes a repository with one app per tag.
func publish(t *testing.T, h *upstreamtest.Host, name string, tags ...string) *upstreamtest.Repo {
	t.Helper()
	r := h.Repo(t, name)
	for _, tag := range tags {
		r.Tag(t, tag, r.Commit(t, files(tag)))
	}
	return r
}

func files(tag string) map[string]string {
	return map[string]string{
		"plugin.json": `{"name": "Banner", "description": "Shows ` + tag + `.", "config": [{"key": "n", "type": "number", "default": 1.50}]}`,
		"site.ts":     site + "export const tag = '" + tag + "'\n",
	}
}

func custom(r *upstreamtest.Repo, tag string) client.AppDraft {
	return client.AppDraft{PluginType: client.PluginCustom, URL: r.URL, Tag: tag}
}

func TestLifeOfAnApp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		ctx := t.Context()
		host := upstreamtest.NewHost(t)
		repo := publish(t, host, "banner", "v1.0.0", "v1.1.0", "v2.0.0-rc.1")

		app := must(s.CreateApp(ctx, custom(repo, "v1.0.0")))(t)
		if app.Name != "Banner" || app.Description != "Shows v1.0.0." || app.Tag != "v1.0.0" || app.LatestTag != "v1.1.0" || app.URL != repo.URL {
			t.Errorf("installed %+v", app)
		}
		if got, want := string(app.ConfigSchema), `[{"key":"n","type":"number","default":1.50}]`; got != want {
			t.Errorf("config_schema %s, want %s", got, want)
		}
		_, err := s.CreateApp(ctx, client.AppDraft{PluginType: client.PluginCustom, URL: strings.Replace(repo.URL, "http:", "HTTP:", 1) + ".git/"})
		refused(t, err, http.StatusBadRequest, "unique", "url")

		app = must(s.UpgradeApp(ctx, app.ID, client.Upgrade{}))(t)
		if app.Tag != "v1.1.0" || app.Description != "Shows v1.1.0." {
			t.Errorf("upgraded to %+v", app)
		}
		source := must(s.GetSource(ctx, app.ID))(t)
		if source.Source["site.ts"] != files("v1.1.0")["site.ts"] || source.Bundle == nil {
			t.Errorf("source %+v", source)
		}
		host.Fail(http.StatusInternalServerError)
		app = must(s.UpgradeApp(ctx, app.ID, client.Upgrade{AppPatch: client.AppPatch{Tag: new("v1.0.0")}}))(t)
		if app.Tag != "v1.0.0" || app.Description != "Shows v1.0.0." || app.LatestTag != "v1.1.0" {
			t.Errorf("rolled back to %+v", app)
		}
		_, err = s.UpgradeApp(ctx, app.ID, client.Upgrade{})
		refused(t, err, http.StatusBadGateway, "upstream_unavailable", "")
		host.Intercept(nil)

		repo.Tag(t, "v1.1.0", repo.Commit(t, files("v1.1.0 moved")))
		_, err = s.UpgradeApp(ctx, app.ID, client.Upgrade{})
		refused(t, err, http.StatusBadRequest, "content_changed", "tag")
		if e, _ := errors.AsType[*client.Error](err); e.Type != "validation_error" || !slices.Equal(e.Errors, []client.Fault{e.Fault}) ||
			!strings.HasPrefix(e.Detail, "The tag v1.1.0 was moved upstream since it was installed: from commit ") {
			t.Errorf("content changed: %+v", e)
		}
		app = must(s.UpgradeApp(ctx, app.ID, client.Upgrade{AcceptChanged: true}))(t)
		if app.Description != "Shows v1.1.0 moved." {
			t.Errorf("accepted %+v", app)
		}
		versions := must(s.ListVersions(ctx, app.ID, client.Range{}))(t)
		if versions.Count != 3 || versions.Results[0].Version != 3 || !versions.Results[0].Current || versions.Results[2].Tag != "v1.0.0" {
			t.Errorf("versions %+v", versions)
		}
		diffs := must(s.DiffVersions(ctx, app.ID, 2, 1))(t)
		if len(diffs.Files) != 2 || !strings.Contains(diffs.Files[1].Diff, "--- a/site.ts\n+++ b/site.ts\n@@ ") ||
			!strings.Contains(diffs.Files[1].Diff, "+export const tag = 'v1.1.0'\n") {
			t.Errorf("diffs %+v", diffs)
		}
		if err := s.DeleteApp(ctx, app.ID); err != nil {
			t.Error(err)
		}
		_, err = s.ListVersions(ctx, app.ID, client.Range{})
		refused(t, err, http.StatusNotFound, "not_found", "")
		var done []string
		for e, err := range s.AllActivity(ctx, client.ActivityFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			done = append(done, e.Activity)
		}
		if got := strings.Join(done, " "); got != "uninstalled upgraded upgraded upgraded installed" {
			t.Errorf("activity %s", got)
		}
	})
}

// A review of an upgrade takes the parameters of the upgrade, leads where it would lead, and is refused as it would be.
func TestReviewOfAnUpgrade(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		host := upstreamtest.NewHost(t)
		repo := publish(t, host, "review", "v1.0.0", "v1.1.0", "v2.0.0")
		app := itoa(must(s.CreateApp(t.Context(), custom(repo, "v1.0.0")))(t).ID)
		before := s.send(t, http.MethodGet, "/"+app, "")
		leads := func(query, start, diff string) {
			t.Helper()
			got := s.send(t, http.MethodGet, "/"+app+"/upgrade"+query, "")
			if got.status != http.StatusOK || !strings.HasPrefix(got.body, start) || !strings.Contains(got.body, diff) {
				t.Errorf("%s: %d %s; want %s", query, got.status, got.body, start)
			}
		}
		fails := func(query, body string, status int, says string) {
			t.Helper()
			reviewed := s.send(t, http.MethodGet, "/"+app+"/upgrade"+query, "")
			upgraded := s.send(t, http.MethodPost, "/"+app+"/upgrade", body)
			if reviewed.status != status || upgraded.status != status || reviewed.body != upgraded.body || !strings.Contains(reviewed.body, says) {
				t.Errorf("%s: %d %s; the upgrade: %d %s", query, reviewed.status, reviewed.body, upgraded.status, upgraded.body)
			}
		}
		leads("", `{"version":null,"tag":"v2.0.0","commit":"`, "+export const tag = 'v2.0.0'")
		leads("?tag=v1.1.0", `{"version":null,"tag":"v1.1.0","commit":"`, "+export const tag = 'v1.1.0'")
		leads("?tag=v1.1.0&version=1", `{"version":1,"tag":"v1.0.0","commit":"`, `"files":[]`)
		leads("?tag=v1.0.0", `{"version":1,"tag":"v1.0.0","commit":"`, `"files":[]`)
		fails("?tag=none", `{"tag":"none"}`, http.StatusBadRequest, `"attr":"tag"`)

		moved := repo.Commit(t, files("moved"))
		repo.Tag(t, "v1.0.0", moved)
		fails("?tag=v1.0.0", `{"tag":"v1.0.0"}`, http.StatusBadRequest, `"content_changed"`)
		fails("?tag=v1.0.0&accept_changed=false", `{"tag":"v1.0.0","accept_changed":false}`, http.StatusBadRequest, `"content_changed"`)
		leads("?tag=v1.0.0&accept_changed=true", `{"version":null,"tag":"v1.0.0","commit":"`+moved+`"`, "+export const tag = 'moved'")

		host.Fail(http.StatusInternalServerError)
		leads("?tag=v1.0.0", `{"version":1,"tag":"v1.0.0","commit":"`, `"files":[]`) // the stored one, as the upstream does not answer
		fails("?tag=v1.0.0&accept_changed=true", `{"tag":"v1.0.0","accept_changed":true}`, http.StatusBadGateway, `"upstream_unavailable"`)
		if after := s.send(t, http.MethodGet, "/"+app, ""); after.body != before.body {
			t.Errorf("after the reviews: %s, before: %s", after.body, before.body)
		}
	})
}

func TestSource(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		app := must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Mine"}))(t)
		update := func(files map[string]*string) client.AppSource {
			t.Helper()
			return must(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: files}))(t)
		}
		first := update(map[string]*string{"site.ts": new(site), "README.md": new("# Mine")})
		if first.Bundle == nil || len(first.SourceFiles) != 2 || first.SourceFiles[1].Status != "transpiled" || first.SourceFiles[0].Status != "raw" {
			t.Fatalf("first %+v", first)
		}
		broken := update(map[string]*string{"site.ts": new("export const a: = 1")})
		if f := broken.SourceFiles[1]; f.Status != "error" || f.Line != 1 || f.Column != 17 || f.Error == "" || *broken.Bundle != *first.Bundle {
			t.Errorf("broken %+v %+v", broken.SourceFiles, broken.Bundle)
		}
		served := browse(t, http.MethodGet, first.Bundle.URL, nil)
		if served.status != http.StatusOK || !strings.Contains(served.body, "as inject") {
			t.Errorf("the last good bundle: %+v", served)
		}
		renamed := update(map[string]*string{"plugin.json": new(`{"name": " Ours ", "config": {"a": {"default": 1}}}`), "site.ts": nil})
		if renamed.Name != "Ours" || string(renamed.ConfigSchema) != `{"a":{"default":1}}` || renamed.Bundle != nil {
			t.Errorf("renamed %+v", renamed)
		}
		s.send(t, http.MethodPatch, "/"+itoa(app.ID), `{"name": "Mine", "config_schema": [1.0]}`)
		read := s.send(t, http.MethodGet, "/"+itoa(app.ID)+"/source", "")
		if back := s.send(t, http.MethodPatch, "/"+itoa(app.ID)+"/update_source", read.body); back.body != read.body || !strings.Contains(read.body, `"name":"Mine"`) {
			t.Errorf("sent back as it was read: %s, read %s", back.body, read.body)
		}
		_, err := s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"plugin.json": new("{"), "a.ts": new("")}})
		refused(t, err, http.StatusBadRequest, "invalid_input", "source")
		dotted := s.send(t, http.MethodPatch, "/"+itoa(app.ID)+"/update_source", `{"lib.ts": "export const b = 1", "README.md": null, "description": "D"}`)
		if dotted.status != http.StatusOK || !strings.Contains(dotted.body, `"source":{"lib.ts":"export const b = 1","plugin.json":`) ||
			!strings.Contains(dotted.body, `"description":"D"`) {
			t.Errorf("keys with a dot: %+v", dotted)
		}
		back := must(s.UpgradeApp(t.Context(), app.ID, client.Upgrade{Version: new(int64(1))}))(t)
		again := must(s.GetSource(t.Context(), back.ID))(t)
		if *again.Bundle != *first.Bundle || len(again.Source) != 2 {
			t.Errorf("back at %+v", again)
		}
		_, err = s.UpgradeApp(t.Context(), app.ID, client.Upgrade{Version: new(int64(99))})
		refused(t, err, http.StatusBadRequest, "invalid_input", "version")
	})
}
