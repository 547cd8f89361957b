package plugin

import (
	"context"
	"errors"

	"foyer/internal/bundle"
	"foyer/internal/db"
	"foyer/internal/org"
	"foyer/internal/page"
)

const originColumns = `plugin_id, organization_id, public_token, current_number, url_key, credentials, checked_at`

func (o *origin) fields() []any {
	return []any{
		&o.PluginID, &o.OrganizationID, &o.PublicToken, &o.Current, db.Text(&o.URLKey), db.Text(&o.Credentials), db.Time(&o.CheckedAt),
	}
}

// originOf returns the origin of a plugin; if it has no source, that holds only the
// two ids.
func originOf(ctx context.Context, q db.Querier, organizationID string, pluginID int64) (origin, error) {
	o, err := db.One(ctx, q, (*origin).fields, `
		SELECT `+originColumns+` FROM plugin_sources WHERE plugin_id = $1 AND organization_id = $2`, pluginID, organizationID)
	if errors.Is(err, db.ErrNoRow) {
		return origin{PluginID: pluginID, OrganizationID: organizationID}, nil
	}
	return o, err
}

func insertOrigin(ctx context.Context, tx *db.Tx, o origin) error {
	_, err := db.Exec(ctx, tx, `
		INSERT INTO plugin_sources (`+originColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		o.PluginID, o.OrganizationID, o.PublicToken, o.Current, db.Text(&o.URLKey), db.Text(&o.Credentials), db.Time(&o.CheckedAt))
	return err
}

func updateOrigin(ctx context.Context, tx *db.Tx, o origin) error {
	return db.Run(ctx, tx, `
		UPDATE plugin_sources SET current_number = $2, credentials = $3, checked_at = $4 WHERE plugin_id = $1`,
		o.PluginID, o.Current, db.Text(&o.Credentials), db.Time(&o.CheckedAt))
}

func listURLKeys(ctx context.Context, q db.Querier, organizationID string) ([]string, error) {
	return db.All(ctx, q, db.Value[string], `
		SELECT url_key FROM plugin_sources WHERE organization_id = $1 AND url_key IS NOT NULL`, organizationID)
}

func hasURLKey(ctx context.Context, q db.Querier, organizationID, key string) (bool, error) {
	return db.One(ctx, q, db.Value[bool],
		`SELECT EXISTS (SELECT 1 FROM plugin_sources WHERE organization_id = $1 AND url_key = $2)`, organizationID, key)
}

const versionColumns = `v.id, v.number, v.tag, v.commit_name, v.sha256, v.bundle, v.bundle_integrity, v.bundle_size, v.created_at`

func (v *Version) fields() []any {
	return []any{
		&v.id, &v.Number, &v.Tag, &v.Commit, &v.SHA256,
		db.Text(&v.Bundle.SHA256), &v.Bundle.Integrity, &v.Bundle.Size, &v.CreatedAt,
	}
}

func (v *Version) fieldsWithCreator() []any { return append(v.fields(), v.CreatedBy.Fields()...) }

func nextNumber(ctx context.Context, tx *db.Tx, pluginID int64) (int64, error) {
	return db.One(ctx, tx, db.Value[int64], `SELECT COALESCE(MAX(number), 0) + 1 FROM plugin_versions WHERE plugin_id = $1`, pluginID)
}

func insertVersion(ctx context.Context, tx *db.Tx, pluginID int64, v Version) (id int64, err error) {
	return db.Insert(ctx, tx, `
		INSERT INTO plugin_versions (plugin_id, number, tag, commit_name, sha256, bundle, bundle_integrity, bundle_size, created_by, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		pluginID, v.Number, v.Tag, v.Commit, v.SHA256, db.Text(&v.Bundle.SHA256), v.Bundle.Integrity, v.Bundle.Size, v.CreatedBy.ID, v.CreatedAt)
}

func findVersion(ctx context.Context, q db.Querier, pluginID, n int64) (Version, error) {
	return db.One(ctx, q, (*Version).fields,
		`SELECT `+versionColumns+` FROM plugin_versions v WHERE v.plugin_id = $1 AND v.number = $2`, pluginID, n)
}

// findBefore returns the version that came before the one numbered n.
func findBefore(ctx context.Context, q db.Querier, pluginID, n int64) (Version, error) {
	return db.One(ctx, q, (*Version).fields,
		`SELECT `+versionColumns+` FROM plugin_versions v WHERE v.plugin_id = $1 AND v.number < $2 ORDER BY v.number DESC LIMIT 1`, pluginID, n)
}

// findInstalled returns the version that was installed last with a tag.
func findInstalled(ctx context.Context, q db.Querier, pluginID int64, tag string) (Version, error) {
	return db.One(ctx, q, (*Version).fields, `
		SELECT `+versionColumns+` FROM plugin_versions v WHERE v.plugin_id = $1 AND v.tag = $2 AND v.commit_name <> ''
		ORDER BY v.number DESC LIMIT 1`, pluginID, tag)
}

func listVersions(ctx context.Context, q db.Querier, pluginID int64, p page.Page) ([]Version, error) {
	return db.All(ctx, q, (*Version).fieldsWithCreator, `
		SELECT `+versionColumns+`, `+org.UserColumns+` FROM plugin_versions v JOIN users u ON u.id = v.created_by
		WHERE v.plugin_id = $1 ORDER BY v.number DESC LIMIT $2 OFFSET $3`, pluginID, p.Limit, p.Offset)
}

func countVersions(ctx context.Context, q db.Querier, pluginID int64) (int, error) {
	return db.One(ctx, q, db.Value[int], `SELECT COUNT(*) FROM plugin_versions WHERE plugin_id = $1`, pluginID)
}

// listSurplus names the saved versions beyond the newest maxSaved.
func listSurplus(ctx context.Context, tx *db.Tx, pluginID int64) ([]int64, error) {
	return db.All(ctx, tx, db.Value[int64], `
		SELECT id FROM plugin_versions WHERE plugin_id = $1 AND commit_name = '' ORDER BY number DESC LIMIT 1000 OFFSET $2`, pluginID, maxSaved)
}

func updateBundle(ctx context.Context, tx *db.Tx, id int64, b Bundle) error {
	return db.Run(ctx, tx, `
		UPDATE plugin_versions SET bundle = $2, bundle_integrity = $3, bundle_size = $4 WHERE id = $1`,
		id, db.Text(&b.SHA256), b.Integrity, b.Size)
}

func removeVersion(ctx context.Context, tx *db.Tx, id int64) error {
	return db.Run(ctx, tx, `DELETE FROM plugin_versions WHERE id = $1`, id)
}

func (f *File) fields() []any {
	return []any{&f.Name, &f.SHA256, &f.Size, &f.Status, &f.Error, &f.Line, &f.Column, &f.Text}
}

func insertFile(ctx context.Context, tx *db.Tx, versionID int64, f File) error {
	return db.Run(ctx, tx, `
		INSERT INTO plugin_files (version_id, name, sha256, size, status, error, error_line, error_column)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		versionID, f.Name, f.SHA256, f.Size, f.Status, f.Error, f.Line, f.Column)
}

