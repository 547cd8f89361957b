package plugin

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"

	"foyer/internal/base/page"
	"foyer/internal/domain/org"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
	"foyer/internal/infra/upstream/unpack"
)

const originColumns = `plugin_id, organization_id, public_token, current_number, url_key, credentials, checked_at`

func (o *origin) fields() []any {
	return []any{
		&o.PluginID, &o.OrganizationID, &o.PublicToken, &o.Current, db.Null(&o.URLKey), db.Null(&o.Credentials), db.Null(&o.CheckedAt),
	}
}

// originOf returns the origin of a plugin; if the plugin has no source, only the two ids are set.
func originOf(ctx context.Context, q db.Querier, organizationID string, pluginID int64) (origin, error) {
	o, err := db.One(ctx, q, (*origin).fields, `
		SELECT `+originColumns+` FROM plugin_sources WHERE plugin_id = $1 AND organization_id = $2`, pluginID, organizationID)
	if errors.Is(err, db.ErrNoRow) {
		return origin{PluginID: pluginID, OrganizationID: organizationID}, nil
	}
	return o, err
}

func insertOrigin(ctx context.Context, tx *db.Tx, o origin) error {
	return db.Exec(ctx, tx, `
		INSERT INTO plugin_sources (`+originColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		o.PluginID, o.OrganizationID, o.PublicToken, o.Current, db.Null(&o.URLKey), db.Null(&o.Credentials), db.Null(&o.CheckedAt))
}

func updateOrigin(ctx context.Context, tx *db.Tx, o origin) error {
	return db.Exec(ctx, tx, `
		UPDATE plugin_sources SET current_number = $2, credentials = $3, checked_at = $4, url_key = $5
		WHERE plugin_id = $1 AND organization_id = $6`,
		o.PluginID, o.Current, db.Null(&o.Credentials), db.Null(&o.CheckedAt), db.Null(&o.URLKey), o.OrganizationID)
}

func listURLKeys(ctx context.Context, q db.Querier, organizationID string) ([]string, error) {
	return db.All[string](ctx, q, nil, `
		SELECT url_key FROM plugin_sources WHERE organization_id = $1 AND url_key IS NOT NULL`, organizationID)
}

func hasURLKey(ctx context.Context, q db.Querier, organizationID, key string) (bool, error) {
	return db.One[bool](ctx, q, nil,
		`SELECT EXISTS (SELECT 1 FROM plugin_sources WHERE organization_id = $1 AND url_key = $2)`, organizationID, key)
}

const versionColumns = `v.id, v.number, v.tag, v.commit_name, v.sha256, v.bundle, v.bundle_integrity, v.bundle_size, v.bundle_inject,
	v.config_schema, v.message, v.withdrawn_at, v.withdrawn_reason, v.created_at`

func (v *Version) fields() []any {
	return []any{
		&v.id, &v.Number, &v.Tag, &v.Commit, &v.SHA256,
		db.Null(&v.Bundle.SHA256), &v.Bundle.Integrity, &v.Bundle.Size, &v.Bundle.Inject,
		db.Null(&v.Schema), &v.Message, db.Null(&v.Withdrawn.At), &v.Withdrawn.Reason, &v.CreatedAt,
	}
}

func nextNumber(ctx context.Context, tx *db.Tx, pluginID int64) (int64, error) {
	return db.One[int64](ctx, tx, nil, `SELECT COALESCE(MAX(number), 0) + 1 FROM plugin_versions WHERE plugin_id = $1`, pluginID)
}

