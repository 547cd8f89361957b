package activity

import (
	"context"
	"strconv"
	"strings"
	"time"

	"foyer/internal/db"
	"foyer/internal/page"
)

func (s *Stored) fields() []any {
	return []any{
		&s.ID, &s.OrganizationID, &s.Scope, &s.ItemID, &s.Verb, &s.User.ID, &s.User.Email, &s.User.FirstName,
		&s.Name, db.Text(&s.Changes), &s.RequestID, &s.CreatedAt,
	}
}

var entries = db.NewAppender("activity",
	"organization_id", "scope", "activity", "user_id", "name", "changes", "request_id", "created_at", "item_id")

func insert(ctx context.Context, tx *db.Tx, e Entry, changes string, itemID any) error {
	var user any
	if e.User.ID != 0 {
		user = e.User.ID
	}
	return entries.Append(ctx, tx, e.OrganizationID, e.Scope, e.Verb, user, e.Name, changes, e.RequestID, e.CreatedAt, itemID)
}

// count keeps activity_counts exact: n entries more.
func count(ctx context.Context, tx *db.Tx, organizationID string, s Scope, n int64) error {
	return db.Add(ctx, tx, `
		INSERT INTO activity_counts (organization_id, scope, part, entries) VALUES ($1, $2, $3, $4)
		ON CONFLICT (organization_id, scope, part) DO UPDATE SET entries = activity_counts.entries + $4`,
		[]any{organizationID, s, tx.Part}, n)
}

// where is a filter as a condition with its arguments. Each of its few texts can use
// an index of its own, which one text for all could not.
func (f Filter) where() (condition string, args []any) {
	args = []any{f.OrganizationID}
	and := func(column, value string) {
		if value != "" {
			args = append(args, value)
			condition += strings.Replace(column, "?", "$"+strconv.Itoa(len(args)), 1)
		}
	}
	if f.Scope == Plugin && f.ItemID != "" { // all of an app's entries are of one organization
		condition = ` WHERE a.scope = 'Plugin' AND a.item_id = $2 AND $1 = (
			SELECT organization_id FROM activity WHERE scope = 'Plugin' AND item_id = $2 ORDER BY id LIMIT 1)`
		args = append(args, f.ItemID)
	} else {
		condition = ` WHERE a.organization_id = $1`
		and(` AND a.scope = ?`, string(f.Scope))
		and(` AND a.item_id = ?`, f.ItemID)
	}
	and(` AND a.user_id = (SELECT id FROM users WHERE email = ?)`, f.UserEmail)
	return condition, args
}

func total(ctx context.Context, q db.Querier, f Filter) (int, error) {
	condition, args := f.where()
	if f.ItemID == "" && f.UserEmail == "" {
		return db.One(ctx, q, db.Value[int], `SELECT COALESCE(SUM(entries), 0) FROM activity_counts a`+condition, args...)
	}
	return db.One(ctx, q, db.Value[int], `SELECT COUNT(*) FROM activity a`+condition, args...)
}

func list(ctx context.Context, q db.Querier, f Filter, p page.Page) ([]Stored, error) {
	query, args := f.list(p)
	entries, _, err := db.Some(ctx, q, (*Stored).fields, func(s Stored) int { return len(s.Changes) }, page.MaxBytes, query, args...)
	return entries, err
}

func (f Filter) list(p page.Page) (query string, args []any) {
	const entries = `
		SELECT a.id, a.organization_id, a.scope, a.item_id, a.activity, COALESCE(u.id, 0), COALESCE(u.email, ''),
			COALESCE(u.first_name, ''), a.name, a.changes, a.request_id, a.created_at
		FROM activity a LEFT JOIN users u ON u.id = a.user_id`
	condition, args := f.where()
	window := ` LIMIT $` + strconv.Itoa(len(args)+1) + ` OFFSET $` + strconv.Itoa(len(args)+2)
	args = append(args, p.Limit, p.Offset)
	if f.Scope != "" {
		return entries + condition + ` ORDER BY a.id DESC` + window, args
	}
	newest := ` ORDER BY a.id DESC LIMIT $` + strconv.Itoa(len(args)+1)
	return entries + ` WHERE a.id IN (` + ofEachScope(condition, newest) + ` ORDER BY id DESC` + window + `) ORDER BY a.id DESC`,
		append(args, p.Limit+p.Offset)
}

// ofEachScope selects the newest ids of each scope, in the order of an index; there is
// none for all scopes. The ids of a page are among them.
func ofEachScope(condition, newest string) string {
	ids := make([]string, len(scopes))
	for i, s := range scopes {
		ids[i] = `SELECT id FROM (SELECT a.id FROM activity a` + condition + ` AND a.scope = '` + string(s) + `'` + newest + `) AS newest`
	}
	return strings.Join(ids, ` UNION ALL `)
}

// kept is one of the lists that activity_counts counts.
type kept struct {
	organizationID string
	scope          Scope
}

// overdue names the lists that have an entry to remove among their oldest few: a clock
// that was ahead may have dated some of these later than entries after them.
func overdue(ctx context.Context, q db.Querier, before time.Time) ([]kept, error) {
	return db.All(ctx, q, func(k *kept) []any { return []any{&k.organizationID, &k.scope} }, `
		SELECT DISTINCT c.organization_id, c.scope FROM activity_counts c WHERE EXISTS (
			SELECT 1 FROM (
				SELECT a.created_at FROM activity a WHERE a.organization_id = c.organization_id AND a.scope = c.scope
				ORDER BY a.id LIMIT 50) AS oldest
			WHERE oldest.created_at < $1)
		ORDER BY c.organization_id, c.scope`, before)
}

// removeOldest looks only at the oldest entries of a list.
func removeOldest(ctx context.Context, tx *db.Tx, k kept, before time.Time, limit int) (int64, error) {
	return db.Exec(ctx, tx, `
		DELETE FROM activity WHERE created_at < $3 AND id IN (
			SELECT id FROM activity WHERE organization_id = $1 AND scope = $2 ORDER BY id LIMIT $4)`,
		k.organizationID, k.scope, before, limit)
}
