package api_test

import (
	"strings"
	"testing"
)

// The activity of a deleted app shows it with the type that it had.
func TestActivityOfDeletedApp(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"name":"x","plugin_type":"inline"}`)
		r.wantStatus(r.key, "DELETE", apps+id, "", 204)
		for _, query := range []string{"", "?offset=1"} { // the newest entry, and the oldest
			got := r.wantStatus(r.key, "GET", "/pipeline_frontend_apps/activity"+query, "", 200)
			if !strings.HasPrefix(got.body, `{"id":`+id+`,"plugin_type":"inline","name":"x",`) {
				r.t.Errorf("%s: %s", query, got.body)
			}
		}
	})
}
