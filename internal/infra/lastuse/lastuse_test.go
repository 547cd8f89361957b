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

// Flush retries uses that could not be stored, unless there was a later use. It calls write once for each id and
// organization, in order.
func TestFlush(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		type use struct {
			lastuse.Used
			At time.Time
		}
		early, late := d.Now(), d.Now().Add(time.Hour)
		first, second, third := lastuse.Used{ID: 1, OrganizationID: "Acme"}, lastuse.Used{ID: 2}, lastuse.Used{ID: 2, OrganizationID: "Acme"}
		var n lastuse.Notes
		flush := func(failure error) (written []use) {
			t.Helper()
			err := n.Flush(t.Context(), d, func(_ context.Context, _ *db.Tx, what lastuse.Used, at time.Time) error {
				written = append(written, use{what, at})
				if what == second {
					return failure
				}
				return nil
			})
			if !errors.Is(err, failure) {
				t.Errorf("got %v, want %v", err, failure)
			}
			return written
		}
		n.Note(third, late)
		n.Note(third, early)
		n.Note(first, early)
		n.Note(second, early)
		flush(errors.New("broken"))
		n.Note(first, late)
		if diff := cmp.Diff([]use{{first, late}, {second, early}, {third, late}}, flush(nil)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if again := flush(nil); again != nil {
			t.Errorf("written again: %v", again)
		}
	})
}
