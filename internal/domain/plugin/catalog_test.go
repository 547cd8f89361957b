package plugin

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/infra/upstream/upstreamtest"
)

// offering is the rig with another catalog.
func (r rig) offering(list string) rig {
	r.Helper()
	file := filepath.Join(r.TempDir(), "catalog.json")
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		r.Fatal(err)
	}
	r.Catalog = upstream.NewCatalog(file, egress.New(nil), slog.New(slog.DiscardHandler), r.DB.Now)
	return r
}

// A catalog may contain credentials, which callers must not see.
func TestCatalogShowsNoCredentials(t *testing.T) {
	each(t, func(r rig) {
		r = r.offering(`[{"name": "a", "url": "https://joe:secret@example.org/a?token=b"}, {"name": "b", "url": "joe:secret@example.org:b"}]`)
		found, err := r.ListCatalog(r.Context(), r.caller, page.First)
		if offers := found.Items; err != nil || len(offers) != 1 || offers[0].URL != "https://example.org/a" {
			r.Errorf("%+v, %v", offers, err)
		}
	})
}

// The catalog says which of its apps the caller's organization has installed, whatever others have.
func TestCatalogInstalled(t *testing.T) {
	each(t, func(r rig) {
		repo := r.publish(upstreamtest.NewHost(r))
		r = r.offering(fmt.Sprintf(`[{"name": "Listed", "url": %q}, {"name": "Next", "url": %[1]q}]`, repo.URL))
		r.install(repo)
		if last, err := r.ListCatalog(r.Context(), r.caller, page.Page{Limit: 1, Offset: 1}); err != nil || len(last.Items) != 1 || last.More {
			r.Errorf("the last page: %+v, %v", last, err)
		}
		another := r.caller
		another.Organization.ID = "another"
		for c, want := range map[access.Caller]bool{r.caller: true, another: false} {
			found, err := r.ListCatalog(r.Context(), c, page.Page{Limit: 1})
			if err != nil || len(found.Items) != 1 || found.Count != 2 || !found.More || found.Items[0].Installed != want {
				r.Errorf("to %s: %+v, %v", c.Organization.ID, found.Items, err)
			}
		}
	})
}

// An app of the catalog is installed and upgraded with the credentials in the given url, or with those in the catalog
// if the url has none.
func TestCatalogInstallWithCredentials(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		repo := r.publish(host)
		as := func(who string) string { return strings.Replace(repo.URL, "://", "://"+who+"@", 1) }
		r = r.offering(fmt.Sprintf(`[{"name": "Listed", "url": %q}]`, as("catalog:key")))
		for who, d := range map[string]Draft{
			"joe":     {URL: patch.Of(as("joe:secret") + ".git")},
			"catalog": {URL: patch.Of(repo.URL)},
		} {
			host.Intercept(func(w http.ResponseWriter, req *http.Request) bool {
				user, _, _ := req.BasicAuth()
				if user != who {
					w.WriteHeader(http.StatusUnauthorized)
				}
				return user != who
			})
			d.Type = patch.Of("repository")
			p := r.create(d)
			if _, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{}); err != nil || p.URL != repo.URL {
				r.Errorf("%s: at %s, upgrade: %v", who, p.URL, err)
			}
			if moved := r.update(p.ID, Draft{URL: patch.Of(host.URL + "/another")}); moved.URL != repo.URL {
				r.Errorf("%s: what is from the catalog moves to %s", who, moved.URL)
			}
			if err := r.Delete(r.Context(), r.caller, p.ID); err != nil {
				r.Fatal(err)
			}
		}
	})
}

// If plugin.json has no name, the app gets the one in the request; if that has none, the one in the catalog.
func TestCatalogNames(t *testing.T) {
	each(t, func(r rig) {
		repo := upstreamtest.NewHost(r).Repo(r, "app")
		r = r.offering(fmt.Sprintf(`[{"name": " Listed ", "url": %q}]`, repo.URL))
		for _, c := range []struct{ manifest, requested, want string }{
			{`{}`, "", "Listed"}, {`{}`, "Asked", "Asked"}, {`{"name": "Banner"}`, "", "Banner"}, {`{"name": "Banner"}`, "Asked", "Banner"},
		} {
			repo.Commit(r, map[string]string{"plugin.json": c.manifest})
			d := Draft{Type: patch.Of("repository"), URL: patch.Of(repo.URL)}
			if c.requested != "" {
				d.Name = patch.Of(c.requested)
			}
			p := r.create(d)
			if p.Name != c.want {
				r.Errorf("%+v: it is called %q", c, p.Name)
			}
			if err := r.Delete(r.Context(), r.caller, p.ID); err != nil {
				r.Fatal(err)
			}
		}
	})
}
