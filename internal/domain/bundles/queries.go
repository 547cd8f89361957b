package bundles

import (
	"context"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/lastuse"
)

// findRef finds the current bundle of the plugin with a public token or, given a sum, the bundle with that sum among
// its versions. It finds none if the organization may not use apps.
func findRef(ctx context.Context, q db.Querier, publicToken, sha256 string) (ref, error) {
	const selectRef = `
		SELECT s.plugin_id, s.organization_id, v.bundle, p.disabled_at IS NOT NULL, v.withdrawn_at IS NOT NULL
		FROM plugin_sources s JOIN plugin_versions v ON v.plugin_id = s.plugin_id JOIN plugins p ON p.id = s.plugin_id
		JOIN organizations o ON o.id = s.organization_id
		WHERE s.public_token = $1 AND o.access_level >= $2 AND `
	if sha256 == "" {
		return db.One(ctx, q, (*ref).fields, selectRef+`v.number = s.current_number AND v.bundle IS NOT NULL`, publicToken, access.ReadApps)
	}
	return db.One(ctx, q, (*ref).fields, selectRef+`v.bundle = $3 LIMIT 1`, publicToken, access.ReadApps, sha256)
}

func findContent(ctx context.Context, q db.Querier, sum string) (string, error) {
	return db.One[string](ctx, q, nil, `SELECT content FROM contents WHERE sha256 = $1`, sum)
}

func markUsed(ctx context.Context, tx *db.Tx, plugin lastuse.Used, at time.Time) error {
	return db.Exec(ctx, tx, `
		UPDATE plugins SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, plugin.ID, at)
}
