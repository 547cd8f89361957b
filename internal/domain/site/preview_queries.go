package site

import (
	"context"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
)

func insertPreview(ctx context.Context, tx *db.Tx, p preview) error {
	return db.Exec(ctx, tx, `
		INSERT INTO site_previews (hash, site_id, app_id, version, site_values, user_id, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		p.hash, p.siteID, p.appID, p.version, p.values, p.userID, p.expires)
}

func (p *preview) fields() []any { return []any{&p.siteID, &p.appID, &p.version, &p.values} }

// findPreview finds a preview that has not expired and whose maker may still preview.
func findPreview(ctx context.Context, q db.Querier, siteToken, hash string, now time.Time) (preview, error) {
	return db.One(ctx, q, (*preview).fields, `
		SELECT p.site_id, p.app_id, p.version, p.site_values
		FROM site_previews p JOIN sites s ON s.id = p.site_id JOIN organizations o ON o.id = s.organization_id
		JOIN memberships m ON m.organization_id = s.organization_id AND m.user_id = p.user_id
		WHERE p.hash = $1 AND s.token = $2 AND p.expires_at > $3 AND o.access_level >= $4 AND m.level >= $5`,
		hash, siteToken, now, access.InstallApps, access.Admin)
}

// countPreviews counts the previews of a site that have not expired.
func countPreviews(ctx context.Context, q db.Querier, siteID int64, now time.Time) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM site_previews WHERE site_id = $1 AND expires_at > $2`, siteID, now)
}

// findListed returns a previewed app as if it were placed on all pages of the site.
func findListed(ctx context.Context, q db.Querier, p preview) (listed, error) {
	l, err := db.One(ctx, q, (*listed).fields, `
		SELECT `+listedColumns+`
		FROM plugins a JOIN plugin_sources s ON s.plugin_id = a.id JOIN plugin_versions v ON v.plugin_id = a.id
		WHERE a.id = $1 AND v.number = $2`, p.appID, p.version)
	l.siteID, l.values = p.siteID, p.values
	return l, err
}