func insertVersion(ctx context.Context, tx *db.Tx, pluginID int64, v Version) (id int64, err error) {
	return db.Insert(ctx, tx, `
		INSERT INTO plugin_versions (plugin_id, number, tag, commit_name, sha256, bundle, bundle_integrity, bundle_size, bundle_inject,
			config_schema, message, created_by, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		pluginID, v.Number, v.Tag, v.Commit, v.SHA256, db.Null(&v.Bundle.SHA256), v.Bundle.Integrity, v.Bundle.Size, v.Bundle.Inject,
		db.Null(&v.Schema), v.Message, v.CreatedBy.ID, v.CreatedAt)
}

func findVersion(ctx context.Context, q db.Querier, pluginID, n int64) (Version, error) {
	return db.One(ctx, q, (*Version).fields,
		`SELECT `+versionColumns+` FROM plugin_versions v WHERE v.plugin_id = $1 AND v.number = $2`, pluginID, n)
}

// seen says which versions of a plugin somebody sees: the current one, and those from a number on.
type seen struct{ pluginID, current, from int64 }

// isSeen is the condition for these versions.
const isSeen = ` v.plugin_id = $1 AND (v.number = $2 OR v.number >= $3)`

func (s seen) find(ctx context.Context, q db.Querier, n int64) (Version, error) {
	return db.One(ctx, q, (*Version).fields,
		`SELECT `+versionColumns+` FROM plugin_versions v WHERE`+isSeen+` AND v.number = $4`, s.pluginID, s.current, s.from, n)
}

// before returns the version before the one numbered n.
func (s seen) before(ctx context.Context, q db.Querier, n int64) (Version, error) {
	return db.One(ctx, q, (*Version).fields,
		`SELECT `+versionColumns+` FROM plugin_versions v WHERE`+isSeen+` AND v.number < $4 ORDER BY v.number DESC LIMIT 1`,
		s.pluginID, s.current, s.from, n)
}

// findInstalled returns the version that was last installed with a tag, or zero if there is none.
func findInstalled(ctx context.Context, q db.Querier, pluginID int64, tag string) (Version, error) {
	if tag == "" {
		return Version{}, nil
	}
	v, err := db.One(ctx, q, (*Version).fields, `
		SELECT `+versionColumns+` FROM plugin_versions v WHERE v.plugin_id = $1 AND v.tag = $2 AND v.commit_name <> ''
		ORDER BY v.number DESC LIMIT 1`, pluginID, tag)
	if errors.Is(err, db.ErrNoRow) {
		return Version{}, nil
	}
	return v, err
}

// fieldsWithUsers lists the fields that selectVersionsWithUsers fills.
func (v *Version) fieldsWithUsers() []any {
	return slices.Concat(v.fields(), []any{&v.Current}, v.CreatedBy.Fields(), v.Withdrawn.byFields())
}

var (
	selectVersionsWithUsers = versionsWithUsers(versionColumns)
	versionWithoutSchema    = strings.Replace(versionColumns, "v.config_schema", "NULL", 1)
	listVersionsWithUsers   = versionsWithUsers(versionWithoutSchema)
)

func versionsWithUsers(columns string) string {
	return `
	SELECT ` + columns + `, v.number = (SELECT s.current_number FROM plugin_sources s WHERE s.plugin_id = v.plugin_id), ` + org.UserColumns + `, ` + offColumns + `
	FROM plugin_versions v JOIN users u ON u.id = v.created_by LEFT JOIN users w ON w.id = v.withdrawn_by`
}

// list reads versions without their config_schemas, which may have up to 1 MiB each.
func (s seen) list(ctx context.Context, q db.Querier, p page.Page) ([]Version, error) {
	return db.All(ctx, q, (*Version).fieldsWithUsers, listVersionsWithUsers+`
		WHERE`+isSeen+` ORDER BY v.number DESC LIMIT $4 OFFSET $5`, s.pluginID, s.current, s.from, p.Limit, p.Offset)
}

// findForSites is find, with the user who made the version. It also finds a version that the organization's sites still
// have but the organization no longer sees, because it was current when they got it.
func (s seen) findForSites(ctx context.Context, q db.Querier, organizationID string, n int64) (Version, error) {
	return db.One(ctx, q, (*Version).fieldsWithUsers, selectVersionsWithUsers+`
		WHERE v.plugin_id = $1 AND v.number = $4 AND (v.number = $2 OR v.number >= $3 OR EXISTS (
			SELECT 1 FROM placements p WHERE p.app_id = v.plugin_id AND p.organization_id = $5 AND (p.version = v.number OR p.running = v.number)))`,
		s.pluginID, s.current, s.from, n, organizationID)
}

func (s seen) count(ctx context.Context, q db.Querier) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM plugin_versions v WHERE`+isSeen, s.pluginID, s.current, s.from)
}

// listSurplus returns the saved versions beyond the newest maxSaved, except those that sites run or are pinned to, and
// those that are withdrawn: their bundles stay refused. The current version is one of the newest, see prune.
func listSurplus(ctx context.Context, tx *db.Tx, pluginID int64) ([]int64, error) {
	return db.All[int64](ctx, tx, nil, surplus, pluginID, maxSaved)
}

// surplus reads the placements of the app once, not for each version.
const surplus = `
	SELECT id FROM plugin_versions v WHERE v.plugin_id = $1 AND v.commit_name = '' AND v.withdrawn_at IS NULL AND v.number NOT IN (
		SELECT version FROM placements WHERE app_id = $1 UNION SELECT kept FROM placements WHERE app_id = $1)
	ORDER BY v.number DESC LIMIT 1000 OFFSET $2`

func removeVersion(ctx context.Context, tx *db.Tx, id int64) error {
	return db.Exec(ctx, tx, `DELETE FROM plugin_versions WHERE id = $1`, id)
}

func fileFields(f *source.File) []any {
	return []any{&f.Name, &f.SHA256, &f.Size, &f.Status, &f.Error, &f.Line, &f.Column, &f.Warning, &f.Text}
}

