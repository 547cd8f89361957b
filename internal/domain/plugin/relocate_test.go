package plugin

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/source"
	"foyer/internal/infra/upstream/upstreamtest"
)

func (r rig) update(id int64, d Draft) Plugin {
	r.Helper()
	p, err := r.Update(r.Context(), r.caller, id, d)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// refuses checks that a change is refused and changes nothing.
func (r rig) refuses(id int64, d Draft, kind fault.Kind, field string) {
	r.Helper()
	before, err := r.Get(r.Context(), r.caller, id)
	if err != nil {
		r.Fatal(err)
	}
	_, err = r.Update(r.Context(), r.caller, id, d)
	if !fault.Is(err, kind) || fault.Of(err)[0].Field != field {
		r.Errorf("got %v, want kind %d on %q", err, kind, field)
	}
	if after, err := r.Get(r.Context(), r.caller, id); err != nil || after != before {
		r.Errorf("it is %+v, %v", after, err)
	}
}

// An update of an installed app's tag is an upgrade to it.
func TestUpdateTag(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		for _, tag := range []string{"v1.0.0", "v2.0.0"} {
			repo.Tag(r, tag, repo.Commit(r, map[string]string{"plugin.json": `{"name": "App ` + tag + `"}`, "site.ts": "export const tag = '" + tag + "'"}))
		}
		p := r.create(Draft{Type: patch.Of("custom"), URL: patch.Of(repo.URL), Tag: patch.Of("v1.0.0")})
		first, err := r.Source(r.Context(), r.caller, p.ID)
		if err != nil {
			r.Fatal(err)
		}
		r.refuses(p.ID, Draft{Tag: patch.Of("v9")}, fault.Invalid, "tag")
		r.refuses(p.ID, Draft{Tag: patch.Of("")}, fault.Invalid, "tag")
		r.refuses(p.ID, Draft{Tag: patch.Of("v2.0.0"), Type: patch.Of("local")}, fault.InvalidChoice, "plugin_type")
		p = r.update(p.ID, Draft{Tag: patch.Of("v2.0.0"), Icon: patch.Of("new.png")})
		second, err := r.Source(r.Context(), r.caller, p.ID)
		if err != nil || p.Tag != "v2.0.0" || p.Name != "App v2.0.0" || p.Icon != "new.png" || second.Bundle == first.Bundle {
			r.Errorf("at %+v with %+v, %v", p, second.Bundle, err)
		}
		if p = r.update(p.ID, Draft{Tag: patch.Of("v2.0.0"), Icon: patch.Of("old.png")}); p.Icon != "old.png" || p.Tag != "v2.0.0" {
			r.Errorf("the same tag: %+v", p)
		}
		p = r.update(p.ID, Draft{Tag: patch.Of("v1.0.0")})
		if back, err := r.Source(r.Context(), r.caller, p.ID); err != nil || back.Bundle != first.Bundle || p.Tag != "v1.0.0" {
			r.Errorf("back at %+v, %v", back.Bundle, err)
		}
		entries, err := r.Activity(r.Context(), r.caller, "", "", page.First)
		var verbs []string
		for _, e := range entries.Items {
			verbs = append(verbs, string(e.Verb))
		}
		if got := strings.Join(verbs, " "); err != nil || got != "upgraded updated upgraded installed" {
			r.Errorf("activity %s, %v", got, err)
		}
		_, err = r.UpdateSource(r.Context(), r.caller, p.ID, Draft{Tag: patch.Of("mine")}, []source.Edit{{Field: "source", Name: "a.md", Text: patch.Of("x")}})
		if !fault.Is(err, fault.Invalid) || fault.Of(err)[0].Field != "tag" {
			r.Errorf("a save with another tag: %v", err)
		}
	})
}

// Without an upstream, a tag is a label.
func TestUpdateLabel(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		r.save(p.ID, "a.md", patch.Of("x"))
		if p = r.update(p.ID, Draft{Tag: patch.Of("mine"), URL: patch.Of("ignored")}); p.Tag != "mine" || p.URL != "" {
			r.Errorf("got %+v", p)
		}
		edit := source.Edit{Field: "source", Name: "a.md", Text: patch.Of("y")}
		if saved, err := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{Tag: patch.Of("again mine")}, []source.Edit{edit}); err != nil || saved.Tag != "again mine" {
			r.Errorf("saved as %s, %v", saved.Tag, err)
		}
	})
}

