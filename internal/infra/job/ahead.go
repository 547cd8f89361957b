package job

import (
	"context"
	"time"

	"foyer/internal/infra/db"
)

// ahead is a job whose time was set at a moment in the future: by a clock that has since stepped back, or by a server
// whose clock is ahead of this one's.
type ahead struct {
	id    int64
	runAt time.Time
}

func (a *ahead) fields() []any { return []any{&a.id, &a.runAt} }

// catchUp makes those jobs due that were ahead at the last look, a lease ago, and have not changed since: a server that
// works on one would have renewed its lease. It returns the jobs to look at next time.
func (q *Queue) catchUp(ctx context.Context, before []ahead) (now []ahead, err error) {
	if now, err = findAhead(ctx, q.db, q.db.Now()); err != nil || len(now) == 0 {
		return nil, err
	}
	unchanged := map[int64]time.Time{}
	for _, a := range before {
		unchanged[a.id] = a.runAt
	}
	return now, q.db.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, a := range now {
			if !a.runAt.Equal(unchanged[a.id]) {
				continue
			}
			if err := makeDue(ctx, tx, a, q.db.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}
