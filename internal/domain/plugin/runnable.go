package plugin

import (
	"context"
	"errors"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
)

// Runnable is what a site needs to know about a plugin to run it.
type Runnable struct {
	ID             int64
	OrganizationID string
	Name           string
	IsGlobal       bool
	Disabled       string // the reason; "": it is not disabled
	Current        int64  // number of the current version; 0: it has none
	SharedFrom     int64

	// AppAccess is the access level of the plugin's organization.
	AppAccess access.AppAccess
}

func (r *Runnable) fields() []any {
	return []any{&r.ID, &r.OrganizationID, &r.Name, &r.IsGlobal, &r.Disabled, &r.Current, &r.SharedFrom, &r.AppAccess}
}

// Seen reports whether an organization sees the plugin. Nobody sees a deleted one.
func (r *Runnable) Seen(organizationID string) bool {
	return r.IsGlobal || r.OrganizationID == organizationID
}

// Shows reports whether an organization sees a version. It sees all versions of its own plugins. If another
// organization's plugin is shared, it sees the current version and those made since then.
func (r *Runnable) Shows(organizationID string, v Version) bool {
	return r.OrganizationID == organizationID || r.IsGlobal && (v.Number == r.Current || v.Number >= r.SharedFrom)
}

// FindRunnable returns a plugin of any organization, or ErrNoRow if it was deleted.
func FindRunnable(ctx context.Context, q db.Querier, id int64) (Runnable, error) {
	return db.One(ctx, q, (*Runnable).fields, `
		SELECT id, organization_id, name, is_global, disabled_reason,
			COALESCE((SELECT current_number FROM plugin_sources WHERE plugin_sources.plugin_id = plugins.id), 0), shared_from,
			COALESCE((SELECT access_level FROM organizations WHERE organizations.id = plugins.organization_id), 0)
		FROM plugins WHERE id = $1`, id)
}

// LockRunnable is FindRunnable for a plugin that must not change before the transaction ends. It reads the plugin after
// it has the lock, because a statement that waits for a lock reads the other tables as they were when it began.
func LockRunnable(ctx context.Context, tx *db.Tx, id int64) (Runnable, error) {
	if _, err := db.One[int64](ctx, tx, nil, `SELECT id FROM plugins WHERE id = $1 FOR UPDATE`, id); err != nil {
		return Runnable{}, err
	}
	return FindRunnable(ctx, tx, id)
}

// LockSharing makes other transactions that share an app of an organization, or change what the organization may do with
// apps, wait until this one has ended. Otherwise a site could place an app that is being shared while its organization
// is being suspended, and go on running it. It comes before the locks of apps.
func LockSharing(tx *db.Tx, organizationID string) { db.Lock(tx, "shared apps of "+organizationID) }

// lockSharing is LockSharing for a change that may share a plugin of the caller's organization.
func (d *Draft) lockSharing(tx *db.Tx, c access.Caller) {
	if d.IsGlobal.Value {
		LockSharing(tx, c.Organization.ID)
	}
}

// FindVersion returns a version of a plugin of any organization, without its config_schema, or ErrNoRow if it is not
// kept.
func FindVersion(ctx context.Context, q db.Querier, id, number int64) (Version, error) {
	return db.One(ctx, q, (*Version).fields,
		`SELECT `+versionWithoutSchema+` FROM plugin_versions v WHERE v.plugin_id = $1 AND v.number = $2`, id, number)
}

// FindSchema returns the config_schema that belongs to the bundle of a version, of a plugin of any organization; for
// number 0, that of the plugin. It returns "" if there is no such version or plugin.
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
