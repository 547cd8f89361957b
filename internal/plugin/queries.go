package plugin

import (
	"context"
	"time"

	"foyer/internal/db"
	"foyer/internal/page"
)

// columns and fields must list the same things in the same order.
const columns = `id, organization_id, (SELECT name FROM organizations WHERE organizations.id = organization_id), version,
	plugin_type, plugins.name, description, url, icon, config_schema, tag, latest_tag, is_global, capabilities, metrics, public_jobs,
	last_used_at, created_at, updated_at`

func (p *Plugin) fields() []any {
	return []any{
		&p.ID, &p.OrganizationID, &p.OrganizationName, &p.Revision,
		&p.Type, &p.Name, &p.Description, &p.URL, &p.Icon, db.Text(&p.ConfigSchema), &p.Tag, &p.LatestTag, &p.IsGlobal,
		db.Text(&p.Capabilities), db.Text(&p.Metrics), db.Text(&p.PublicJobs),
		db.Time(&p.LastUsedAt), &p.CreatedAt, &p.UpdatedAt,
	}
}

// insert stores a plugin, whose id is set once the statement has run.
func insert(ctx context.Context, tx *db.Tx, p *Plugin) error {
	return db.InsertLater(ctx, tx, &p.ID, `
		INSERT INTO plugins (organization_id, plugin_type, name, description, url, icon, config_schema, tag, latest_tag,
			is_global, capabilities, metrics, public_jobs, exports, created_at, updated_at, version)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $16)`,
		p.OrganizationID, p.Type, p.Name, p.Description, p.URL, p.Icon, db.Text(&p.ConfigSchema), p.Tag, p.LatestTag,
		p.IsGlobal, db.Text(&p.Capabilities), db.Text(&p.Metrics), db.Text(&p.PublicJobs), exports(*p), p.CreatedAt, p.Revision)
}

const updatePlugin = `
	UPDATE plugins
	SET version = $3, plugin_type = $4, name = $5, description = $6, url = $7, icon = $8, config_schema = $9, tag = $10,
		latest_tag = $11, is_global = $12, capabilities = $13, metrics = $14, public_jobs = $15, exports = $16, updated_at = $17
	WHERE organization_id = $1 AND id = $2 AND version = $18`

func updated(before, p Plugin) []any {
	return []any{
		p.OrganizationID, p.ID, p.Revision, p.Type, p.Name, p.Description, p.URL, p.Icon, db.Text(&p.ConfigSchema), p.Tag,
		p.LatestTag, p.IsGlobal, db.Text(&p.Capabilities), db.Text(&p.Metrics), db.Text(&p.PublicJobs), exports(p), p.UpdatedAt,
		before.Revision,
	}
}

// update writes a plugin that the transaction has locked.
func update(ctx context.Context, tx *db.Tx, before, p Plugin) error {
	if err := db.Run(ctx, tx, updatePlugin, updated(before, p)...); err != nil {
		return err
	}
	return count(ctx, tx, p, 0, one(p.IsGlobal)-one(before.IsGlobal))
}

// swap is update for a plugin that the transaction has not even read: it writes only
// if the stored revision is the one from before.
func swap(ctx context.Context, tx *db.Tx, before, p Plugin) (swapped bool, err error) {
	n, err := db.Exec(ctx, tx, updatePlugin, updated(before, p)...)
	if err != nil || n == 0 {
		return false, err
	}
	return true, count(ctx, tx, p, 0, one(p.IsGlobal)-one(before.IsGlobal))
}

// find returns a plugin that the organization can see: its own or a global one.
func find(ctx context.Context, q db.Querier, organizationID string, id int64, lock string) (Plugin, error) {
	return db.One(ctx, q, (*Plugin).fields,
		`SELECT `+columns+` FROM plugins WHERE id = $2 AND (organization_id = $1 OR is_global)`+lock, organizationID, id)
}

func remove(ctx context.Context, tx *db.Tx, organizationID string, id int64) error {
	return db.Run(ctx, tx, `DELETE FROM plugins WHERE organization_id = $1 AND id = $2`, organizationID, id)
}

// visible is the query for a page of what an organization sees. The first ids of its own
// plugins and of the global ones, each in the order of an index, are merged to find them:
// without a limit for each, PostgreSQL would sort all there are.
func visible(condition string) string {
	const first = ` ORDER BY id LIMIT CAST($2 AS BIGINT) + $3) AS first`
	return `
		SELECT ` + columns + ` FROM plugins WHERE id IN (
			SELECT id FROM (SELECT id FROM plugins WHERE organization_id = $1` + condition + first + `
			UNION ALL
			SELECT id FROM (SELECT id FROM plugins WHERE is_global AND organization_id <> $1` + condition + first + `
			ORDER BY id LIMIT $2 OFFSET $3)
		ORDER BY id`
}

