package plugin

import (
	"strings"
	"testing"

	"foyer/internal/patch"
	"foyer/internal/upstream/upstreamtest"
)

// Credentials that could not be kept are refused before anything is fetched.
func TestInstallWithoutSealer(t *testing.T) {
	each(t, func(r rig) {
		host := upstreamtest.NewHost(r)
		r.Sealer = nil
		url := strings.Replace(host.URL, "://", "://joe:secret@", 1) + "/app"
		_, err := r.Create(r.Context(), r.caller, Draft{Type: patch.Of("custom"), URL: patch.Of(url)})
		if err == nil || !strings.Contains(err.Error(), "FOYER_SECRET") || host.Requests() != 0 {
			r.Errorf("%v, after %d requests", err, host.Requests())
		}
	})
}