// A custom app's repository can move; the app's versions stay.
func TestUpdateURL(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		old, moved, other := host.Repo(r, "old"), host.Repo(r, "moved"), host.Repo(r, "other")
		for _, repo := range []*upstreamtest.Repo{old, moved, other} {
			repo.Tag(r, "v1.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "App"}`}))
		}
		moved.Tag(r, "v2.0.0", moved.Commit(r, map[string]string{"plugin.json": `{"name": "App 2"}`}))
		p := r.install(old)
		r.install(other)
		for url, want := range map[string]struct {
			kind  fault.Kind
			field string
		}{
			"": {fault.Invalid, "url"}, "ftp://example.com/a": {fault.Invalid, "url"}, other.URL + ".git": {fault.NotUnique, "url"},
			host.URL + "/nowhere": {fault.UpstreamUnavailable, ""}, host.Repo(r, "empty").URL: {fault.Invalid, "url"},
		} {
			r.refuses(p.ID, Draft{URL: patch.Of(url)}, want.kind, want.field)
		}
		r.refuses(p.ID, Draft{URL: patch.Of(moved.URL), Tag: patch.Of("v9")}, fault.Invalid, "tag")
		requests := host.Requests()
		if same := r.update(p.ID, Draft{URL: patch.Of(old.URL)}); same != p || host.Requests() != requests {
			r.Errorf("the url that is shown: %+v", same)
		}
		secret := strings.Replace(moved.URL, "://", "://joe:hunter2@", 1)
		p = r.update(p.ID, Draft{URL: patch.Of(secret), Icon: patch.Of("new.png")})
		if p.URL != moved.URL || p.Tag != "v1.0.0" || p.LatestTag != "v2.0.0" || p.Icon != "new.png" {
			r.Errorf("moved: %+v", p)
		}
		requests = host.Requests()
		for _, url := range []string{secret, moved.URL} { // as it is stored, and as it is shown
			if same := r.update(p.ID, Draft{URL: patch.Of(url)}); same != p || host.Requests() != requests {
				r.Errorf("the url that it has: %+v", same)
			}
		}
		var asked string
		host.Intercept(func(_ http.ResponseWriter, req *http.Request) bool {
			user, password, _ := req.BasicAuth()
			asked = user + ":" + password + " " + req.URL.Path
			return false
		})
		p, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{})
		if err != nil || p.Tag != "v2.0.0" || !strings.HasPrefix(asked, "joe:hunter2 /moved/") {
			r.Errorf("at %+v, asked %s, %v", p, asked, err)
		}
		entries, err := r.Activity(r.Context(), r.caller, "", "", page.First)
		if e := entries.Items[1]; err != nil || e.Verb != activity.Updated || !strings.Contains(e.Changes, `"field":"url"`) ||
			!strings.Contains(e.Changes, `"field":"credentials"`) || strings.Contains(e.Changes, "hunter2") {
			r.Errorf("activity %+v, %v", entries.Items, err)
		}
		r.update(p.ID, Draft{URL: patch.Of(strings.Replace(secret, "hunter2", "hunter3", 1))})
		if !strings.HasPrefix(asked, "joe:hunter3 /moved/") {
			r.Errorf("another password: asked %s", asked)
		}
		p = r.update(p.ID, Draft{URL: patch.Of(old.URL), Tag: patch.Of("v1.0.0")})
		if found, err := r.Versions(r.Context(), r.caller, p.ID, page.First); err != nil || found.Count != 2 || p.Tag != "v1.0.0" || p.URL != old.URL {
			r.Errorf("both at once: %+v, %d versions, %v", p, found.Count, err)
		}
	})
}

// A repository's answer is not stored if the app comes from another repository by then.
func TestAnswerAfterMove(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		old, moved := host.Repo(r, "old"), host.Repo(r, "moved")
		for _, repo := range []*upstreamtest.Repo{old, moved} {
			repo.Tag(r, "v1.0.0", repo.Commit(r, map[string]string{"plugin.json": `{"name": "App"}`}))
		}
		p := r.install(old)
		old.Tag(r, "v9.0.0", old.Commit(r, map[string]string{"plugin.json": `{"name": "Old"}`}))
		for _, ask := range []func(rig) error{
			func(r rig) error {
				got, _, err := r.CheckForUpdates(r.Context(), r.caller, p.ID)
				if got != p {
					r.Errorf("checked: %+v", got)
				}
				return err
			},
			func(r rig) error {
				_, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{})
				return refused(err)
			},
			func(r rig) error {
				_, err := r.Update(r.Context(), r.caller, p.ID, Draft{Tag: patch.Of("v9.0.0")})
				return refused(err)
			},
		} {
			host.Intercept(func(http.ResponseWriter, *http.Request) bool {
				host.Intercept(nil)
				p = r.update(p.ID, Draft{URL: patch.Of(moved.URL)})
				return false
			})
			if err := ask(r.another(upstreamtest.Allow())); err != nil {
				r.Error(err)
			}
			if got, err := r.Get(r.Context(), r.caller, p.ID); err != nil || got != p || p.LatestTag != "v1.0.0" {
				r.Errorf("stored %+v, %v", got, err)
			}
			r.update(p.ID, Draft{URL: patch.Of(old.URL)})
		}
		moved.Tag(r, "v2.0.0", moved.Commit(r, map[string]string{"plugin.json": `{"name": "App 2"}`}))
		old.Tag(r, "v10.0.0", "refs/heads/main")
		during(host, func() { r.another(upstreamtest.Allow()).check(p.ID, "v10.0.0", true) })
		if p = r.update(p.ID, Draft{URL: patch.Of(moved.URL), Tag: patch.Of("v2.0.0")}); p.LatestTag != "v2.0.0" {
			r.Errorf("moved while the old one was checked: %+v", p)
		}
	})
}

// refused returns an error unless err refuses a change for now.
func refused(err error) error {
	if fault.Is(err, fault.Busy) {
		return nil
	}
	return cmp.Or(err, errors.New("not refused"))
}

// A change that can be refused without the upstream is refused before its host is looked up.
func TestRefusedUnasked(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo := host.Repo(r, "app")
		repo.Commit(r, map[string]string{"plugin.json": `{"name": "App"}`})
		p := r.install(repo)
		requests := host.Requests()
		r.caller.Organization.AppAccess = access.InstallApps
		for _, d := range []Draft{{IsGlobal: patch.Of(true)}, {Type: patch.Of("local")}} {
			d.Tag, d.URL = patch.Of("v2"), patch.Of(host.URL+"/other")
			_, err := r.Update(r.Context(), r.caller, p.ID, d)
			_, same := r.Upgrade(r.Context(), r.caller, p.ID, Move{Draft: d})
			if err == nil || same == nil || fault.Is(err, fault.Internal) || fault.Is(same, fault.Internal) {
				r.Errorf("got %v and %v", err, same)
			}
		}
		if asked := host.Requests() - requests; asked != 0 {
			r.Errorf("%d requests to the host", asked)
		}
		if _, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{}); err != nil {
			r.Errorf("what is not shared: %v", err)
		}
	})
}
