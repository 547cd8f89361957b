package plugin

import (
	"context"
	"errors"
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
	Disabled       string // why; "": it is not
	Current        int64  // number of the current version; 0: it has none
	SharedAt       time.Time

	// AppAccess is that of its organization.
	AppAccess access.AppAccess
}

func (r *Runnable) fields() []any {
	return []any{&r.ID, &r.OrganizationID, &r.Name, &r.IsGlobal, &r.Disabled, &r.Current, db.Null(&r.SharedAt), &r.AppAccess}
}

// Seen reports whether an organization sees the plugin: nobody sees one that is gone.
func (r *Runnable) Seen(organizationID string) bool {
	return r.IsGlobal || r.OrganizationID == organizationID
}

// Shows reports whether an organization sees a version: of another organization's plugin, the current
// one and those made since it was shared, while it is.
func (r *Runnable) Shows(organizationID string, v Version) bool {
	return r.OrganizationID == organizationID || r.IsGlobal && (v.Number == r.Current || !v.CreatedAt.Before(r.SharedAt))
}

// FindRunnable returns a plugin of any organization, ErrNoRow if it is gone.
func FindRunnable(ctx context.Context, q db.Querier, id int64) (Runnable, error) {
	return db.One(ctx, q, (*Runnable).fields, `
		SELECT id, organization_id, name, is_global, disabled_reason,
			COALESCE((SELECT current_number FROM plugin_sources WHERE plugin_sources.plugin_id = plugins.id), 0), shared_at,
			COALESCE((SELECT access_level FROM organizations WHERE organizations.id = plugins.organization_id), 0)
		FROM plugins WHERE id = $1`, id)
}

// LockRunnable is FindRunnable for a plugin that is not to change before the transaction ends. It
// reads after it has the lock: what a statement that waits for a lock reads beside the locked row is
// as old as the statement.
func LockRunnable(ctx context.Context, tx *db.Tx, id int64) (Runnable, error) {
	if _, err := db.One(ctx, tx, db.Value[int64], `SELECT id FROM plugins WHERE id = $1 FOR UPDATE`, id); err != nil {
		return Runnable{}, err
	}
	return FindRunnable(ctx, tx, id)
}

// FindVersion returns a version of a plugin of any organization, without its config_schema, ErrNoRow if it is not kept.
func FindVersion(ctx context.Context, q db.Querier, id, number int64) (Version, error) {
	return db.One(ctx, q, (*Version).fields,
		`SELECT `+versionWithoutSchema+` FROM plugin_versions v WHERE v.plugin_id = $1 AND v.number = $2`, id, number)
}

// FindSchema returns the config_schema that the bundle of a version of a plugin of any organization came with; of number 0,
// that of the plugin. What is gone has none.
func FindSchema(ctx context.Context, q db.Querier, id, number int64) (schema string, err error) {
	columns := func(s *string) []any { return []any{db.Null(s)} }
	if number == 0 {
		schema, err = db.One(ctx, q, columns, `SELECT config_schema FROM plugins WHERE id = $1`, id)
	} else {
		schema, err = db.One(ctx, q, columns, `SELECT config_schema FROM plugin_versions WHERE plugin_id = $1 AND number = $2`, id, number)
	}
	if errors.Is(err, db.ErrNoRow) {
		return "", nil
	}
	return schema, err
}
