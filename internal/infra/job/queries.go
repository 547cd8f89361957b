package job

import (
	"context"
	"errors"
	"strings"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

func (j *Job) fields() []any {
	return []any{&j.ID, &j.Kind, &j.Item, &j.Attempt, &j.CreatedAt}
}

func insert(ctx context.Context, tx *db.Tx, kind, item string, at time.Time) error {
	return db.Exec(ctx, tx, `
		INSERT INTO jobs (kind, item, created_at, run_at, set_at) VALUES ($1, $2, $3, $3, $3)
		ON CONFLICT (kind, item) DO NOTHING`, kind, item, at)
}

// Waiting counts the jobs that are not done.
func (q *Queue) Waiting(ctx context.Context) (int, error) {
	return db.One[int](ctx, q.db, nil, `SELECT COUNT(*) FROM jobs`)
}

// WaitingOf counts the waiting jobs of some kinds, on all servers.
func (q *Queue) WaitingOf(ctx context.Context, kinds ...string) (int, error) {
	var args []any
	query := `SELECT COUNT(*) FROM jobs WHERE kind IN (` + queries.Arg(&args, kinds...) + `)`
	return db.One[int](ctx, q.db, nil, query, args...)
}

// OldestOf returns the age of the oldest of these jobs; 0: there is none.
func (q *Queue) OldestOf(ctx context.Context, kinds ...string) (time.Duration, error) {
	var args []any
	query := `SELECT created_at FROM jobs WHERE kind IN (` + queries.Arg(&args, kinds...) + `) ORDER BY created_at LIMIT 1`
	at, err := db.One[time.Time](ctx, q.db, nil, query, args...)
	switch {
	case errors.Is(err, db.ErrNoRow):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return q.db.Now().Sub(at), nil
}

// group is some kinds of jobs.
type group struct {
	kinds []string
	many  bool // jobs may wait, a hundred thousand while a mail server is down
}

// due returns the condition for jobs of some kinds that are due at $1. Where there may be many, they are found in the
// order of their times: a column with something added to it is hidden from the engine, which would otherwise read all
// jobs of the kinds to find the first. Where there are few, they are found by their kinds, not among all that are due:
// the kinds are no arguments, so that PostgreSQL knows how few there are.
func (g group) due() string {
	kind := `kind`
	if g.many {
		kind += ` || ''`
	}
	return ` WHERE run_at <= $1 AND NOT is_held AND ` + kind + ` IN ('` + strings.Join(g.kinds, `', '`) + `')`
}

// anyDue checks without locks before nextDue locks, since there is usually nothing to do.
func anyDue(ctx context.Context, q db.Querier, now time.Time, g group) (bool, error) {
	return db.One[bool](ctx, q, nil, selectAny+g.due()+firstDue+`) AS first`, now)
}

func nextDue(ctx context.Context, tx *db.Tx, now time.Time, g group) (Job, error) {
	return db.One(ctx, tx, (*Job).fields, selectDue+g.due()+firstDue+` FOR UPDATE SKIP LOCKED`, now)
}

// selectAny looks for the first one, too: to find any, PostgreSQL might read all jobs.
const (
	selectDue = `SELECT id, kind, item, attempts, created_at FROM jobs`
	selectAny = `SELECT COUNT(*) > 0 FROM (SELECT 1 FROM jobs`
	firstDue  = ` ORDER BY run_at, id LIMIT 1`
)

// Hold stops all jobs of some kinds from being done, until Resume: the jobs of a restored backup may have been done since
// it was made.
func Hold(ctx context.Context, tx *db.Tx, kinds ...string) error {
	var args []any
	query := `UPDATE jobs SET is_held = TRUE WHERE kind IN (` + queries.Arg(&args, kinds...) + `)`
	return db.Exec(ctx, tx, query, args...)
}

// Held counts the jobs that are held.
func Held(ctx context.Context, q db.Querier) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM jobs WHERE is_held`)
}

// Resume releases the held jobs, and returns how many there are.
func Resume(ctx context.Context, tx *db.Tx) (int64, error) {
	return db.Changed(ctx, tx, `UPDATE jobs SET is_held = FALSE WHERE is_held`)
}

func claim(ctx context.Context, tx *db.Tx, j Job, now time.Time) error {
	return db.Exec(ctx, tx, `UPDATE jobs SET attempts = $2, run_at = $3, set_at = $4 WHERE id = $1`, j.ID, j.Attempt, now.Add(lease), now)
}

// end removes a job, or postpones it if there is to be another try.
func end(ctx context.Context, tx *db.Tx, j Job, next, now time.Time, again bool) (held bool, err error) {
	if again {
		return postpone(ctx, tx, j, next, now)
	}
	n, err := db.Changed(ctx, tx, `DELETE FROM jobs WHERE id = $1 AND attempts = $2`, j.ID, j.Attempt)
	return n == 1, err
}

// postpone checks the attempt, as end does, so that a server whose lease has ended does not overwrite the next server's
// work.
func postpone(ctx context.Context, tx *db.Tx, j Job, until, now time.Time) (held bool, err error) {
	n, err := db.Changed(ctx, tx, `UPDATE jobs SET run_at = $3, set_at = $4 WHERE id = $1 AND attempts = $2`, j.ID, j.Attempt, until, now)
	return n == 1, err
}

func findAhead(ctx context.Context, q db.Querier, now time.Time) ([]ahead, error) {
	return db.All(ctx, q, (*ahead).fields, `SELECT id, run_at FROM jobs WHERE set_at > $1`, now)
}

// makeDue makes a job due, unless it has just been changed.
func makeDue(ctx context.Context, tx *db.Tx, a ahead, now time.Time) error {
	return db.Exec(ctx, tx, `UPDATE jobs SET run_at = $3, set_at = $3 WHERE id = $1 AND run_at = $2`, a.id, a.runAt, now)
}
