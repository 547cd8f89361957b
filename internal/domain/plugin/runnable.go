package plugin

import (
	"context"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
)

// Runnable is what a site needs to know of a plugin to run it.
type Runnable struct {
	ID             int64
	OrganizationID string
	Name           string
	IsGlobal       bool
	ConfigSchema   string
	Disabled       string // why; "": it is not
	Current        int64  // number of the current version; 0: it has none
	SharedAt       time.Time

	// AppAccess is that of its organization.
	AppAccess access.AppAccess
}

func (r *Runnable) fields() []any {
	return []any{&r.ID, &r.OrganizationID, &r.Name, &r.IsGlobal, db.Null(&r.ConfigSchema), &r.Disabled, &r.Current, db.Null(&r.SharedAt), &r.AppAccess}
}

// Shows reports whether an organization sees a version: of another organization's plugin, the current
// one and those made since it was shared.
func (r *Runnable) Shows(organizationID string, v Version) bool {
	return r.OrganizationID == organizationID || v.Number == r.Current || !v.CreatedAt.Before(r.SharedAt)
}

// FindRunnable returns a plugin of any organization, ErrNoRow if it is gone.
func FindRunnable(ctx context.Context, q db.Querier, id int64) (Runnable, error) {
	return db.One(ctx, q, (*Runnable).fields, `
		SELECT id, organization_id, name, is_global, config_schema, disabled_reason,
			COALESCE((SELECT current_number FROM plugin_sources WHERE plugin_sources.plugin_id = plugins.id), 0), shared_at,
			COALESCE((SELECT access_level FROM organizations WHERE organizations.id = plugins.organization_id), 0)
		FROM plugins WHERE id = $1`, id)
}

// LockRunnable is FindRunnable for a plugin that is not to change before the transaction ends. It
// reads after it has the lock: what a statement that waits for a lock reads beside the locked row is
// as old as the statement.
func LockRunnable(ctx context.Context, tx *db.Tx, id int64) (Runnable, error) {
	if _, err := db.One(ctx, tx, db.Value[int64], `SELECT id FROM plugins WHERE id = $1`+tx.Locking(" FOR UPDATE"), id); err != nil {
		return Runnable{}, err
	}
	return FindRunnable(ctx, tx, id)
}

// FindVersion returns a version of a plugin of any organization, ErrNoRow if it is not kept.
func FindVersion(ctx context.Context, q db.Querier, id, number int64) (Version, error) {
	return findVersion(ctx, q, id, number)
}
