package plugin

import (
	"context"
	"time"

	"foyer/internal/db"
)

// findRef finds the current bundle of the plugin with a public token or, given a
// sum, the bundle with that sum among its versions.
func findRef(ctx context.Context, q db.Querier, publicToken, sha256 string) (ref, error) {
	if sha256 == "" {
		return db.One(ctx, q, (*ref).fields, `
			SELECT s.plugin_id, s.organization_id, v.bundle
			FROM plugin_sources s JOIN plugin_versions v ON v.plugin_id = s.plugin_id AND v.number = s.current_number
			WHERE s.public_token = $1 AND v.bundle IS NOT NULL`, publicToken)
	}
	return db.One(ctx, q, (*ref).fields, `
		SELECT s.plugin_id, s.organization_id, v.bundle
		FROM plugin_sources s JOIN plugin_versions v ON v.plugin_id = s.plugin_id
		WHERE s.public_token = $1 AND v.bundle = $2 LIMIT 1`, publicToken, sha256)
}

func findContent(ctx context.Context, q db.Querier, sum string) (string, error) {
	return db.One(ctx, q, db.Value[string], `SELECT content FROM contents WHERE sha256 = $1`, sum)
}

func noteUse(ctx context.Context, tx *db.Tx, pluginID int64, at time.Time) error {
	return db.Run(ctx, tx, `
		UPDATE plugins SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, pluginID, at)
}
