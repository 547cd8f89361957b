package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// file saves a file of an app.
func (r rig) file(id int64, name, text string) {
	r.Helper()
	edit := source.Edit{Field: "source", Name: name, Text: patch.Of(text)}
	if _, err := r.plugins.UpdateSource(r.Context(), r.caller, id, plugin.Draft{}, []source.Edit{edit}); err != nil {
		r.Fatal(err)
	}
}

// A placement cannot be pinned to a version that a save is just removing; it stays as it is.
func TestPinnedDuringASave(t *testing.T) {
	each(t, func(r rig) {
		s, p := r.site(r.caller, "shop"), r.app(r.caller, "app", "")
		r.place(r.caller, s, p)
		for i := range 100 {
			r.file(p.ID, "note.md", fmt.Sprint("note ", i))
		}
		start, end := dbtest.Meanwhile(r, r.DB, func() error {
			_, err := r.Change(r.Context(), r.caller, s.ID, p.ID, PlacementDraft{Version: patch.Of(int64(1))})
			if fault.Is(err, fault.Invalid) {
				return nil
			}
			return cmp.Or(err, errors.New("pinned to a version that is removed"))
		})
		r.plugins.Follow = func(ctx context.Context, tx *db.Tx, c access.Caller, id int64) error {
			start() // removed, but not yet for other transactions
			return r.FollowApp(ctx, tx, c, id)
		}
		r.file(p.ID, "note.md", "the last")
		end()
		r.held("afterwards", s, p, 102, "")
	})
}