// insertFiles stores the files of a version. Their contents are stored already.
func insertFiles(ctx context.Context, tx *db.Tx, versionID int64, files []source.File) error {
	for _, f := range files {
		err := db.Exec(ctx, tx, `
			INSERT INTO plugin_files (version_id, name, sha256, size, status, error, error_line, error_column, warning)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			versionID, f.Name, f.SHA256, f.Size, f.Status, f.Error, f.Line, f.Column, f.Warning)
		if err != nil {
			return err
		}
	}
	return nil
}

// copyFiles gives a version the files of another.
func copyFiles(ctx context.Context, tx *db.Tx, fromID, toID int64) error {
	return db.Exec(ctx, tx, `
		INSERT INTO plugin_files (version_id, name, sha256, size, status, error, error_line, error_column, warning)
		SELECT CAST($2 AS BIGINT), name, sha256, size, status, error, error_line, error_column, warning FROM plugin_files WHERE version_id = $1`, fromID, toID)
}

// listFiles returns the files of a version, in any order.
func listFiles(ctx context.Context, q db.Querier, versionID int64) ([]source.File, error) {
	files, err := db.All(ctx, q, fileFields, `
		SELECT f.name, f.sha256, f.size, f.status, f.error, f.error_line, f.error_column, f.warning, c.content
		FROM plugin_files f JOIN contents c ON c.sha256 = f.sha256 WHERE f.version_id = $1`, versionID)
	for i := range files {
		files[i].Text = unpacked(files[i].Text)
	}
	return files, err
}

// statuses returns the status of each file of a version, by name.
func statuses(ctx context.Context, q db.Querier, versionID int64) (map[string]string, error) {
	files, err := db.All(ctx, q, func(f *source.File) []any { return []any{&f.Name, &f.Status} },
		`SELECT name, status FROM plugin_files WHERE version_id = $1`, versionID)
	status := make(map[string]string, len(files))
	for _, f := range files {
		status[f.Name] = string(f.Status)
	}
	return status, err
}

// findManifest returns the text of a version's manifest.
func findManifest(ctx context.Context, q db.Querier, versionID int64) (string, error) {
	return db.One[string](ctx, q, nil, `
		SELECT c.content FROM plugin_files f JOIN contents c ON c.sha256 = f.sha256
		WHERE f.version_id = $1 AND f.name = $2`, versionID, source.ManifestName)
}

// insertContents stores contents by their sums. It locks those that are stored already, so that none is removed before
// the transaction refers to it. Transactions that store the same ones wait for each other, always in the same order; one
// that another has stored meanwhile is set to what it is, which locks it.
func insertContents(ctx context.Context, tx *db.Tx, contents map[string]string) error {
	if len(contents) == 0 {
		return nil
	}
	sums := slices.Sorted(maps.Keys(contents))
	var args []any
	query := `SELECT sha256 FROM contents WHERE sha256 IN (` + queries.Arg(&args, sums...) + `) FOR KEY SHARE`
	stored, err := db.All[string](ctx, tx, nil, query, args...)
	if err != nil {
		return err
	}
	for _, sum := range sums {
		if slices.Contains(stored, sum) {
			continue
		}
		err := db.Exec(ctx, tx, `
			INSERT INTO contents (sha256, content) VALUES ($1, $2) ON CONFLICT (sha256) DO UPDATE SET content = contents.content`,
			sum, packed(contents[sum]))
		if err != nil {
			return err
		}
	}
	return nil
}

// inBase64 is the prefix of a file that is not text and is stored in base64, because text columns hold no other bytes.
const inBase64 = "\x01base64,"

// packed returns a content as it is stored.
func packed(content string) string {
	if unpack.IsText(content) && !strings.HasPrefix(content, inBase64) {
		return content
	}
	return inBase64 + base64.StdEncoding.EncodeToString([]byte(content))
}

// unpacked undoes packed.
func unpacked(stored string) string {
	encoded, ok := strings.CutPrefix(stored, inBase64)
	if !ok {
		return stored
	}
	content, _ := base64.StdEncoding.DecodeString(encoded) // packed wrote it
	return string(content)
}

// isUnused is the condition for contents c that no version uses.
const isUnused = `NOT EXISTS (SELECT 1 FROM plugin_files f WHERE f.sha256 = c.sha256)
	AND NOT EXISTS (SELECT 1 FROM plugin_versions v WHERE v.bundle = c.sha256)`

// unusedContents returns the sums of some contents that no version uses, in order, from the one after a sum on.
func unusedContents(ctx context.Context, q db.Querier, after string) ([]string, error) {
	return db.All[string](ctx, q, nil, `SELECT c.sha256 FROM contents c WHERE c.sha256 > $1 AND `+isUnused+` ORDER BY c.sha256 LIMIT 1000`, after)
}

// removeUnused removes those of some contents that no version uses, except those that another transaction has locked to
// use them.
func removeUnused(ctx context.Context, tx *db.Tx, sums []string) error {
	var args []any
	locked, err := db.All[string](ctx, tx, nil, `SELECT sha256 FROM contents WHERE sha256 IN (`+queries.Arg(&args, sums...)+`) FOR UPDATE SKIP LOCKED`, args...)
	if err != nil || len(locked) == 0 {
		return err
	}
	args = nil
	query := `DELETE FROM contents AS c WHERE c.sha256 IN (` + queries.Arg(&args, locked...) + `) AND ` + isUnused
	return db.Exec(ctx, tx, query, args...)
}
