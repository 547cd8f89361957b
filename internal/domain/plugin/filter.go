package plugin

import (
	"context"
	"slices"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Filter selects and orders plugins. The zero Filter selects all, by id.
type Filter struct {
	Search string // part of the name or the description
	Type   Type
	Global patch.Field[bool]
	Update bool // those that the organization can upgrade: its own, if they are not at the newest known tag
	State  State
	SiteID int64 // a site that has placements of them
	IDs    []int64
	Order  page.Order

	now time.Time // Find sets it
}

// MaxIDs is how many ids a filter may have.
const MaxIDs = 100

// plain reports whether it is the zero Filter.
func (f Filter) plain() bool {
	return f.Search == "" && f.Type == "" && !f.Global.Set && !f.Update && f.State == "" && f.SiteID == 0 && len(f.IDs) == 0 && f.Order == page.Order{}
}

// State is a condition that a plugin can be filtered by.
type State string

// lately is how long an error counts.
const lately = 24 * time.Hour

// The states that plugins are filtered by.
const (
	IsDisabled State = "disabled"
	IsBroken   State = "broken"  // a file of its current version does not compile
	IsEdited   State = "edited"  // it is installed, and its files were changed since
	IsFailing  State = "failing" // the organization's pages reported errors of it lately
)

// ParseType reads a type.
func ParseType(text string) (Type, error) {
	if !slices.Contains([]Type{Local, Custom, Repository, Source, Inline}, Type(text)) {
		return "", fault.Field(fault.InvalidChoice, "plugin_type", "Must be local, custom, repository, source or inline.")
	}
	return Type(text), nil
}

// ParseState reads a state.
func ParseState(text string) (State, error) {
	if !slices.Contains([]State{IsDisabled, IsBroken, IsEdited, IsFailing}, State(text)) {
		return "", fault.Field(fault.InvalidChoice, "state", "Must be disabled, broken, edited or failing.")
	}
	return State(text), nil
}

// Find returns a page of the plugins that the caller's organization sees and a filter selects.
func (s Service) Find(ctx context.Context, c access.Caller, f Filter, p page.Page) (found page.Found[Plugin], err error) {
	if err := MayRead(c); err != nil {
		return found, err
	}
	after, err := parseCursor(p.After)
	if err == nil && after != 0 && f.Order != (page.Order{}) {
		err = fault.Field(fault.Invalid, "after", "Must be left out with an ordering.")
	}
	if err != nil {
		return found, err
	}
	if f.plain() {
		return s.list(ctx, c.Organization.ID, after, p)
	}
	if f.Search != "" { // it may take long: the text is compared at each letter of long descriptions
		leave, err := s.Searches.Enter(ctx, c.Organization.ID)
		if err != nil {
			return found, err
		}
		defer leave()
	}
	f.now = s.DB.Now()
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		if err := f.check(ctx, q, c.Organization.ID); err != nil {
			return err
		}
		found, err = f.page(ctx, q, c.Organization.ID, after, p)
		return err
	})
	return found, err
}

// list returns a page of all plugins that an organization sees, from the cache if it has the page.
func (s Service) list(ctx context.Context, organizationID string, after int64, p page.Page) (page.Found[Plugin], error) {
	counted, err := countVisible(ctx, s.DB, organizationID)
	if err != nil || p.Beyond(counted.count()) {
		return page.Found[Plugin]{Count: counted.count()}, err
	}
	key := pageOf{organizationID, after, p.Limit, p.Skip()}
	if found, ok := s.Cache.pages.Get(key, counted.revision); ok {
		return found, nil
	}
	query, args := Filter{}.query(organizationID, counted, after, p, false)
	plugins, more, err := db.Some(ctx, s.DB, (*Plugin).fields, Plugin.size, page.MaxBytes, query, args...)
	if err != nil {
		return page.Found[Plugin]{}, err
	}
	found := page.Cut(plugins, p, counted.count(), Plugin.cursor)
	found.More = found.More || more
	s.Cache.pages.Put(key, counted.revision, found)
	return found, nil
}

// fewOf says what few matches are: less than one plugin in fewOf.
const fewOf = 50

// page reads a page. A page that is not full is the last one, so it needs no count. The matches of a search are counted
// first, because the query for many is not the query for few.
func (f Filter) page(ctx context.Context, q db.Querier, organizationID string, after int64, p page.Page) (page.Found[Plugin], error) {
	counted, err := countVisible(ctx, q, organizationID)
	if err != nil {
		return page.Found[Plugin]{}, err
	}
	n, searched := 0, f.Search != "" && f.Order == page.Order{}
	if searched {
		if n, err = f.count(ctx, q, organizationID, counted); err != nil {
			return page.Found[Plugin]{}, err
		}
	}
	query, args := f.query(organizationID, counted, after, p, searched && n < counted.count()/fewOf)
	plugins, more, err := db.Some(ctx, q, (*Plugin).fields, Plugin.size, page.MaxBytes, query, args...)
	if err != nil {
		return page.Found[Plugin]{}, err
	}
	last := !more && after == 0 && len(plugins) <= p.Limit && (len(plugins) > 0 || p.Offset == 0)
	switch {
	case searched:
	case last:
		n = p.Offset + len(plugins)
	default:
		n, err = f.count(ctx, q, organizationID, counted)
	}
	name := Plugin.cursor
	if f.Order != (page.Order{}) {
		name = func(Plugin) string { return "" }
	}
	found := page.Cut(plugins, p, n, name)
	found.More = found.More || more
	return found, err
}

