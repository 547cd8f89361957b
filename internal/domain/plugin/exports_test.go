package plugin

import (
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
)

// An app counts as exporting by its current capabilities and by whether it is shared now.
func TestExporting(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(Draft{Name: patch.Of("x")})
		events, jobs := patch.Of(`{"methods":["processEvent"]}`), patch.Of(`{"jobs":["sync"]}`)
		for _, c := range []struct {
			what  string
			draft Draft
			want  int
		}{
			{"with another name", Draft{Name: patch.Of("y")}, 0},
			{"with capabilities", Draft{Capabilities: events}, 1},
			{"with another name again", Draft{Name: patch.Of("z")}, 1},
			{"shared", Draft{IsGlobal: patch.Of(true)}, 0},
			{"shared, with other capabilities", Draft{Capabilities: jobs}, 1},
			{"shared, with those of before", Draft{Capabilities: events}, 0},
			{"shared, with what is spelt otherwise", Draft{Capabilities: patch.Of(`{"METHODS":["processEvent"]}`)}, 1},
			{"no longer shared", Draft{IsGlobal: patch.Of(false)}, 1},
			{"without capabilities", Draft{Capabilities: patch.Of(`{}`)}, 0},
		} {
			r.update(p.ID, c.draft)
			found, err := r.Exporting(r.Context(), r.caller, page.First)
			if err != nil || found.Count != c.want || len(found.Items) != c.want {
				r.Errorf("%s: %d of %d, %v", c.what, len(found.Items), found.Count, err)
			}
		}
		name, shared := patch.Of("x"), patch.Of(true)
		r.create(Draft{Name: name, Capabilities: jobs})
		r.create(Draft{Name: name, IsGlobal: shared})
		both := r.create(Draft{Name: name, Capabilities: jobs, IsGlobal: shared})
		found, err := r.Exporting(r.Context(), r.elsewhereOwner(), page.First)
		if err != nil || found.Count != 1 || len(found.Items) != 1 || found.Items[0].ID != both.ID {
			r.Errorf("another organization: %+v, %v", found, err)
		}
	})
}