// listFiles returns the files of a version, in no order.
func listFiles(ctx context.Context, q db.Querier, versionID int64) ([]File, error) {
	return db.All(ctx, q, (*File).fields, `
		SELECT f.name, f.sha256, f.size, f.status, f.error, f.error_line, f.error_column, c.content
		FROM plugin_files f JOIN contents c ON c.sha256 = f.sha256 WHERE f.version_id = $1`, versionID)
}

// findText returns the text of one file of a version.
func findText(ctx context.Context, q db.Querier, versionID int64, name string) (string, error) {
	return db.One(ctx, q, db.Value[string], `
		SELECT c.content FROM plugin_files f JOIN contents c ON c.sha256 = f.sha256
		WHERE f.version_id = $1 AND f.name = $2`, versionID, name)
}

// statuses is the status of each file of a version, by name.
func statuses(ctx context.Context, q db.Querier, versionID int64) (map[string]bundle.Status, error) {
	fields := func(f *File) []any { return []any{&f.Name, &f.Status} }
	files, err := db.All(ctx, q, fields, `SELECT name, status FROM plugin_files WHERE version_id = $1`, versionID)
	all := make(map[string]bundle.Status, len(files))
	for _, f := range files {
		all[f.Name] = f.Status
	}
	return all, err
}

// sums is the set of the sums of a version's files.
func sums(ctx context.Context, q db.Querier, versionID int64) (map[string]bool, error) {
	all, err := db.All(ctx, q, db.Value[string], `SELECT sha256 FROM plugin_files WHERE version_id = $1`, versionID)
	set := make(map[string]bool, len(all))
	for _, sum := range all {
		set[sum] = true
	}
	return set, err
}

// lockContents waits until no other transaction adds or removes contents. It is the
// first lock that a transaction takes, so that no two wait for each other.
func lockContents(ctx context.Context, tx *db.Tx) error {
	return db.LockRows(ctx, tx, `SELECT 1 FROM contents_lock WHERE id = 1`)
}

func insertContent(ctx context.Context, tx *db.Tx, sum, content string) error {
	return db.Run(ctx, tx, `INSERT INTO contents (sha256, content) VALUES ($1, $2) ON CONFLICT DO NOTHING`, sum, content)
}

// removeUnused removes a content unless a version uses it.
func removeUnused(ctx context.Context, tx *db.Tx, sum string) error {
	return db.Run(ctx, tx, `
		DELETE FROM contents WHERE sha256 = $1 AND NOT EXISTS (SELECT 1 FROM plugin_files f WHERE f.sha256 = $1)
		AND NOT EXISTS (SELECT 1 FROM plugin_versions v WHERE v.bundle = $1)`, sum)
}

// contents is a query for what versions use.
func contents(which string) string {
	return `
		SELECT f.sha256 FROM plugin_files f JOIN plugin_versions v ON v.id = f.version_id WHERE v.` + which + `
		UNION
		SELECT v.bundle FROM plugin_versions v WHERE v.bundle IS NOT NULL AND v.` + which
}

func listContentsOfVersion(ctx context.Context, tx *db.Tx, id int64) ([]string, error) {
	return db.All(ctx, tx, db.Value[string], contents(`id = $1`), id)
}

func listContentsOfPlugin(ctx context.Context, tx *db.Tx, id int64) ([]string, error) {
	return db.All(ctx, tx, db.Value[string], contents(`plugin_id = $1`), id)
}
