package server_test

import (
	"testing"

	"foyer/client"
)

// Whoever puts an app on a site is told whether it runs there, and if not, why.
func TestConsolePlacesWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		on := must[client.Site](t)(s.CreateSite(t.Context(), client.SitePatch{Name: new("On")}))
		off := must[client.Site](t)(s.CreateSite(t.Context(), client.SitePatch{Name: new("Off")}))
		must[client.Site](t)(s.UpdateSite(t.Context(), off.ID, client.SitePatch{Enabled: new(false)}))
		disabled, runs := s.withSite(t, "export const a = 1"), s.withSite(t, "export const a = 1")
		must[client.App](t)(s.DisableApp(t.Context(), disabled.ID, "It leaks."))
		empty := must[client.App](t)(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "Mine"}))
		v := visit(t, s, s.key)
		for _, tc := range []struct {
			app, site int64
			why       string
		}{
			{empty.ID, on.ID, "has no"}, {disabled.ID, on.ID, "disabled"}, {runs.ID, off.ID, "The site is off: its pages run no app."},
		} {
			placed := v.post("/console/@current/apps/"+itoa(tc.app)+"/place", "do", "place", "site", itoa(tc.site))
			v.want(200, "Mine is on the site, but does not run.", placed)
			v.want(200, `<div class="alert"><p>`, placed)
			v.want(200, tc.why, placed)
		}
		v.want(200, "Mine is on the site, and runs.", v.post("/console/@current/sites/"+itoa(on.ID), "do", "place", "app", itoa(runs.ID)))
	})
}
