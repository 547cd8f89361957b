// Package quota counts how often something is done within a time, in the transactions that
// do it.
package quota

import (
	"context"
	"time"

	"foyer/internal/infra/db"
)

// clocksDiffer is more than the clocks of servers do, unless one is wrong.
const clocksDiffer = time.Hour

// Take counts n more uses of a quota if the limit allows them, and reports whether it did. A
// time that began longer ago than it lasts begins anew, and so does one that began in the
// future, by a clock that was wrong.
func Take(ctx context.Context, tx *db.Tx, kind, item string, n, limit int, now time.Time, lasting time.Duration) (bool, error) {
	if n > limit {
		return false, nil
	}
	const lasts = `quotas.since > $5 AND quotas.since <= $6`
	changed, err := db.Changed(ctx, tx, `
		INSERT INTO quotas (kind, item, since, used) VALUES ($1, $2, $3, $4)
		ON CONFLICT (kind, item) DO UPDATE SET
			since = CASE WHEN `+lasts+` THEN quotas.since ELSE excluded.since END,
			used = CASE WHEN `+lasts+` THEN quotas.used ELSE 0 END + excluded.used
		WHERE CASE WHEN `+lasts+` THEN quotas.used ELSE 0 END + excluded.used <= $7`,
		kind, item, now, n, now.Add(-lasting), now.Add(clocksDiffer), limit)
	return changed == 1, err
}

// Since is when the time of a quota began; ErrNoRow if nothing was counted.
func Since(ctx context.Context, tx *db.Tx, kind, item string) (time.Time, error) {
	return db.One(ctx, tx, db.Value[time.Time], `SELECT since FROM quotas WHERE kind = $1 AND item = $2`, kind, item)
}

// Forget removes quotas whose time began before another, except those that are being counted
// up, and returns how many it removed.
func Forget(ctx context.Context, tx *db.Tx, before time.Time, limit int) (int64, error) {
	return db.Changed(ctx, tx, `
		DELETE FROM quotas WHERE (kind, item) IN (
			SELECT kind, item FROM quotas WHERE since <= $1 ORDER BY since LIMIT $2`+tx.SkipLocked+`)
		AND since <= $1`, before, limit)
}
