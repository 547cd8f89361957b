package report

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"foyer/internal/base/digest"
	"foyer/internal/base/page"
	"foyer/internal/infra/db"
)

func (k viewKey) compare(o viewKey) int {
	return cmp.Or(cmp.Compare(k.site.ID, o.site.ID), cmp.Compare(k.AppID, o.AppID), cmp.Compare(k.Number, o.Number),
		cmp.Compare(k.minute, o.minute), cmp.Compare(k.bucket, o.bucket))
}

func (k errorKey) compare(o errorKey) int {
	return cmp.Or(cmp.Compare(k.site.ID, o.site.ID), cmp.Compare(k.AppID, o.AppID), cmp.Compare(k.digest(), o.digest()))
}

// digest names an error among those of an app on a site.
func (k errorKey) digest() string {
	return digest.SHA256(fmt.Appendf(nil, "%d %q %q %d %d", k.Number, k.name, k.message, k.line, k.column))[:32]
}

// kept locks a site against deletion until its counts are stored. If the site is being deleted, the statement waits for
// that and finds no row.
const kept = ` FOR KEY SHARE`

func addViews(ctx context.Context, tx *db.Tx, k viewKey, n int64) error {
	return db.Exec(ctx, tx, `
		INSERT INTO site_counts (app_id, site_id, organization_id, version, minute, bucket, views)
		SELECT CAST($1 AS BIGINT), id, organization_id, CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS INTEGER), CAST($6 AS BIGINT)
		FROM sites WHERE id = $2`+kept+`
		ON CONFLICT (site_id, app_id, minute, version, bucket) DO UPDATE SET views = site_counts.views + excluded.views`,
		k.AppID, k.site.ID, k.Number, k.minute, k.bucket, n)
}

func addError(ctx context.Context, tx *db.Tx, k errorKey, e noted) error {
	return db.Exec(ctx, tx, `
		INSERT INTO site_errors (app_id, site_id, organization_id, digest, version, name, message, line_number, column_number, seen, first_at, last_at)
		SELECT CAST($1 AS BIGINT), id, organization_id, CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS TEXT), CAST($6 AS TEXT), CAST($7 AS BIGINT),
			CAST($8 AS BIGINT), CAST($9 AS BIGINT), CAST($10 AS TIMESTAMPTZ),
			CAST($11 AS TIMESTAMPTZ)
		FROM sites WHERE id = $2`+kept+`
		ON CONFLICT (site_id, app_id, digest) DO UPDATE SET seen = site_errors.seen + excluded.seen,
			first_at = CASE WHEN excluded.first_at < site_errors.first_at THEN excluded.first_at ELSE site_errors.first_at END,
			last_at = CASE WHEN excluded.last_at > site_errors.last_at THEN excluded.last_at ELSE site_errors.last_at END`,
		k.AppID, k.site.ID, k.digest(), k.Number, k.name, k.message, k.line, k.column, e.n, e.first, e.last)
}

// removeOldErrors keeps the last errors of an app on a site. It skips those that another server is writing.
func removeOldErrors(ctx context.Context, tx *db.Tx, siteID, appID int64) error {
	return db.Exec(ctx, tx, `
		DELETE FROM site_errors WHERE app_id = $1 AND site_id = $2 AND digest IN (
			SELECT digest FROM site_errors WHERE app_id = $1 AND site_id = $2 ORDER BY last_at DESC, digest LIMIT 100000 OFFSET $3
			FOR UPDATE SKIP LOCKED)`,
		appID, siteID, maxErrorsKept)
}

// hourOf is an hour in which views of a version on a site are counted by minute.
type hourOf struct {
	siteID int64
	Version
	minute int64 // the first of the hour
}

func (h *hourOf) fields() []any { return []any{&h.AppID, &h.siteID, &h.Number, &h.minute} }

// listMinutes lists the hours of the oldest minutes before the given one.
func listMinutes(ctx context.Context, q db.Querier, before int64) ([]hourOf, error) {
	return db.All(ctx, q, (*hourOf).fields, `
		SELECT DISTINCT app_id, site_id, version, minute - minute % 60 FROM (
			SELECT app_id, site_id, version, minute FROM site_counts WHERE minute % 60 > 0 AND minute < $1 ORDER BY minute LIMIT 10000) AS oldest`, before)
}

