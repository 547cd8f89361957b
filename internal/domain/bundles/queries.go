package bundles

import (
	"context"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/lastuse"
)

// The plugin with a public token and its current bundle, or the bundle with a sum among its versions; none, if the
// organization may not use apps.
const (
	selectRef = `
		SELECT s.plugin_id, s.organization_id, v.bundle, p.disabled_at IS NOT NULL, v.withdrawn_at IS NOT NULL
		FROM plugin_sources s JOIN plugin_versions v ON v.plugin_id = s.plugin_id JOIN plugins p ON p.id = s.plugin_id
		JOIN organizations o ON o.id = s.organization_id
		WHERE s.public_token = $1 AND o.access_level >= $2 AND `
	selectCurrent = selectRef + `v.number = s.current_number AND v.bundle IS NOT NULL`
	selectBySum   = selectRef + `v.bundle = $3 LIMIT 1`
)

// findRef finds the bundle with a sum or, without one, the current bundle.
func findRef(ctx context.Context, q db.Querier, publicToken, sha256 string) (ref, error) {
	if sha256 == "" {
		return db.One(ctx, q, (*ref).fields, selectCurrent, publicToken, access.ReadApps)
	}
	return db.One(ctx, q, (*ref).fields, selectBySum, publicToken, access.ReadApps, sha256)
}

func findContent(ctx context.Context, q db.Querier, sum string) (string, error) {
	return db.One[string](ctx, q, nil, `SELECT content FROM contents WHERE sha256 = $1`, sum)
}

func markUsed(ctx context.Context, tx *db.Tx, plugin lastuse.Used, at time.Time) error {
	return db.Exec(ctx, tx, `
		UPDATE plugins SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, plugin.ID, at)
}
