package site

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/report"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// begun is a revision that has just begun.
type begun struct {
	Site

	before     string // the entries of the revision before
	runs       string // the versions in apps, in the format of revisions
	placements string // as JSON
	by         access.Caller
}

// insertRevisions writes at most a batch of revisions.
func insertRevisions(ctx context.Context, tx *db.Tx, revisions []begun, at time.Time) error {
	var args []any
	for _, r := range revisions {
		args = append(args, r.ID, r.Revision, r.runs, r.apps, r.placements, r.by.UserID, r.by.RequestID, at)
	}
	return db.Exec(ctx, tx, `
		INSERT INTO site_revisions (site_id, revision, versions, apps, placements, user_id, request_id, created_at)
		SELECT * FROM `+rows(len(revisions), "BIGINT", "BIGINT", "TEXT", "TEXT", "TEXT", "BIGINT", "TEXT", "TIMESTAMPTZ")+` AS v`, args...)
}

// versionsOf returns the versions of apps that a manifest lists, in the format of revisions.
func versionsOf(entries []entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%d:%d", e.ID, e.Version))
	}
	return strings.Join(all, " ")
}

func readVersions(text string) []report.Version {
	var all []report.Version
	for _, one := range strings.Fields(text) {
		var v report.Version
		_, _ = fmt.Sscanf(one, "%d:%d", &v.AppID, &v.Number) // versionsOf wrote them
		all = append(all, v)
	}
	return all
}

// listLately lists the versions in the manifests of a site since a time, in the format of revisions.
func listLately(ctx context.Context, q db.Querier, siteID int64, since time.Time) ([]string, error) {
	return db.All[string](ctx, q, nil, selectLately, siteID, since)
}

// selectLately begins with the revision that the site had then, so that it does not read those before.
const selectLately = `
	SELECT DISTINCT versions FROM site_revisions WHERE site_id = $1 AND revision >= COALESCE((
		SELECT revision FROM site_revisions WHERE site_id = $1 AND created_at <= $2 ORDER BY revision DESC LIMIT 1), 0)`

func (r *Revision) fields() []any {
	return []any{&r.Number, &r.Apps, &r.From, db.Null(&r.Until), &r.User.ID, &r.User.Email, &r.User.FirstName, &r.RequestID}
}

func listRevisions(ctx context.Context, q db.Querier, siteID int64, p page.Page) ([]Revision, error) {
	size := func(r Revision) int { return len(r.Apps) }
	all, _, err := db.Some(ctx, q, (*Revision).fields, size, page.MaxBytes, `
		SELECT r.revision, r.apps, r.created_at, n.created_at, COALESCE(u.id, 0), COALESCE(u.email, ''), COALESCE(u.first_name, ''), r.request_id
		FROM site_revisions r LEFT JOIN site_revisions n ON n.site_id = r.site_id AND n.revision = r.revision + 1
		LEFT JOIN users u ON u.id = r.user_id
		WHERE r.site_id = $1 ORDER BY r.revision DESC LIMIT $2 OFFSET $3`, siteID, p.Limit, p.Offset)
	return all, err
}

func countRevisions(ctx context.Context, q db.Querier, siteID int64) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM site_revisions WHERE site_id = $1`, siteID)
}

// findSnapshots returns the placements that a site had when a revision began, by app.
func findSnapshots(ctx context.Context, q db.Querier, organizationID string, siteID, revision int64) ([]snapshot, error) {
	text, err := db.One[string](ctx, q, nil, `
		SELECT r.placements FROM site_revisions r JOIN sites s ON s.id = r.site_id
		WHERE s.organization_id = $1 AND r.site_id = $2 AND r.revision = $3`, organizationID, siteID, revision)
	if err != nil {
		return nil, err
	}
	var all []snapshot
	err = json.Unmarshal([]byte(text), &all)
	slices.SortFunc(all, func(a, b snapshot) int { return cmp.Compare(a.AppID, b.AppID) })
	return all, err
}

// listOverdue lists the sites whose oldest revision is due for removal.
func listOverdue(ctx context.Context, q db.Querier, before time.Time) ([]int64, error) {
	return db.All[int64](ctx, q, nil, `
		SELECT s.id FROM sites s JOIN site_revisions r ON r.site_id = s.id
			AND r.revision = (SELECT MIN(revision) FROM site_revisions WHERE site_id = s.id)
		WHERE r.created_at < $1 AND r.revision <= s.revision - $2 ORDER BY s.id`, before, keepRevisions)
}

// removeRevisions removes a site's old revisions, one batch at a time because each may be large.
func removeRevisions(ctx context.Context, d *db.DB, siteID int64, before time.Time) error {
	return queries.DeleteOld(ctx, d, `site_revisions`, `site_id, revision`, `
		site_id = $1 AND created_at < $2 AND revision <= (SELECT revision FROM sites WHERE id = $1) - $3
		AND revision < (SELECT MIN(revision) FROM site_revisions WHERE site_id = $1) + $4 ORDER BY revision`, siteID, before, keepRevisions, batch)
}
