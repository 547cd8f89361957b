package activity

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Stored is an entry as it is read: its changes are JSON text.
type Stored struct {
	Entry
	Changes string
	Number  int64  // in the organization's chain, from 1; 0: not given yet
	Hash    string // in hexadecimal; "": not given yet
	Erased  bool   // the name, the changes or the data have been erased
}

const columns = `a.id, a.organization_id, a.scope, a.item_id, a.activity, COALESCE(a.user_id, 0), COALESCE(u.email, ''), COALESCE(u.first_name, ''),
	COALESCE(a.key_id, 0), COALESCE(a.session_id, 0), a.address, a.name, a.changes, a.request_id, a.created_at,
	a.name_hash || a.changes_hash <> '' AND a.salt = '' OR a.data_erased`

func (s *Stored) fields() []any {
	return []any{
		&s.Number, &s.Hash, &s.ID, &s.OrganizationID, &s.Scope, &s.ItemID, &s.Verb, &s.User.ID, &s.User.Email, &s.User.FirstName,
		&s.KeyID, &s.SessionID, &s.Address, &s.Name, db.Null(&s.Changes), &s.RequestID, &s.CreatedAt,
		&s.Erased,
	}
}

// selectEntries reads entries, as a, by an index. Unless that is the index of numbers, it looks up the number of each
// entry: for a join, PostgreSQL might read all numbers.
func selectEntries(by index, from string) string {
	const given = ` FROM activity_numbers WHERE activity_id = a.id AND organization_id = a.organization_id)`
	numbers := `COALESCE((SELECT number` + given + `, 0), COALESCE((SELECT hash` + given + `, '')`
	if by == byNumber {
		numbers = `n.number, n.hash`
	}
	return `SELECT ` + numbers + `, ` + columns + ` FROM ` + from + ` LEFT JOIN users u ON u.id = a.user_id AND u.erased_at IS NULL`
}

// Filter selects entries for a list. A zero field selects all.
type Filter struct {
	OrganizationID string
	Scopes         []Scope // nil: all
	Verb           Verb
	ItemID         string
	UserID         int64
	UserEmail      string
	KeyID          int64
	Since, Until   time.Time // at or after Since, and before Until
	After          int64     // only entries with a higher number
}

// Scopes lists all scopes.
func Scopes() []Scope { return slices.Clone(scopes) }

// Verbs lists all verbs.
func Verbs() []Verb { return slices.Clone(verbs) }

// ParseScope reads a scope.
func ParseScope(text string) (Scope, error) { return choose("scope", text, scopes) }

// ParseVerb reads a verb.
func ParseVerb(text string) (Verb, error) { return choose("activity", text, verbs) }

