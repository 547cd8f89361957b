package lastuse_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/lastuse"
)

// What could not be written down is tried again, unless there was a later use; ids come in
// order, and each once.
func TestFlush(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		type use struct {
			ID int64
			At time.Time
		}
		early, late := d.Now(), d.Now().Add(time.Hour)
		var n lastuse.Notes[int64]
		flush := func(failure error) (written []use) {
			t.Helper()
			err := n.Flush(t.Context(), d, func(_ context.Context, _ *db.Tx, id int64, at time.Time) error {
				written = append(written, use{id, at})
				if id == 2 {
					return failure
				}
				return nil
			})
			if !errors.Is(err, failure) {
				t.Errorf("got %v, want %v", err, failure)
			}
			return written
		}
		n.Note(3, late)
		n.Note(3, early)
		n.Note(1, early)
		n.Note(2, early)
		flush(errors.New("broken"))
		n.Note(1, late)
		if diff := cmp.Diff([]use{{1, late}, {2, early}, {3, late}}, flush(nil)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if again := flush(nil); again != nil {
			t.Errorf("written again: %v", again)
		}
	})
}
