package plugin

import (
	"context"

	"foyer/internal/infra/db"
)

// offColumns and Off.byFields are org.UserColumns and org.User.Fields for a user w who may be nobody.
const offColumns = `COALESCE(w.id, 0), COALESCE(w.uuid, ''), COALESCE(w.distinct_id, ''), COALESCE(w.email, ''), COALESCE(w.first_name, ''),
	COALESCE(w.last_name, ''), COALESCE(w.is_email_verified, FALSE), w.created_at`

func (o *Off) byFields() []any {
	user := o.By.Fields()
	user[len(user)-1] = db.Null(&o.By.CreatedAt)
	return user
}

func (o *Off) fields() []any { return append([]any{db.Null(&o.At), &o.Reason}, o.byFields()...) }

func findDisabled(ctx context.Context, q db.Querier, organizationID string, id int64) (Off, error) {
	return db.One(ctx, q, (*Off).fields, `
		SELECT p.disabled_at, p.disabled_reason, `+offColumns+` FROM plugins p LEFT JOIN users w ON w.id = p.disabled_by
		WHERE p.organization_id = $1 AND p.id = $2`, organizationID, id)
}

// findDisabledHeld is findDisabled, but keeps the user who disabled the plugin from being erased until the transaction
// has stored what shows them. It locks them separately, because PostgreSQL cannot lock the nullable side of a join.
func findDisabledHeld(ctx context.Context, tx *db.Tx, organizationID string, id int64) (Off, error) {
	err := db.Exec(ctx, tx, `
		SELECT 1 FROM plugins p JOIN users w ON w.id = p.disabled_by WHERE p.organization_id = $1 AND p.id = $2 FOR KEY SHARE OF w`, organizationID, id)
	if err != nil {
		return Off{}, err
	}
	return findDisabled(ctx, tx, organizationID, id)
}

// disabledBy is Plugin.DisabledBy. Names have no line breaks.
const disabledBy = `CASE WHEN disabled_at IS NULL THEN '' ELSE COALESCE((
	SELECT w.email || ' ' || CASE WHEN w.is_email_verified THEN 'verified' ELSE '' END || ' ' || w.first_name || ` + "'\n'" + ` || w.last_name
	FROM users w WHERE w.id = disabled_by), '') END`

// updateDisabled stores whether a plugin is disabled, and returns its DisabledBy.
func updateDisabled(ctx context.Context, tx *db.Tx, p Plugin, to Off) (string, error) {
	return db.One[string](ctx, tx, nil, `
		UPDATE plugins SET disabled_at = $3, disabled_by = $4, disabled_reason = $5
		WHERE organization_id = $1 AND id = $2
		RETURNING `+disabledBy,
		p.OrganizationID, p.ID, db.Null(&to.At), to.By.ID, to.Reason)
}

func findVersionAndUsers(ctx context.Context, q db.Querier, pluginID, n int64, lock string) (Version, error) {
	return db.One(ctx, q, (*Version).fieldsWithUsers, selectVersionsWithUsers+` WHERE v.plugin_id = $1 AND v.number = $2`+lock, pluginID, n)
}

// updateWithdrawn changes a version and those with the same bundle.
func updateWithdrawn(ctx context.Context, tx *db.Tx, pluginID int64, v Version, to Off) error {
	return db.Exec(ctx, tx, `
		UPDATE plugin_versions SET withdrawn_at = $4, withdrawn_by = $5, withdrawn_reason = $6
		WHERE plugin_id = $1 AND (number = $2 OR bundle = $3)`,
		pluginID, v.Number, db.Null(&v.Bundle.SHA256), db.Null(&to.At), to.By.ID, to.Reason)
}

// findWithdrawn returns the number of a withdrawn version with a bundle.
func findWithdrawn(ctx context.Context, q db.Querier, pluginID int64, sum string) (int64, error) {
	return db.One[int64](ctx, q, nil, `
		SELECT number FROM plugin_versions WHERE plugin_id = $1 AND bundle = $2 AND withdrawn_at IS NOT NULL ORDER BY number LIMIT 1`, pluginID, sum)
}
