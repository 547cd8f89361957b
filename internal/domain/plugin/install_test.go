package plugin

import (
	"net/http"
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/base/seal"
	"foyer/internal/infra/upstream/upstreamtest"
)

// Credentials that cannot be sealed are refused before anything is fetched.
func TestInstallWithoutSecret(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		r.Box = seal.Box{}
		url := strings.Replace(host.URL, "://", "://joe:secret@", 1) + "/app"
		_, err := r.Create(r.Context(), r.caller, Draft{Type: patch.Of("custom"), URL: patch.Of(url)})
		if err == nil || !strings.Contains(err.Error(), "FOYER_SECRET") || host.Requests() != 0 {
			r.Errorf("%v, after %d requests", err, host.Requests())
		}
	})
}

// A name in plugin.json with only invisible characters counts as none.
func TestInstallWithInvisibleName(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		repo.Commit(r, map[string]string{"plugin.json": `{"name": "\u200b"}`})
		d := Draft{Type: patch.Of("custom"), URL: patch.Of(repo.URL)}
		if _, err := r.Create(r.Context(), r.caller, d); !fault.Is(err, fault.Required) {
			r.Errorf("got %v", err)
		}
		d.Name = patch.Of("Banner")
		if p := r.create(d); p.Name != "Banner" {
			r.Errorf("it is called %q", p.Name)
		}
		blank := Draft{Type: patch.Of("custom"), URL: patch.Of(r.publish(upstreamtest.NewHost(r)).URL), Name: patch.Of(" ")}
		if p := r.create(blank); p.Name != "x" {
			r.Errorf("with a blank name in the request, it is called %q", p.Name)
		}
	})
}

// An app of the organization with the same url is refused before anything is fetched, and also if it was installed
// meanwhile, whether the url is that of a new app or of one that moves.
func TestInstallTwice(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo, second := r.publish(host), host.Repo(r, "second")
		second.Tag(r, "v1.0.0", second.Commit(r, map[string]string{"plugin.json": `{"name": "y"}`}))
		p := r.install(second)
		for what, ask := range map[string]func() error{
			"new": func() error {
				_, err := r.Create(r.Context(), r.caller, Draft{Type: patch.Of("custom"), URL: patch.Of(repo.URL)})
				return err
			},
			"moves": func() error {
				_, err := r.Update(r.Context(), r.caller, p.ID, Draft{URL: patch.Of(repo.URL)})
				return err
			},
		} {
			var first Plugin
			host.Intercept(func(http.ResponseWriter, *http.Request) bool {
				host.Intercept(nil)
				first = r.another(upstreamtest.Allow()).install(repo)
				return false
			})
			if err := ask(); !fault.Is(err, fault.NotUnique) {
				r.Errorf("%s, installed meanwhile: %v", what, err)
			}
			requests := host.Requests()
			if err := ask(); !fault.Is(err, fault.NotUnique) || host.Requests() != requests {
				r.Errorf("%s, installed already: %v, after %d requests", what, err, host.Requests()-requests)
			}
			if err := r.Delete(r.Context(), r.caller, first.ID); err != nil {
				r.Fatal(err)
			}
		}
	})
}
