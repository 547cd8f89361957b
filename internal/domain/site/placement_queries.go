package site

import (
	"context"

	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

const placementColumns = `p.site_id, s.name, s.token, p.organization_id, p.app_id,
	COALESCE((SELECT name FROM plugins a WHERE a.id = p.app_id AND (a.is_global OR a.organization_id = p.organization_id)), ''),
	p.enabled, p.position, p.version, p.running, p.kept, p.held, p.paths, p.config, p.site_values, p.created_at, p.updated_at`

func (p *Placement) fields() []any {
	return []any{
		&p.SiteID, &p.SiteName, &p.SiteToken, &p.OrganizationID, &p.AppID, &p.Name, &p.Enabled, &p.Position, &p.Version, &p.Running, &p.kept, &p.Held,
		&p.Paths, &p.Config, &p.Values, &p.CreatedAt, &p.UpdatedAt,
	}
}

const selectPlacements = `SELECT ` + placementColumns + ` FROM placements p JOIN sites s ON s.id = p.site_id `

func insertPlacement(ctx context.Context, tx *db.Tx, p Placement) error {
	return db.Exec(ctx, tx, `
		INSERT INTO placements (site_id, app_id, organization_id, app_owner, enabled, position, version, running, kept, held, paths, config,
			config_size, site_values, created_at, updated_at)
		VALUES ($1, $2, $3, COALESCE((SELECT organization_id FROM plugins WHERE id = $2), ''), $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		p.SiteID, p.AppID, p.OrganizationID, p.Enabled, p.Position, p.Version, p.Running, p.kept, p.Held, list(p.Paths), p.Config, p.bytes(),
		p.Values, p.CreatedAt, p.UpdatedAt)
}

func updatePlacement(ctx context.Context, tx *db.Tx, p Placement) error {
	return db.Exec(ctx, tx, `
		UPDATE placements SET enabled = $3, position = $4, version = $5, running = $6, kept = $7, held = $8, paths = $9, config = $10,
			config_size = $11, site_values = $12, updated_at = $13
		WHERE site_id = $1 AND app_id = $2 AND organization_id = $14`,
		p.SiteID, p.AppID, p.Enabled, p.Position, p.Version, p.Running, p.kept, p.Held, list(p.Paths), p.Config, p.bytes(), p.Values, p.UpdatedAt,
		p.OrganizationID)
}

// updateOutcomes stores the results of resolve for at most a batch of placements.
func updateOutcomes(ctx context.Context, tx *db.Tx, placements []Placement) error {
	var args []any
	for _, p := range placements {
		args = append(args, p.SiteID, p.AppID, p.Running, p.kept, p.Held, p.Values, p.bytes())
	}
	return db.Exec(ctx, tx, `
		WITH v (site_id, app_id, running, kept, held, site_values, config_size) AS
			`+rows(len(placements), "BIGINT", "BIGINT", "BIGINT", "BIGINT", "TEXT", "TEXT", "BIGINT")+`
		UPDATE placements SET running = v.running, kept = v.kept, held = v.held, site_values = v.site_values, config_size = v.config_size
		FROM v WHERE placements.site_id = v.site_id AND placements.app_id = v.app_id`, args...)
}

func removePlacement(ctx context.Context, tx *db.Tx, s Site, appID int64) error {
	return db.Exec(ctx, tx, `DELETE FROM placements WHERE organization_id = $1 AND site_id = $2 AND app_id = $3`, s.OrganizationID, s.ID, appID)
}

func removePlacements(ctx context.Context, tx *db.Tx, s Site) error {
	return db.Exec(ctx, tx, `DELETE FROM placements WHERE organization_id = $1 AND site_id = $2`, s.OrganizationID, s.ID)
}

// removeFromSites removes an app from some sites.
func removeFromSites(ctx context.Context, tx *db.Tx, sites []Site, appID int64) error {
	var args []any
	query := `DELETE FROM placements AS p WHERE` + ofSites(&args, sites) + ` AND p.app_id = ` + queries.Arg(&args, appID)
	return db.Exec(ctx, tx, query, args...)
}

func findPlacement(ctx context.Context, q db.Querier, s Site, appID int64) (Placement, error) {
	return db.One(ctx, q, (*Placement).fields, selectPlacements+`WHERE p.organization_id = $1 AND p.site_id = $2 AND p.app_id = $3`, s.OrganizationID, s.ID, appID)
}

func listPlacements(ctx context.Context, q db.Querier, s Site, p page.Page) ([]Placement, error) {
	return db.All(ctx, q, (*Placement).fields,
		selectPlacements+`WHERE p.organization_id = $1 AND p.site_id = $2 ORDER BY p.position, p.app_id LIMIT $3 OFFSET $4`, s.OrganizationID, s.ID, p.Limit, p.Offset)
}

// listPlacementsOfSites lists the placements on some sites, each site's in its order.
func listPlacementsOfSites(ctx context.Context, q db.Querier, sites []Site) ([]Placement, error) {
	var args []any
	query := selectPlacements + `WHERE` + ofSites(&args, sites) + ` ORDER BY p.site_id, p.position, p.app_id`
	return db.All(ctx, q, (*Placement).fields, query, args...)
}

func listPlacementsOfApp(ctx context.Context, q db.Querier, organizationID string, appID int64, p page.Page) ([]Placement, error) {
	size := func(p Placement) int { return len(p.Config) + len(p.Values) }
	placements, _, err := db.Some(ctx, q, (*Placement).fields, size, page.MaxBytes, selectPlacements+`
		WHERE p.app_id = $2 AND p.organization_id = $1 ORDER BY p.site_id LIMIT $3 OFFSET $4`, organizationID, appID, p.Limit, p.Offset)
	return placements, err
}

func countPlacementsOfApp(ctx context.Context, q db.Querier, organizationID string, appID int64) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM placements WHERE app_id = $2 AND organization_id = $1`, organizationID, appID)
}

// listOtherPaths lists the paths of each of the other apps on a site.
func listOtherPaths(ctx context.Context, q db.Querier, s Site, appID int64) ([][]string, error) {
	return db.All[[]string](ctx, q, nil,
		`SELECT paths FROM placements WHERE organization_id = $1 AND site_id = $2 AND app_id <> $3`, s.OrganizationID, s.ID, appID)
}

// room is the room that a site's placements take.
type room struct {
	placements  int
	configBytes int
	last        int64 // the last position
}

func (r *room) fields() []any { return []any{&r.placements, &r.configBytes, &r.last} }

func findRoom(ctx context.Context, q db.Querier, s Site) (room, error) {
	return db.One(ctx, q, (*room).fields, `
		SELECT COUNT(*), CAST(COALESCE(SUM(config_size), 0) AS BIGINT), COALESCE(MAX(position), 0) FROM placements
		WHERE organization_id = $1 AND site_id = $2`, s.OrganizationID, s.ID)
}