// makeHour adds up the minutes of an hour, after it has locked the site. A count at the first minute of an hour is that
// of the hour.
func makeHour(ctx context.Context, tx *db.Tx, h hourOf) error {
	if err := db.Exec(ctx, tx, `SELECT 1 FROM sites WHERE id = $1`+kept, h.siteID); err != nil {
		return err
	}
	const ofHour = ` FROM site_counts WHERE app_id = $1 AND site_id = $2 AND version = $3 AND minute >= $4 AND minute < $4 + 60`
	err := db.Exec(ctx, tx, `
		INSERT INTO site_counts (app_id, site_id, organization_id, version, minute, bucket, views)
		SELECT app_id, site_id, organization_id, version, CAST($4 AS BIGINT), bucket, CAST(SUM(views) AS BIGINT)`+ofHour+`
		GROUP BY app_id, site_id, organization_id, version, bucket
		ON CONFLICT (site_id, app_id, minute, version, bucket) DO UPDATE SET views = excluded.views`, h.AppID, h.siteID, h.Number, h.minute)
	if err != nil {
		return err
	}
	return db.Exec(ctx, tx, `DELETE`+ofHour+` AND minute % 60 > 0`, h.AppID, h.siteID, h.Number, h.minute)
}

// total is the number of views of a version in a bucket.
type total struct {
	version int64
	bucket  int
	views   int64
}

func (t *total) fields() []any { return []any{&t.version, &t.bucket, &t.views} }

// ofSites selects one site, or all of the organization if $3 is 0.
const ofSites = ` FROM (SELECT id FROM sites WHERE organization_id = $1 AND (CAST($3 AS BIGINT) = 0 OR id = $3)) s`

// listTotals lists the views on one site, or on all of the organization if siteID is 0.
func listTotals(ctx context.Context, q db.Querier, organizationID string, appID, siteID, since int64) ([]total, error) {
	return db.All(ctx, q, (*total).fields, `
		SELECT c.version, c.bucket, CAST(SUM(c.views) AS BIGINT)`+ofSites+`
		JOIN site_counts c ON c.site_id = s.id AND c.app_id = $2 AND c.minute >= $4
		GROUP BY c.version, c.bucket ORDER BY c.version DESC, c.bucket`, organizationID, appID, siteID, since)
}

func (e *Error) fields() []any {
	return []any{&e.Version, &e.Name, &e.Message, &e.Line, &e.Column, &e.Count, &e.FirstAt, &e.LastAt}
}

func listErrors(ctx context.Context, q db.Querier, organizationID string, appID, siteID int64, since time.Time) ([]Error, error) {
	return db.All(ctx, q, (*Error).fields, `
		SELECT e.version, e.name, e.message, e.line_number, e.column_number, e.seen, e.first_at, e.last_at`+ofSites+`
		JOIN site_errors e ON e.site_id = s.id AND e.app_id = $2 AND e.last_at >= $4
		ORDER BY e.last_at DESC, e.digest LIMIT 1000`, organizationID, appID, siteID, since)
}

// appsOnPage selects the apps on a page of a site's apps.
const appsOnPage = ` FROM (SELECT site_id, app_id FROM placements WHERE site_id = $1 ORDER BY position, app_id LIMIT $2 OFFSET $3) p `

// byApp runs a query that selects an app's id and then some fields, and groups its rows by app, in their order.
func byApp[T any](ctx context.Context, q db.Querier, fields func(*T) []any, query string, args ...any) (map[int64][]T, error) {
	type row struct {
		appID int64
		of    T
	}
	all, err := db.All(ctx, q, func(r *row) []any { return append([]any{&r.appID}, fields(&r.of)...) }, query, args...)
	found := map[int64][]T{}
	for _, r := range all {
		found[r.appID] = append(found[r.appID], r.of)
	}
	return found, err
}

func listTotalsOfSite(ctx context.Context, q db.Querier, s Site, since int64, p page.Page) (map[int64][]total, error) {
	return byApp(ctx, q, (*total).fields, `
		SELECT c.app_id, c.version, c.bucket, CAST(SUM(c.views) AS BIGINT)`+appsOnPage+`
		JOIN site_counts c ON c.app_id = p.app_id AND c.site_id = p.site_id AND c.organization_id = $4 AND c.minute >= $5
		GROUP BY c.app_id, c.version, c.bucket ORDER BY c.app_id, c.version DESC, c.bucket`,
		s.ID, p.Limit, p.Offset, s.OrganizationID, since)
}

// listErrorsOfSite needs no merge, because an app has no equal errors on one site.
func listErrorsOfSite(ctx context.Context, q db.Querier, s Site, since time.Time, p page.Page) (map[int64][]Error, error) {
	return byApp(ctx, q, (*Error).fields, `
		SELECT e.app_id, e.version, e.name, e.message, e.line_number, e.column_number, e.seen, e.first_at, e.last_at`+appsOnPage+`
		JOIN site_errors e ON e.app_id = p.app_id AND e.site_id = p.site_id AND e.organization_id = $4 AND e.last_at >= $5
		ORDER BY e.last_at DESC, e.digest`,
		s.ID, p.Limit, p.Offset, s.OrganizationID, since)
}
