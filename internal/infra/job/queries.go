package job

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"foyer/internal/infra/db"
)

func (j *Job) fields() []any {
	return []any{&j.ID, &j.Kind, &j.Item, &j.Attempt, &j.CreatedAt}
}

func insert(ctx context.Context, tx *db.Tx, kind, item string, at time.Time) error {
	_, err := db.Exec(ctx, tx, `
		INSERT INTO jobs (kind, item, created_at, run_at) VALUES ($1, $2, $3, $3)
		ON CONFLICT (kind, item) DO NOTHING`, kind, item, at)
	return err
}

func count(ctx context.Context, q db.Querier) (int, error) {
	return db.One(ctx, q, db.Value[int], `SELECT COUNT(*) FROM jobs`)
}

// due is the condition that a job is due and of one of the kinds, with its arguments.
// So is one that is further ahead than any is put: the clock was wrong then.
func due(now time.Time, kinds []string) (condition string, args []any) {
	args = []any{now, now.Add(tooFar)}
	places := make([]string, len(kinds))
	for i, kind := range kinds {
		args = append(args, kind)
		places[i] = "$" + strconv.Itoa(len(args))
	}
	return ` WHERE (run_at <= $1 OR run_at > $2) AND kind IN (` + strings.Join(places, ", ") + `)`, args
}

// anyDue looks before nextDue locks, since there is mostly nothing to do.
func anyDue(ctx context.Context, q db.Querier, now time.Time, kinds []string) (bool, error) {
	condition, args := due(now, kinds)
	_, err := db.One(ctx, q, db.Value[int], `SELECT 1 FROM jobs`+condition+` LIMIT 1`, args...)
	if errors.Is(err, db.ErrNoRow) {
		return false, nil
	}
	return err == nil, err
}

func nextDue(ctx context.Context, tx *db.Tx, now time.Time, kinds []string) (Job, error) {
	condition, args := due(now, kinds)
	return db.One(ctx, tx, (*Job).fields, `
		SELECT id, kind, item, attempts, created_at FROM jobs`+condition+`
		ORDER BY run_at, id LIMIT 1`+tx.SkipLocked, args...)
}

func claim(ctx context.Context, tx *db.Tx, j Job, until time.Time) error {
	_, err := db.Exec(ctx, tx, `UPDATE jobs SET attempts = $2, run_at = $3 WHERE id = $1`, j.ID, j.Attempt, until)
	return err
}

// end removes a job, or postpones it. It names the attempt, so that a server that
// took longer than its lease does not overwrite what the next one does.
func end(ctx context.Context, tx *db.Tx, j Job, next time.Time, again bool) (held bool, err error) {
	var n int64
	if again {
		n, err = db.Exec(ctx, tx, `UPDATE jobs SET run_at = $3 WHERE id = $1 AND attempts = $2`, j.ID, j.Attempt, next)
	} else {
		n, err = db.Exec(ctx, tx, `DELETE FROM jobs WHERE id = $1 AND attempts = $2`, j.ID, j.Attempt)
	}
	return n == 1, err
}
