// Package quota counts how often something is done within a period, in the transactions that do it.
package quota

import (
	"context"
	"errors"
	"time"

	"foyer/internal/base/clock"
	"foyer/internal/base/digest"
	"foyer/internal/base/fault"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Take counts n more uses of a quota if the limit allows them, and reports whether it did. A new period begins when the
// old one is over, or when its beginning lies in the future because a clock was wrong.
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
		kind, item, now, n, now.Add(-lasting), now.Add(clock.Differ), limit)
	return changed == 1, err
}

// Count is Take with a fault as the result: over the limit, it says when the period ends, and how many uses are left until
// then. A limit of 0 means no limit.
func Count(ctx context.Context, tx *db.Tx, kind, item string, n, limit int, now time.Time, lasting time.Duration, what string) error {
	if limit == 0 || n == 0 {
		return nil
	}
	if ok, err := Take(ctx, tx, kind, item, n, limit, now, lasting); ok || err != nil {
		return err
	}
	taken, err := db.One(ctx, tx, (*period).fields, `SELECT since, used FROM quotas WHERE kind = $1 AND item = $2`, kind, item)
	if err != nil && !errors.Is(err, db.ErrNoRow) {
		return err
	}
	wait, left := taken.since.Add(lasting).Sub(now), limit-taken.used
	if wait <= 0 { // n alone exceeds the limit
		wait, left = lasting, limit
	}
	if left > 0 {
		return fault.Later(fault.QuotaExceeded, wait, "At most %d %s, and only %d left now: try fewer, or again later.", limit, what, left)
	}
	return fault.Later(fault.QuotaExceeded, wait, "At most %d %s: try again later.", limit, what)
}

// period is the current or last period of a quota.
type period struct {
	since time.Time
	used  int
}

func (p *period) fields() []any { return []any{&p.since, &p.used} }

// CountMail counts a mail that a user has sent to an address, which may belong to a stranger; limit is for one day.
func CountMail(ctx context.Context, tx *db.Tx, email string, limit int, now time.Time) error {
	return Count(ctx, tx, "mail", hashOf(email), 1, limit, now, 24*time.Hour, "mails a day to "+email)
}

// hashOf returns how the address of a mail is stored: after a user is erased, nothing leads from them to the address.
func hashOf(email string) string { return digest.SHA256(email) }

// ForgetAddress removes the counts of an address.
func ForgetAddress(ctx context.Context, tx *db.Tx, email string) error {
	return db.Exec(ctx, tx, `DELETE FROM quotas WHERE item = $1 OR item = $2`, email, hashOf(email))
}

// Tidy removes quotas whose period began before a time, except those in use by a transaction.
func Tidy(ctx context.Context, d *db.DB, before time.Time) error {
	return queries.DeleteOld(ctx, d, `quotas`, `kind, item`, `since <= $1 ORDER BY since`, before)
}
