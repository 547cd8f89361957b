package activity

import (
	"context"
	"errors"
	"math"
	"time"

	"foyer/internal/base/clock"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// WithData returns the first entries that have data after a number in an organization's chain: at most limit of them,
// and about bytes in size. more reports whether there may be further ones.
func WithData(ctx context.Context, q db.Querier, organizationID string, after int64, limit, bytes int) (entries []Stored, more bool, err error) {
	entries, more, err = db.Some(ctx, q, (*Stored).withData, Stored.Weight, bytes, `
		SELECT `+withData+` FROM `+byNumber.entries()+` LEFT JOIN users u ON u.id = a.user_id
		WHERE n.organization_id = $1 AND n.number > $2 AND a.data IS NOT NULL ORDER BY n.number LIMIT $3`, organizationID, after, limit)
	return entries, more || len(entries) == limit, err
}

// OneWithData returns an entry of an organization's chain by its number, or db.ErrNoRow if it has no data.
func OneWithData(ctx context.Context, q db.Querier, organizationID string, number int64) (Stored, error) {
	return db.One(ctx, q, (*Stored).withData, selectOneWithData, organizationID, number)
}

// selectOneWithData does not name the organization of the entry, which is that of its number: otherwise PostgreSQL
// might read all entries of the organization.
const selectOneWithData = `SELECT ` + withData + ` FROM activity_numbers n JOIN activity a ON a.id = n.activity_id LEFT JOIN users u ON u.id = a.user_id
	WHERE n.organization_id = $1 AND n.number = $2 AND a.data IS NOT NULL`

const withData = `n.number, n.hash, ` + columns + `, a.data`

func (s *Stored) withData() []any { return append(s.fields(), db.Null(&s.Data)) }

// insertTrace stores which trace an entry is part of.
func insertTrace(ctx context.Context, tx *db.Tx, e Entry, parent string) error {
	return db.Exec(ctx, tx, `
		INSERT INTO event_traces (organization_id, request_id, parent, created_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (organization_id, request_id) DO UPDATE SET parent = $3, created_at = $4`, e.OrganizationID, e.RequestID, parent, e.CreatedAt)
}

// TraceOf returns the trace that a request's entries are part of, as a traceparent; "": none.
func TraceOf(ctx context.Context, q db.Querier, organizationID, requestID string) (string, error) {
	parent, err := db.One[string](ctx, q, nil, `SELECT parent FROM event_traces WHERE organization_id = $1 AND request_id = $2`, organizationID, requestID)
	if errors.Is(err, db.ErrNoRow) {
		return "", nil
	}
	return parent, err
}

// DropData removes the data and the traces of entries that were made before a time.
func DropData(ctx context.Context, d *db.DB, before time.Time) error {
	if err := queries.DeleteOld(ctx, d, `event_traces`, `organization_id, request_id`, `created_at < $1 ORDER BY created_at`, before); err != nil {
		return err
	}
	organizations, err := db.All[string](ctx, d, nil, `SELECT organization_id FROM activity_chains ORDER BY 1`)
	if err != nil {
		return err
	}
	for _, id := range organizations {
		for more := true; more; {
			if more, err = dropData(ctx, d, id, before); err != nil {
				return err
			}
		}
	}
	return nil
}

// dataBatch is how many entries at most lose their data at a time.
const dataBatch = 500

// dropData locks nothing if there is nothing to drop, as in most organizations each time.
func dropData(ctx context.Context, d *db.DB, organizationID string, before time.Time) (more bool, err error) {
	if last, err := lastBefore(ctx, d, organizationID, before, d.Now()); err != nil || last == 0 {
		return false, err
	}
	err = d.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		more = false
		lockStored(tx)
		last, err := lastBefore(ctx, tx, organizationID, before, d.Now())
		if err != nil || last == 0 {
			return err
		}
		more = true
		return clearData(ctx, tx, organizationID, last)
	})
	return more, err
}

// noData removes the data of entries, and the salt if nothing else is hashed with it. The chain has the hash of the
// data.
const noData = `UPDATE activity SET data = NULL, salt = CASE WHEN name_hash = '' AND changes_hash = '' THEN '' ELSE salt END, data_erased = `

// erasedData is noData for data that is erased before its time.
const erasedData = noData + `TRUE WHERE data IS NOT NULL AND `

// clearData removes the data of the entries up to a number that still have theirs. The organization is hidden, as in
// where.
func clearData(ctx context.Context, tx *db.Tx, organizationID string, last int64) error {
	return errors.Join(
		db.Exec(ctx, tx, noData+`FALSE WHERE (data IS NOT NULL OR data_erased) AND organization_id || '' = $1
			AND id IN (SELECT activity_id FROM activity_numbers WHERE organization_id = $1 AND number <= $2
			AND number > (SELECT data_dropped FROM activity_chains WHERE organization_id = $1))`, organizationID, last),
		db.Exec(ctx, tx, `UPDATE activity_chains SET data_dropped = $2 WHERE organization_id = $1`, organizationID, last))
}

// EraseEvents removes the data and the traces of all entries of an organization. Its chain stays valid.
func EraseEvents(ctx context.Context, tx *db.Tx, organizationID string) error {
	lockStored(tx)
	if err := db.Exec(ctx, tx, erasedData+`organization_id = $1`, organizationID); err != nil {
		return err
	}
	return db.Exec(ctx, tx, `DELETE FROM event_traces WHERE organization_id = $1`, organizationID)
}

// lastBefore returns the number of the last of the next entries to lose their data, all of which were made before a time;
// 0: there is none. An entry that a clock which was ahead has made keeps none after it.
func lastBefore(ctx context.Context, q db.Querier, organizationID string, before, now time.Time) (int64, error) {
	return db.One[int64](ctx, q, nil, `
		WITH next AS (
			SELECT n.number, a.created_at FROM `+byNumber.entries()+` WHERE n.organization_id = $1
			AND n.number > (SELECT data_dropped FROM activity_chains WHERE organization_id = $1) ORDER BY n.number LIMIT $4)
		SELECT COALESCE(MAX(number), 0) FROM next
		WHERE number < COALESCE((SELECT MIN(number) FROM next WHERE created_at >= $2 AND created_at <= $3), $5)`,
		organizationID, before, now.Add(clock.Differ), dataBatch, int64(math.MaxInt64))
}