// check refuses a site that the organization does not have.
func (f Filter) check(ctx context.Context, q db.Querier, organizationID string) error {
	if f.SiteID == 0 {
		return nil
	}
	has, err := db.One[bool](ctx, q, nil, `SELECT EXISTS (SELECT 1 FROM sites WHERE organization_id = $1 AND id = $2)`, organizationID, f.SiteID)
	if err == nil && !has {
		err = fault.Field(fault.Invalid, "site", "The organization has no site with the id %d.", f.SiteID)
	}
	return err
}

// where returns the filter's conditions, to follow the first ones; args are the arguments so far.
func (f Filter) where(args []any) (condition string, all []any) {
	if f.Type != "" {
		condition += ` AND plugin_type = ` + queries.Arg(&args, f.Type)
	}
	if f.Search != "" {
		condition += ` AND ` + queries.Contains(&args, "search", f.Search)
	}
	if f.SiteID != 0 {
		condition += ` AND id IN (SELECT app_id FROM placements WHERE site_id = ` + queries.Arg(&args, f.SiteID) + ` AND organization_id = $1)`
	}
	if len(f.IDs) > 0 {
		condition += ` AND id IN (` + queries.Arg(&args, f.IDs...) + `)`
	}
	if f.Global.Set {
		condition += map[bool]string{true: ` AND is_global`, false: ` AND NOT is_global`}[f.Global.Value]
	}
	if f.Update {
		condition += ` AND url <> '' AND latest_tag <> '' AND latest_tag <> tag AND organization_id = $1`
	}
	switch f.State {
	case IsDisabled:
		condition += ` AND disabled_at IS NOT NULL`
	case IsBroken:
		condition += ` AND is_broken`
	case IsEdited:
		condition += ` AND is_edited`
	case IsFailing:
		condition += ` AND id IN (SELECT app_id FROM site_errors WHERE organization_id = $1 AND last_at > ` + queries.Arg(&args, f.now.Add(-lately)) + `)`
	}
	return condition, args
}

// count counts the plugins that the filter selects. Few plugins are shared, and an index lists them, so the number of
// those that are not is a difference.
func (f Filter) count(ctx context.Context, q db.Querier, organizationID string, sees visibleNow) (int, error) {
	if f.Global.Set && !f.Global.Value {
		all, shared := f, f
		all.Global, shared.Global = patch.Field[bool]{}, patch.Of(true)
		n, err := all.count(ctx, q, organizationID, sees)
		if err != nil {
			return 0, err
		}
		others, err := shared.count(ctx, q, organizationID, sees)
		return n - others, err
	}
	query, args := f.countQuery(organizationID, sees)
	if query == "" {
		return sees.count(), nil
	}
	return db.One[int](ctx, q, nil, query, args...)
}

// countQuery returns the query for a count; "" if the filter selects all.
func (f Filter) countQuery(organizationID string, sees visibleNow) (query string, args []any) {
	condition, args := f.where([]any{organizationID})
	if condition == "" {
		return "", nil
	}
	query = `SELECT (SELECT COUNT(*) FROM plugins WHERE organization_id = $1` + condition + `)`
	if sees.others > 0 {
		query += ` + (SELECT COUNT(*) FROM plugins WHERE is_global AND organization_id <> $1` + condition + `)`
	}
	return query, args
}

// query returns the query for a page. If there are many matches, a scan in the order of ids soon meets them. If there
// are few, SQLite finds them by the texts in plugins_updated, and PostgreSQL by a scan of the table; +id keeps both
// from scanning in the order of ids instead. Most organizations see only their own plugins, which an index has in
// order, so the skipped ones take no memory.
func (f Filter) query(organizationID string, sees visibleNow, after int64, p page.Page, few bool) (query string, args []any) {
	condition, args := f.where([]any{organizationID, p.Peek(), p.Skip()})
	if after != 0 {
		condition += ` AND id > ` + queries.Arg(&args, after)
	}
	if few {
		return visible(condition, f.Order, `+id`), args
	}
	if sees.others > 0 {
		return visible(condition, f.Order, f.Order.SQL()), args
	}
	return `SELECT ` + columns + ` FROM plugins WHERE organization_id = $1` + condition + ` ORDER BY ` + f.Order.SQL() + ` LIMIT $2 OFFSET $3`, args
}
