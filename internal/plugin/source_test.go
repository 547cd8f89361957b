package plugin

import (
	"testing"

	"foyer/internal/db"
	"foyer/internal/fault"
	"foyer/internal/patch"
)

// An app that is deleted between two looks at it is not there, rather than broken.
func TestSourceDuringDelete(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		r.save(p.ID, "a.md", patch.Of("a"))
		err := r.DB.InTx(r.Context(), func(tx *db.Tx) error { return db.Run(r.Context(), tx, `DELETE FROM plugin_versions`) })
		if err != nil {
			r.Fatal(err)
		}
		if _, err := r.Source(r.Context(), r.caller, p.ID); !fault.Is(err, fault.NotFound) {
			r.Errorf("got %v", err)
		}
	})
}