func choose[T ~string](field, text string, all []T) (T, error) {
	if slices.Contains(all, T(text)) {
		return T(text), nil
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	return "", fault.Field(fault.InvalidChoice, field, "Must be one of %s.", strings.Join(names, ", "))
}

// List returns a page of entries, the newest first.
func List(ctx context.Context, d *db.DB, f Filter, p page.Page) (page.Found[Stored], error) {
	return queries.Page(ctx, d, p,
		func(ctx context.Context, q db.Querier) (int, error) { return total(ctx, q, f) },
		func(ctx context.Context, q db.Querier) ([]Stored, error) { return list(ctx, q, f, p) })
}

// index is the database index that a list is read by.
type index int

const (
	byScope index = iota // and time
	byNumber
	byWait // for a number
)

// entries returns the tables that an index reads entries from, as a; byNumber adds their numbers, as n. The
// organization is hidden from PostgreSQL, which might otherwise read all of its entries for each number.
func (by index) entries() string {
	if by == byNumber {
		return `activity_numbers n JOIN activity a ON a.id = n.activity_id AND a.organization_id || '' = n.organization_id`
	}
	return `activity a`
}

func (f Filter) index() index {
	if f.After != 0 {
		return byNumber
	}
	return byScope
}

// where returns the filter, with the given scopes, as a condition to be read by an index. A column with something added
// to it is hidden from the engine, which might otherwise choose another index for it.
func (f Filter) where(by index, of []Scope) (condition string, args []any) {
	const hidden = ` || ''`
	args = []any{f.OrganizationID}
	scope := `a.scope` + hidden
	switch by {
	case byScope:
		condition, scope = ` WHERE a.organization_id = $1`, `a.scope`
	case byNumber:
		condition = ` WHERE n.organization_id = $1`
	case byWait:
		condition = ` WHERE a.id IN (SELECT activity_id FROM activity_unnumbered WHERE organization_id = $1)`
	}
	if f.Scopes != nil || by == byScope {
		names := make([]string, len(of))
		for i, s := range of {
			names[i] = `'` + string(s) + `'`
		}
		condition += ` AND ` + scope + ` IN (` + strings.Join(names, ", ") + `)`
	}
	if f.ItemID != "" {
		condition += ` AND a.item_id = ` + queries.Arg(&args, f.ItemID)
	}
	if f.UserID != 0 {
		condition += ` AND a.user_id = ` + queries.Arg(&args, f.UserID)
	}
	if f.UserEmail != "" {
		condition += ` AND a.user_id = (SELECT id FROM users WHERE email = ` + queries.Arg(&args, f.UserEmail) + `)`
	}
	if f.KeyID != 0 {
		condition += ` AND a.key_id = ` + queries.Arg(&args, f.KeyID)
	}
	if f.Verb != "" {
		condition += ` AND a.activity = ` + queries.Arg(&args, f.Verb)
	}
	if !f.Since.IsZero() {
		condition += ` AND a.created_at >= ` + queries.Arg(&args, f.Since)
	}
	if !f.Until.IsZero() {
		condition += ` AND a.created_at < ` + queries.Arg(&args, f.Until)
	}
	if f.After != 0 {
		condition += ` AND n.number > ` + queries.Arg(&args, f.After)
	}
	return condition, args
}

// scopes returns the filter's scopes, or all if it has none.
func (f Filter) scopes() []Scope {
	if f.Scopes == nil {
		return scopes
	}
	return f.Scopes
}

// onlyScopes reports whether the filter has nothing but scopes, for which there are counts.
func (f Filter) onlyScopes() bool {
	f.OrganizationID, f.Scopes = "", nil
	return reflect.ValueOf(f).IsZero()
}

// onlyAfter reports whether the filter has nothing but After.
func (f Filter) onlyAfter() bool {
	after := f.After
	f.After = 0
	return after != 0 && f.Scopes == nil && f.onlyScopes()
}

func total(ctx context.Context, q db.Querier, f Filter) (int, error) {
	condition, args := f.where(f.index(), f.scopes())
	if f.onlyScopes() {
		return db.One[int](ctx, q, nil, `SELECT COALESCE((SELECT SUM(entries) FROM activity_counts a`+condition+`), 0)
			+ (SELECT COUNT(*) FROM activity_unnumbered a`+condition+`)`, args...)
	}
	entries := f.index().entries()
	if f.onlyAfter() {
		entries = `activity_numbers n`
	}
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM `+entries+condition, args...)
}

func list(ctx context.Context, q db.Querier, f Filter, p page.Page) ([]Stored, error) {
	query, args := f.list(p)
	entries, _, err := db.Some(ctx, q, (*Stored).fields, Stored.Weight, page.MaxBytes, query, args...)
	return entries, err
}

// Last returns the newest entry that matches a filter, or [db.ErrNoRow] if there is none.
func Last(ctx context.Context, q db.Querier, f Filter) (Stored, error) {
	query, args := f.list(page.Page{Limit: 1})
	return db.One(ctx, q, (*Stored).fields, query, args...)
}

// Weight returns about how many bytes an entry takes.
func (s Stored) Weight() int { return len(s.Changes) + len(s.Data) }

func (f Filter) list(p page.Page) (query string, args []any) {
	const newest = ` ORDER BY a.created_at DESC, a.id DESC`
	by, of := f.index(), f.scopes()
	condition, args := f.where(by, of)
	window := ` LIMIT ` + queries.Arg(&args, p.Limit) + ` OFFSET ` + queries.Arg(&args, p.Offset)
	if by == byNumber {
		return selectEntries(by, by.entries()) + condition + ` ORDER BY n.number DESC` + window, args
	}
	// No index covers all scopes: the entries of the page are among the newest of each scope. Only the ids are sorted:
	// with IN, SQLite would sort whole entries in memory. SQLite's CROSS JOIN keeps the order of its left side.
	ids, most := make([]string, len(of)), queries.Arg(&args, p.Limit+p.Offset)
	for i, s := range of {
		ofScope, _ := f.where(by, []Scope{s})
		ids[i] = `SELECT id, created_at FROM (SELECT a.id, a.created_at FROM activity a` + ofScope + newest + ` LIMIT ` + most + `) AS newest`
	}
	shown := `(` + strings.Join(ids, ` UNION ALL `) + ` ORDER BY created_at DESC, id DESC` + window + `) AS shown CROSS JOIN activity a`
	return selectEntries(by, shown) + ` WHERE a.id = shown.id ORDER BY shown.created_at DESC, shown.id DESC`, args
}

// The limits of a part of a stream, and of the entries without a number that follow the last part.
const (
	partEntries = 500 // that have numbers, whether they match the filter or not: PostgreSQL might otherwise sort all that follow
	partBytes   = 1 << 20
	maxWaiting  = 1000
)

// Stream passes all entries that match a filter to write, a part at a time: those with numbers in their order, then at
// most 1,000 that have none yet.
func Stream(ctx context.Context, d *db.DB, f Filter, write func([]Stored) error) error {
	for more := true; more; {
		err := inflight.InPart(ctx, func(ctx context.Context) error {
			var part []Stored
			var err error
			if part, more, err = nextPart(ctx, d, &f); err != nil || len(part) == 0 {
				return err
			}
			return write(part)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// nextPart returns the entries after the number in a filter, and moves that number on past them. A part may be empty;
// the last part includes the entries without a number.
func nextPart(ctx context.Context, d *db.DB, f *Filter) (part []Stored, more bool, err error) {
	var to int64
	err = d.View(ctx, func(ctx context.Context, q db.Querier) error {
		head, err := HeadOf(ctx, q, f.OrganizationID)
		if err != nil {
			return err
		}
		after := max(f.After, head.dropped)
		to = after + partEntries
		query, args := f.part(after, to)
		part, more, err = db.Some(ctx, q, (*Stored).fields, Stored.Weight, partBytes, query, args...)
		if more {
			to = part[len(part)-1].Number
		}
		if more = more || to < head.Number; err != nil || more {
			return err
		}
		query, args = f.waiting()
		waiting, err := db.All(ctx, q, (*Stored).fields, query, args...)
		part = append(part, waiting...)
		return err
	})
	f.After = to
	return part, more, err
}

// part returns the query for the entries with numbers above after and at most to.
func (f Filter) part(after, to int64) (query string, args []any) {
	f.After = 0
	condition, args := f.where(byNumber, f.scopes())
	condition += ` AND n.number > ` + queries.Arg(&args, after) + ` AND n.number <= ` + queries.Arg(&args, to)
	return selectEntries(byNumber, byNumber.entries()) + condition + ` ORDER BY n.number`, args
}

// waiting returns the query for the entries that have no number yet, which come after all others.
func (f Filter) waiting() (query string, args []any) {
	f.After = 0
	condition, args := f.where(byWait, f.scopes())
	return selectEntries(byWait, byWait.entries()) + condition + ` ORDER BY a.id LIMIT ` + strconv.Itoa(maxWaiting), args
}
