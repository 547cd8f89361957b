package plugin

import (
	"context"
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/base/page"
	"foyer/internal/base/search"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

const ownersName = `(SELECT name FROM organizations WHERE organizations.id = organization_id)`

var columns = columnsWith(ownersName, `''`)

// columnsWith and fields must list the same things in the same order.
func columnsWith(ownersName, disabledBy string) string {
	return `plugins.id, organization_id, ` + ownersName + `, revision, ` + disabledBy + `, ` +
		eachField(func(name string, _ int) string { return "plugins." + name }) + `, last_used_at, shared_from, plugins.updated_at`
}

func (p *Plugin) fields() []any {
	all := append(make([]any, 0, 8+len(fields)), &p.ID, &p.OrganizationID, &p.OrganizationName, &p.Revision, &p.DisabledBy)
	for _, f := range fields {
		all = append(all, f.column(p))
	}
	return append(all, db.Null(&p.LastUsedAt), &p.SharedFrom, &p.UpdatedAt)
}

var insertPlugin = `
	INSERT INTO plugins (organization_id, revision, exports, shared_from, created_at, updated_at, name_key, search, ` +
	eachField(func(name string, _ int) string { return name }) + `)
	VALUES ($1, $2, $3, $4, $5, $5, $6, $7, ` + eachField(func(_ string, i int) string { return "$" + strconv.Itoa(8+i) }) + `)`

// insert stores a new plugin and sets its id.
func insert(ctx context.Context, tx *db.Tx, p *Plugin) (err error) {
	if p.IsGlobal {
		LockSharing(tx, p.OrganizationID)
	}
	args := append(make([]any, 0, 7+len(fields)), p.OrganizationID, p.Revision, exports(*p), p.SharedFrom, p.UpdatedAt, search.Key(p.Name), p.search())
	for _, f := range fields {
		args = append(args, f.value(p))
	}
	if p.ID, err = db.Insert(ctx, tx, insertPlugin, args...); err != nil {
		return access.OrChanged(err)
	}
	count(tx, *p, 1, one(p.IsGlobal))
	return nil
}

// update writes a plugin that the transaction has locked. It sets only the fields that changed, since SQLite writes to
// the index of each column that an UPDATE names.
func update(ctx context.Context, tx *db.Tx, before, p Plugin) error {
	count(tx, p, 0, one(p.IsGlobal)-one(before.IsGlobal))
	args := append(make([]any, 0, 8+len(fields)), p.OrganizationID, p.ID, p.Revision, p.SharedFrom, p.UpdatedAt)
	query := `UPDATE plugins SET revision = $3, shared_from = $4, updated_at = $5`
	set := func(column string, value any) {
		query += `, ` + column + ` = ` + queries.Arg(&args, value)
	}
	for _, f := range fields {
		if !f.same(&before, &p) {
			set(f.name, f.value(&p))
		}
	}
	if p.Capabilities != before.Capabilities || p.IsGlobal != before.IsGlobal {
		set(`exports`, exports(p))
	}
	if p.Name != before.Name {
		set(`name_key`, search.Key(p.Name))
	}
	if p.Name != before.Name || p.Description != before.Description {
		set(`search`, p.search())
	}
	return db.Exec(ctx, tx, query+` WHERE organization_id = $1 AND id = $2`, args...)
}

// selectVisible reads the owner's name only if the caller does not know it: reading it takes a quarter of the time of
// finding a plugin by its id.
var selectVisible = `SELECT ` + columnsWith(`CASE WHEN organization_id = $1 AND $3 <> '' THEN $3 ELSE `+ownersName+` END`, disabledBy) + `
	FROM plugins WHERE id = $2 AND (organization_id = $1 OR is_global)`

// find returns a plugin that the organization can see: its own or a global one.
func find(ctx context.Context, q db.Querier, o access.Organization, id int64, lock string) (Plugin, error) {
	return db.One(ctx, q, (*Plugin).fields, selectVisible+lock, o.ID, id, o.Name)
}

func remove(ctx context.Context, tx *db.Tx, organizationID string, id int64) error {
	return db.Exec(ctx, tx, `DELETE FROM plugins WHERE organization_id = $1 AND id = $2`, organizationID, id)
}

// visible returns the query for a page of the plugins that an organization sees. It finds the first of the
// organization's own plugins and the first of the global ones of others, each by an index, and merges them: without a
// limit for each, PostgreSQL would sort all of them. It sorts only the columns of the order: with IN, SQLite would sort
// whole plugins, in memory. In SQLite, CROSS JOIN fixes the order of the tables. sorted is the order of each part:
// o.SQL(), or the same order written so that no index gives it.
func visible(condition string, o page.Order, sorted string) string {
	part := func(which string) string {
		return `SELECT * FROM (SELECT ` + o.Columns() + ` FROM plugins WHERE ` + which + condition +
			` ORDER BY ` + sorted + ` LIMIT CAST($2 AS BIGINT) + $3) AS first`
	}
	ids := part(`organization_id = $1`) + ` UNION ALL ` + part(`is_global AND organization_id <> $1`)
	return `
		SELECT ` + columns + ` FROM (` + ids + ` ORDER BY ` + o.SQL() + ` LIMIT $2 OFFSET $3) AS found CROSS JOIN plugins
		WHERE plugins.id = found.id ORDER BY found.` + strings.ReplaceAll(o.SQL(), ", ", ", found.")
}

func listExporting(ctx context.Context, q db.Querier, organizationID string, p page.Page) ([]Plugin, error) {
	plugins, _, err := db.Some(ctx, q, (*Plugin).fields, sizeWithDefaults, page.MaxBytes, visible(` AND exports`, page.Order{}, `id`), organizationID, p.Limit, p.Offset)
	return plugins, err
}

// idle selects an organization's plugins whose bundles nobody has requested since a time.
const idle = ` FROM plugins WHERE organization_id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`

func listUnused(ctx context.Context, q db.Querier, organizationID string, since time.Time, p page.Page) ([]Plugin, error) {
	plugins, _, err := db.Some(ctx, q, (*Plugin).fields, Plugin.size, page.MaxBytes, `
		SELECT `+columns+idle+` AND NOT EXISTS (SELECT 1 FROM placements WHERE app_id = plugins.id AND enabled) ORDER BY id LIMIT $3 OFFSET $4`,
		organizationID, since, p.Limit, p.Offset)
	return plugins, err
}

// countUnused subtracts the placed plugins from all idle ones: both engines then build a set of the placed ones and
// look up each idle one in it. With NOT IN, SQLite looks up each one in the table, which takes twice as long. Without
// DISTINCT, PostgreSQL estimates by the number of placements, and scans them if it expects too many for a set.
const countUnused = `
	SELECT COUNT(*) - COUNT(*) FILTER (WHERE id IN (SELECT DISTINCT app_id FROM placements WHERE app_owner = $1 AND enabled))` + idle

// search returns the text that searches look in.
func (p *Plugin) search() string { return search.Searched(p.Name, p.Description) }

// flagVersion stores what filters need to know about a plugin's current version. A saved version can have the same
// files as an installed one, since keepSchema makes such versions.
func flagVersion(ctx context.Context, tx *db.Tx, p Plugin) error {
	return db.Exec(ctx, tx, `
		UPDATE plugins SET
			is_broken = EXISTS (
				SELECT 1 FROM plugin_sources s JOIN plugin_versions v ON v.plugin_id = s.plugin_id AND v.number = s.current_number
				JOIN plugin_files f ON f.version_id = v.id WHERE s.plugin_id = plugins.id AND f.status = 'error'),
			is_edited = EXISTS (
				SELECT 1 FROM plugin_sources s JOIN plugin_versions v ON v.plugin_id = s.plugin_id AND v.number = s.current_number
				WHERE s.plugin_id = plugins.id AND s.url_key IS NOT NULL AND NOT EXISTS (
					SELECT 1 FROM plugin_versions i
					WHERE i.plugin_id = v.plugin_id AND i.tag = v.tag AND i.sha256 = v.sha256 AND i.commit_name <> ''))
		WHERE organization_id = $1 AND id = $2`, p.OrganizationID, p.ID)
}

// visibleNow is how many plugins an organization sees, its own and the global ones of others, and their revision. The
// revision also changes with the name of an organization, which access_version counts.
type visibleNow struct {
	own      int
	others   int
	revision int64
}

func (v *visibleNow) fields() []any { return []any{&v.own, &v.others, &v.revision} }

func (v *visibleNow) count() int { return v.own + v.others }

func countVisible(ctx context.Context, q db.Querier, organizationID string) (visibleNow, error) {
	return db.One(ctx, q, (*visibleNow).fields, `
		SELECT CAST(COALESCE(SUM(own), 0) AS BIGINT), CAST(COALESCE(SUM(others), 0) AS BIGINT), CAST(COALESCE(SUM(version), 0) AS BIGINT) FROM (
			SELECT own, -global AS others, version FROM plugin_counts WHERE organization_id = $1
			UNION ALL
			SELECT 0, global, version FROM plugin_counts WHERE organization_id = ''
			UNION ALL
			SELECT 0, 0, version FROM access_version) AS parts`, organizationID)
}

// exporting counts the organization's own plugins and the global ones of others separately: one condition for both
// would search the plugins of all organizations.
const exporting = `
	SELECT (SELECT COUNT(*) FROM plugins WHERE organization_id = $1 AND exports)
		+ (SELECT COUNT(*) FROM plugins WHERE is_global AND organization_id <> $1 AND exports)`

func countExporting(ctx context.Context, q db.Querier, organizationID string) (int, error) {
	return db.One[int](ctx, q, nil, exporting, organizationID)
}

// count keeps plugin_counts exact when a plugin is added, changed or removed. Few plugins are global, so the row that
// all organizations share is seldom written.
func count(tx *db.Tx, p Plugin, own, global int64) {
	const add = `
		INSERT INTO plugin_counts (organization_id, shard, own, global, version) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (organization_id, shard) DO UPDATE
		SET own = plugin_counts.own + $3, global = plugin_counts.global + $4, version = plugin_counts.version + $5`
	db.Add(tx, add, []any{p.OrganizationID, tx.Shard}, own, global, cache.VersionStep())
	if p.IsGlobal || global != 0 {
		db.Add(tx, add, []any{"", tx.Shard}, 0, global, cache.VersionStep())
	}
}
