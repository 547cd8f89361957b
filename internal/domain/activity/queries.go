package activity

import (
	"context"
	"errors"
	"time"

	"foyer/internal/infra/db"
)

func insert(ctx context.Context, tx *db.Tx, e Entry, changes string) error {
	d := digestsOf(e, changes)
	err := db.Exec(ctx, tx, `
		INSERT INTO activity (organization_id, scope, item_id, activity, user_id, key_id, session_id, address, name, changes, request_id, created_at, data,
			data_hash, salt, name_hash, changes_hash)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
		e.OrganizationID, e.Scope, e.ItemID, e.Verb, db.Null(&e.User.ID), db.Null(&e.KeyID), db.Null(&e.SessionID), e.Address,
		e.Name, changes, e.RequestID, e.CreatedAt, db.Null(&e.Data), d.dataHash, d.salt, d.nameHash, d.changesHash)
	if err != nil {
		return err
	}
	// On SQLite the id may be that of an earlier entry, which somebody removed before it got its number.
	return db.Exec(ctx, tx, `
		INSERT INTO activity_unnumbered (organization_id, scope) VALUES ($1, $2)
		ON CONFLICT (activity_id) DO UPDATE SET organization_id = $1, scope = $2`, e.OrganizationID, e.Scope)
}

// count adds n to the count of an organization's entries of a scope that have a number.
func count(tx *db.Tx, organizationID string, s Scope, n int64) {
	db.Add(tx, `
		INSERT INTO activity_counts (organization_id, scope, entries) VALUES ($1, $2, $3)
		ON CONFLICT (organization_id, scope) DO UPDATE SET entries = activity_counts.entries + $3`,
		[]any{organizationID, s}, n)
}

// overdue returns the organizations whose oldest entry was made before a time.
func overdue(ctx context.Context, q db.Querier, before time.Time) ([]string, error) {
	return db.All[string](ctx, q, nil, `
		SELECT c.organization_id FROM activity_chains c
		JOIN activity_numbers n ON n.organization_id = c.organization_id
			AND n.number = (
				SELECT o.number FROM activity_numbers o JOIN activity b ON b.id = o.activity_id
				WHERE o.organization_id = c.organization_id ORDER BY o.number LIMIT 1)
		JOIN activity a ON a.id = n.activity_id
		WHERE a.created_at < $1 ORDER BY c.organization_id`, before)
}

func oldest(ctx context.Context, q db.Querier, organizationID string, limit int) ([]Stored, error) {
	fields := func(s *Stored) []any { return []any{&s.Number, &s.Hash, &s.Scope, &s.CreatedAt} }
	return db.All(ctx, q, fields, `
		SELECT n.number, n.hash, a.scope, a.created_at FROM `+byNumber.entries()+`
		WHERE n.organization_id = $1 ORDER BY n.number LIMIT $2`, organizationID, limit)
}

// drop removes the oldest entries, from first to last, and keeps the hash of the last for those after it. Given both
// numbers, PostgreSQL sees that they are few. The organization is hidden, as in where.
func drop(ctx context.Context, tx *db.Tx, organizationID string, first, last Stored) error {
	const these = ` FROM activity_numbers WHERE organization_id = $1 AND number >= $2 AND number <= $3`
	return errors.Join(
		db.Exec(ctx, tx, `UPDATE activity_chains SET dropped = $2, dropped_hash = $3 WHERE organization_id = $1`, organizationID, last.Number, last.Hash),
		db.Exec(ctx, tx, `DELETE FROM activity WHERE organization_id || '' = $1 AND id IN (SELECT activity_id`+these+`)`, organizationID, first.Number, last.Number),
		db.Exec(ctx, tx, `DELETE`+these, organizationID, first.Number, last.Number))
}