// list is a page of what an organization sees. Most see only their own plugins, which
// are in the order of an index: what a page skips then takes no memory.
func list(ctx context.Context, q db.Querier, organizationID string, sees visibleNow, after int64, p page.Page) (plugins []Plugin, more bool, err error) {
	query := `SELECT ` + columns + ` FROM plugins WHERE organization_id = $1 AND id > $4 ORDER BY id LIMIT $2 OFFSET $3`
	if sees.others > 0 {
		query = visible(` AND id > $4`)
	}
	return db.Some(ctx, q, (*Plugin).fields, Plugin.size, page.MaxBytes, query, organizationID, p.Peek(), p.Skip(), after)
}

func listExporting(ctx context.Context, q db.Querier, organizationID string, p page.Page) ([]Plugin, error) {
	plugins, _, err := db.Some(ctx, q, (*Plugin).fields, sizeWithDefaults, page.MaxBytes, visible(` AND exports`), organizationID, p.Limit, p.Offset)
	return plugins, err
}

func listUnused(ctx context.Context, q db.Querier, organizationID string, since time.Time, p page.Page) ([]Plugin, error) {
	plugins, _, err := db.Some(ctx, q, (*Plugin).fields, Plugin.size, page.MaxBytes, `
		SELECT `+columns+` FROM plugins WHERE organization_id = $1 AND (last_used_at IS NULL OR last_used_at < $4)
		ORDER BY id LIMIT $2 OFFSET $3`, organizationID, p.Limit, p.Offset, since)
	return plugins, err
}

// visibleNow is how many plugins an organization sees, its own and the global ones
// of others, and their revision, which also changes with the name of an organization:
// access_version counts those.
type visibleNow struct {
	own      int
	others   int
	revision int64
}

func (v *visibleNow) fields() []any { return []any{&v.own, &v.others, &v.revision} }

func (v *visibleNow) count() int { return v.own + v.others }

func countVisible(ctx context.Context, q db.Querier, organizationID string) (visibleNow, error) {
	return db.One(ctx, db.Quick(q), (*visibleNow).fields, `
		SELECT CAST(COALESCE(SUM(own), 0) AS BIGINT), CAST(COALESCE(SUM(others), 0) AS BIGINT), CAST(COALESCE(SUM(version), 0) AS BIGINT) FROM (
			SELECT own, -global AS others, version FROM plugin_counts WHERE organization_id = $1
			UNION ALL
			SELECT 0, global, version FROM plugin_counts WHERE organization_id = ''
			UNION ALL
			SELECT 0, 0, version FROM access_version) AS parts`, organizationID)
}

// revisionOf is the revision of a plugin of the organization.
func revisionOf(ctx context.Context, q db.Querier, organizationID string, id int64, lock string) (int64, error) {
	return db.One(ctx, db.Quick(q), db.Value[int64],
		`SELECT version FROM plugins WHERE organization_id = $1 AND id = $2`+lock, organizationID, id)
}

func countExporting(ctx context.Context, q db.Querier, organizationID string) (int, error) {
	return db.One(ctx, q, db.Value[int],
		`SELECT COUNT(*) FROM plugins WHERE exports AND (organization_id = $1 OR is_global)`, organizationID)
}

func countUnused(ctx context.Context, q db.Querier, organizationID string, since time.Time) (int, error) {
	return db.One(ctx, q, db.Value[int], `
		SELECT COUNT(*) FROM plugins WHERE organization_id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, organizationID, since)
}

// count keeps plugin_counts exact: a plugin was added, changed or removed. Few
// are global, so the row that all organizations share is seldom touched.
func count(ctx context.Context, tx *db.Tx, p Plugin, own, global int64) error {
	const add = `
		INSERT INTO plugin_counts (organization_id, part, own, global, version) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (organization_id, part) DO UPDATE
		SET own = plugin_counts.own + $3, global = plugin_counts.global + $4, version = plugin_counts.version + $5`
	if err := db.Add(ctx, tx, add, []any{p.OrganizationID, tx.Part}, own, global, db.Step()); err != nil || !p.IsGlobal && global == 0 {
		return err
	}
	return db.Add(ctx, tx, add, []any{"", tx.Part}, 0, global, db.Step())
}
