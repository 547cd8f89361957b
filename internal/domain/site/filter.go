package site

import (
	"context"

	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Filter selects and orders sites. The zero Filter selects all, in the order of creation.
type Filter struct {
	Search string // part of the name
	Order  page.Order
}

// Find returns a page of the organization's sites that a filter selects.
func (s Service) Find(ctx context.Context, c access.Caller, f Filter, p page.Page) (page.Found[Site], error) {
	if err := plugin.MayRead(c); err != nil {
		return page.Found[Site]{}, err
	}
	return queries.Page(ctx, s.DB, p,
		func(ctx context.Context, q db.Querier) (int, error) {
			query, args := f.counting(c.Organization.ID)
			return db.One[int](ctx, q, nil, query, args...)
		},
		func(ctx context.Context, q db.Querier) ([]Site, error) {
			query, args := f.query(c.Organization.ID, p)
			return db.All(ctx, q, (*Site).fields, query, args...)
		})
}

func (f Filter) counting(organizationID string) (query string, args []any) {
	from, args := f.from(organizationID)
	return `SELECT COUNT(*)` + from, args
}

func (f Filter) query(organizationID string, p page.Page) (query string, args []any) {
	from, args := f.from(organizationID)
	query = `SELECT ` + columns + from + ` ORDER BY ` + f.Order.SQL() + ` LIMIT ` + queries.Arg(&args, p.Limit) + ` OFFSET ` + queries.Arg(&args, p.Offset)
	return query, args
}

// from returns the FROM and WHERE clauses for the sites that the filter selects.
func (f Filter) from(organizationID string) (text string, args []any) {
	text, args = ` FROM sites WHERE organization_id = $1`, []any{organizationID}
	if f.Search != "" {
		text += ` AND ` + queries.Contains(&args, "name_key", f.Search)
	}
	return text, args
}
