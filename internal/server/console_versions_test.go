package server_test

import (
	"path/filepath"
	"strconv"
	"testing"

	"foyer/client"
	"foyer/internal/upstream/upstreamtest"
)

// An app says that it has edits of its own also when it went back to an old version with them.
func TestConsoleEditsOfAnOldVersion(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	each(t, func(t *testing.T, s *running) {
		repo := publish(t, host, "edits"+filepath.Base(t.Name()), "v1.0.0")
		app := must[client.App](t)(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginCustom, URL: repo.URL}))
		for i := range 12 {
			text := "export const x = " + strconv.Itoa(i)
			must[client.AppSource](t)(s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"site.ts": &text}}))
		}
		must[client.App](t)(s.UpgradeApp(t.Context(), app.ID, client.Upgrade{Version: 2}))
		v := visit(t, s, s.key)
		v.want(200, "leaves those edits behind", v.get("/console/@current/apps/"+itoa(app.ID)))
	})
}
