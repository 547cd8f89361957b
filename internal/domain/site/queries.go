package site

import (
	"context"
	"strconv"
	"strings"

	"foyer/internal/base/cache"
	"foyer/internal/base/search"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

const columns = `sites.id, sites.organization_id, sites.name, sites.token, sites.enabled, sites.is_demo, sites.origins, sites.revision,
	(SELECT COUNT(*) FROM placements WHERE placements.site_id = sites.id), sites.created_at, sites.updated_at, sites.stamp,
	COALESCE((SELECT access_level FROM organizations WHERE organizations.id = sites.organization_id), 0)`

func (s *Site) fields() []any {
	return []any{
		&s.ID, &s.OrganizationID, &s.Name, &s.Token, &s.Enabled, &s.Demo, &s.Origins, &s.Revision, &s.AppsCount, &s.CreatedAt, &s.UpdatedAt, &s.stamp, &s.access,
	}
}

// fieldsWithApps also lists the apps.
func (s *Site) fieldsWithApps() []any { return append(s.fields(), &s.apps) }

func insertSite(ctx context.Context, tx *db.Tx, s Site) (id int64, err error) {
	return db.Insert(ctx, tx, `
		INSERT INTO sites (organization_id, name, token, enabled, is_demo, origins, revision, apps, stamp, created_at, updated_at, name_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $10, $9, $9, $11)`,
		s.OrganizationID, s.Name, s.Token, s.Enabled, s.Demo, list(s.Origins), s.Revision, s.apps, s.CreatedAt, cache.VersionStep(), search.Key(s.Name))
}

func updateSite(ctx context.Context, tx *db.Tx, s Site) error {
	return db.Exec(ctx, tx, `
		UPDATE sites SET name = $3, enabled = $4, origins = $5, updated_at = $6, name_key = $7 WHERE organization_id = $1 AND id = $2`,
		s.OrganizationID, s.ID, s.Name, s.Enabled, list(s.Origins), s.UpdatedAt, search.Key(s.Name))
}

// updateApps writes the manifests of at most a batch of revisions to their sites.
func updateApps(ctx context.Context, tx *db.Tx, revisions []begun) error {
	var args []any
	for _, r := range revisions {
		args = append(args, r.OrganizationID, r.ID, r.Revision, r.apps)
	}
	query := `
		WITH v (organization_id, id, revision, apps) AS ` + rows(len(revisions), "TEXT", "BIGINT", "BIGINT", "TEXT") + `
		UPDATE sites SET revision = v.revision, apps = v.apps, stamp = stamp + ` + queries.Arg(&args, cache.VersionStep()) + `
		FROM v WHERE sites.organization_id = v.organization_id AND sites.id = v.id`
	return db.Exec(ctx, tx, query, args...)
}

// rows returns n rows of arguments, from $1 on, to use in a WITH or as a table.
func rows(n int, types ...string) string {
	all := make([]string, n)
	for i := range all {
		row := make([]string, len(types))
		for j, kind := range types {
			row[j] = "CAST($" + strconv.Itoa(i*len(types)+j+1) + " AS " + kind + ")"
		}
		all[i] = "(" + strings.Join(row, ", ") + ")"
	}
	return "(VALUES " + strings.Join(all, ", ") + ")"
}

func removeSite(ctx context.Context, tx *db.Tx, organizationID string, id int64) error {
	return db.Exec(ctx, tx, `DELETE FROM sites WHERE organization_id = $1 AND id = $2`, organizationID, id)
}

func findSite(ctx context.Context, q db.Querier, organizationID string, id int64) (Site, error) {
	return db.One(ctx, q, (*Site).fieldsWithApps,
		`SELECT `+columns+`, sites.apps FROM sites WHERE organization_id = $1 AND id = $2`, organizationID, id)
}

// lockedSite locks a site and then reads it, see listSites.
func lockedSite(ctx context.Context, tx *db.Tx, organizationID string, id int64) (Site, error) {
	if err := db.Exec(ctx, tx, `SELECT 1 FROM sites WHERE organization_id = $1 AND id = $2 FOR UPDATE`, organizationID, id); err != nil {
		return Site{}, err
	}
	return findSite(ctx, tx, organizationID, id)
}

func countSites(ctx context.Context, q db.Querier, organizationID string) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM sites WHERE organization_id = $1`, organizationID)
}

// batch is how many sites are published at once; each has up to 256 KiB of values.
const batch = 30

// ofSites is the condition that a placement p is on one of some sites.
func ofSites(args *[]any, sites []Site) string {
	ids := make([]int64, len(sites))
	for i, s := range sites {
		ids[i] = s.ID
	}
	return ` p.site_id IN (` + queries.Arg(args, ids...) + `)`
}

// lockSites locks the sites that a condition selects, and returns their ids.
func lockSites(ctx context.Context, tx *db.Tx, condition string, of any) ([]int64, error) {
	return db.All[int64](ctx, tx, nil, `SELECT id FROM sites WHERE `+condition+` ORDER BY id FOR UPDATE`, of)
}

// listSites reads a batch of locked sites. A statement that waits for a lock reads the other tables, such as the
// organization's access level, as they were when it began, so it must not read the sites itself.
func listSites(ctx context.Context, tx *db.Tx, ids []int64) ([]Site, error) {
	var args []any
	query := `SELECT ` + columns + `, sites.apps FROM sites WHERE id IN (` + queries.Arg(&args, ids...) + `) ORDER BY id`
	return db.All(ctx, tx, (*Site).fieldsWithApps, query, args...)
}

// Conditions of lockSites: the sites on which an app is placed; the sites of an organization, and those of others that
// have its apps.
const (
	haveApp        = `id IN (SELECT site_id FROM placements WHERE app_id = $1)`
	ofOrganization = `organization_id = $1 OR id IN (
		SELECT p.site_id FROM plugins a JOIN placements p ON p.app_id = a.id WHERE a.organization_id = $1 AND p.organization_id <> $1)`
)

// lockAdding makes other transactions that add a site to an organization wait.
func lockAdding(tx *db.Tx, organizationID string) { db.Lock(tx, "sites of "+organizationID) }

// lockSharedApps locks the global apps of an organization, so that nobody places one, or shares another, meanwhile.
func lockSharedApps(ctx context.Context, tx *db.Tx, organizationID string) error {
	plugin.LockSharing(tx, organizationID)
	return db.Exec(ctx, tx, `SELECT 1 FROM plugins WHERE organization_id = $1 AND is_global ORDER BY id FOR UPDATE`, organizationID)
}

// listed is an app in the manifest of a site.
type listed struct {
	siteID int64
	entry
	token, sum, values string
	paths              []string
}

const listedColumns = `a.id, a.name, v.number, s.public_token, v.bundle, v.bundle_integrity`

func (l *listed) fields() []any {
	return []any{&l.ID, &l.Name, &l.Version, &l.token, &l.sum, &l.Integrity}
}

// listListed lists the apps for the manifests of some sites, each site's in its order.
func listListed(ctx context.Context, q db.Querier, sites []Site) ([]listed, error) {
	fields := func(l *listed) []any { return append(l.fields(), &l.siteID, &l.values, &l.paths) }
	var args []any
	query := `
		SELECT ` + listedColumns + `, p.site_id, p.site_values, p.paths
		FROM placements p JOIN plugins a ON a.id = p.app_id JOIN plugin_sources s ON s.plugin_id = p.app_id
		JOIN plugin_versions v ON v.plugin_id = p.app_id AND v.number = p.running
		WHERE` + ofSites(&args, sites) + ` ORDER BY p.site_id, p.position, p.app_id`
	return db.All(ctx, q, fields, query, args...)
}

// findByToken takes no organization, because anybody with a page of the site may call it.
func findByToken(ctx context.Context, q db.Querier, token string) (Site, error) {
	return db.One(ctx, q, (*Site).fields, `SELECT `+columns+` FROM sites WHERE token = $1`, token)
}

func findByTokenWithApps(ctx context.Context, q db.Querier, token string) (Site, error) {
	return db.One(ctx, q, (*Site).fieldsWithApps, `SELECT `+columns+`, sites.apps FROM sites WHERE token = $1`, token)
}
