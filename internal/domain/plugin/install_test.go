package plugin

import (
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
	})
}
