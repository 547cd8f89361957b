package plugin

import (
	"encoding/json"
	"strings"
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/activity"
)

// Neither the activity nor the exports contain secret defaults, and no change has two equal sides.
func TestSecretsStaySecret(t *testing.T) {
	each(t, func(r rig) {
		schema := func(secret string) patch.Field[string] {
			return patch.Of(`[{"key":"token","secret":true,"default":"` + secret + `"}]`)
		}
		p := r.create(Draft{Name: patch.Of("x"), ConfigSchema: schema("s3cret"), Capabilities: patch.Of(`{"a":1}`)})
		r.update(p.ID, Draft{ConfigSchema: schema("an0ther-s3cret")})
		r.update(p.ID, Draft{ConfigSchema: patch.Of(`[]`)})
		r.update(p.ID, Draft{ConfigSchema: schema("s3cret")})
		r.save(p.ID, "a.md", patch.Of("one"))
		r.save(p.ID, "a.md", patch.Of("two"))
		r.save(p.ID, "a.md", patch.Of("one"))
		r.upgrade(p.ID, Move{Version: patch.Of("1")})
		entries, err := r.Activity(r.Context(), r.caller, "", "", page.First)
		if err != nil || entries.Count != 8 {
			r.Fatalf("%d entries, %v", entries.Count, err)
		}
		for _, e := range entries.Items {
			var changes []activity.Change
			if err := json.Unmarshal([]byte(e.Changes), &changes); err != nil || len(changes) == 0 && e.Verb != activity.Installed {
				r.Errorf("%s: %s, %v", e.Verb, e.Changes, err)
			}
			for _, c := range changes {
				before, _ := json.Marshal(c.Before)
				after, _ := json.Marshal(c.After)
				if string(before) == string(after) {
					r.Errorf("two equal sides: %s", e.Changes)
				}
			}
			if strings.Contains(e.Changes, "s3cret") {
				r.Errorf("it tells: %s", e.Changes)
			}
		}
		found, err := r.Exporting(r.Context(), r.caller, page.First)
		if err != nil || found.Count != 1 || strings.Contains(found.Items[0].ConfigSchema, "s3cret") {
			r.Errorf("exports: %+v, %v", found, err)
		}
		if kept, err := r.Get(r.Context(), r.caller, p.ID); err != nil || !strings.Contains(kept.ConfigSchema, "s3cret") {
			r.Errorf("the app: %+v, %v", kept, err)
		}
	})
}
