package event

import (
	"context"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/infra/db"
)

const columns = `id, organization_id, url, events, description, enabled, disabled_reason, created_at, updated_at, secret, old_secrets,
	position, failing_since, is_held, lease_until`

func (w *Webhook) fields() []any {
	return []any{
		&w.ID, &w.OrganizationID, &w.URL, &w.Events, &w.Description, &w.Enabled, &w.DisabledReason, &w.CreatedAt, &w.UpdatedAt, &w.sealed, &w.oldSecrets,
		&w.position, db.Null(&w.failingSince), &w.Held, &w.leaseUntil,
	}
}

func insert(ctx context.Context, tx *db.Tx, w Webhook) (id int64, err error) {
	return db.Insert(ctx, tx, `
		INSERT INTO webhooks (organization_id, url, events, description, enabled, disabled_reason, created_at, updated_at, secret, old_secrets, position, lease_until)
		VALUES ($1, $2, $3, $4, $5, '', $6, $6, $7, '[]', $8, $6)`,
		w.OrganizationID, w.URL, encode(w.Events), w.Description, w.Enabled, w.CreatedAt, w.sealed, w.position)
}

// update stores a webhook that the transaction has locked.
func update(ctx context.Context, tx *db.Tx, w Webhook) error {
	return db.Exec(ctx, tx, `
		UPDATE webhooks SET url = $3, events = $4, description = $5, enabled = $6, disabled_reason = $7, updated_at = $8, secret = $9, old_secrets = $10,
			position = $11, failing_since = $12, lease_until = $13
		WHERE organization_id = $1 AND id = $2`,
		w.OrganizationID, w.ID, w.URL, encode(w.Events), w.Description, w.Enabled, w.DisabledReason, w.UpdatedAt, w.sealed, encode(w.oldSecrets),
		w.position, db.Null(&w.failingSince), w.leaseUntil)
}

func remove(ctx context.Context, tx *db.Tx, organizationID string, id int64) error {
	return db.Exec(ctx, tx, `DELETE FROM webhooks WHERE organization_id = $1 AND id = $2`, organizationID, id)
}

func findWebhook(ctx context.Context, q db.Querier, organizationID string, id int64, lock string) (Webhook, error) {
	return db.One(ctx, q, (*Webhook).fields, `SELECT `+columns+` FROM webhooks WHERE organization_id = $1 AND id = $2`+lock, organizationID, id)
}

func list(ctx context.Context, q db.Querier, organizationID string, p page.Page) ([]Webhook, error) {
	return db.All(ctx, q, (*Webhook).fields,
		`SELECT `+columns+` FROM webhooks WHERE organization_id = $1 ORDER BY id LIMIT $2 OFFSET $3`, organizationID, p.Limit, p.Offset)
}

func count(ctx context.Context, q db.Querier, organizationID string) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM webhooks WHERE organization_id = $1`, organizationID)
}

// Hold stops sending to all webhooks until Resume: those in a restored backup may have been removed since the backup
// was made, and would get events a second time.
func Hold(ctx context.Context, tx *db.Tx) error {
	return db.Exec(ctx, tx, `UPDATE webhooks SET is_held = $1`, true)
}

// Held counts the webhooks that are held.
func Held(ctx context.Context, q db.Querier) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*) FROM webhooks WHERE is_held`)
}

// Resume starts sending to the webhooks that are held: events from now on, and deliveries that were still due. It
// returns how many there are.
func Resume(ctx context.Context, tx *db.Tx) (int64, error) {
	return db.Changed(ctx, tx, `
		UPDATE webhooks SET is_held = $1, position = COALESCE((SELECT c.number FROM activity_chains c WHERE c.organization_id = webhooks.organization_id), 0)
		WHERE is_held`, false)
}

// due lists the webhooks that may have something to be sent and that no server is sending to: those that neither fail
// nor are slow come first, and among equals the one whose last turn was the longest ago. A time that is further ahead
// than possible was stored before the clock stepped back.
func due(ctx context.Context, q db.Querier, now time.Time) ([]Webhook, error) {
	fields := func(w *Webhook) []any { return append(w.fields(), &w.took) }
	return db.All(ctx, q, fields, selectWebhooks, now, maxFine+maxOther, now.Add(maxAhead), now.Add(maxPause), turnTime.Milliseconds())
}

// selectWebhooks finds each delivery at the place in an index where it would be, if there is one, and looks at the first
// and the last due time. If asked for any due delivery, or for the last one of a webhook, PostgreSQL might read those of
// all webhooks, as it expects to find one soon.
const selectWebhooks = `
		SELECT ` + columns + `, took FROM (SELECT w.*,
			COALESCE((SELECT CASE d.webhook_id WHEN w.id THEN d.duration_ms END FROM webhook_deliveries d
				WHERE (d.webhook_id, d.id) < (w.id + 1, 0) ORDER BY d.webhook_id DESC, d.id DESC LIMIT 1), 0) AS took
			FROM webhooks w WHERE enabled AND NOT is_held AND (lease_until <= $1 OR lease_until > $3)
			AND (position < (SELECT c.number FROM activity_chains c WHERE c.organization_id = w.organization_id)
				OR (SELECT MIN(d.due_at) FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.due_at IS NOT NULL) <= $1
				OR (SELECT MAX(d.due_at) FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.due_at IS NOT NULL) > $4)) AS w
		ORDER BY CASE WHEN failing_since IS NULL AND took <= $5 THEN 0 ELSE 1 END, lease_until, id LIMIT $2`

const deliveryColumns = `id, webhook_id, organization_id, number, event_id, type, state, attempts, status, error, duration_ms, created_at, tried_at, due_at`

func (d *Delivery) fields() []any {
	return []any{
		&d.ID, &d.WebhookID, &d.organizationID, &d.Sequence, &d.EventID, &d.Type, &d.State, &d.Attempts, &d.Status, &d.Error, &d.Duration, &d.CreatedAt,
		&d.TriedAt, db.Null(&d.DueAt),
	}
}

func insertDelivery(ctx context.Context, tx *db.Tx, d Delivery) error {
	return db.Exec(ctx, tx, `
		INSERT INTO webhook_deliveries
			(webhook_id, organization_id, number, event_id, type, state, attempts, status, error, duration_ms, created_at, tried_at, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		d.WebhookID, d.organizationID, d.Sequence, d.EventID, d.Type, d.State, d.Attempts, d.Status, d.Error, d.Duration, d.CreatedAt,
		d.TriedAt, db.Null(&d.DueAt))
}

// updateDelivery stores a delivery, unless it was redelivered meanwhile: then it is still due. A delivery that was
// given up meanwhile, because the webhook was switched off, does not become due again.
func updateDelivery(ctx context.Context, tx *db.Tx, d Delivery) error {
	return db.Exec(ctx, tx, `
		UPDATE webhook_deliveries SET state = $2, attempts = $3, status = $4, error = $5, duration_ms = $6, tried_at = $7, due_at = $8
		WHERE id = $1 AND organization_id = $9 AND (due_at = $10 OR due_at IS NULL AND ($10 IS NULL OR $2 <> 'pending'))`,
		d.ID, d.State, d.Attempts, d.Status, d.Error, d.Duration, d.TriedAt, db.Null(&d.DueAt), d.organizationID, db.Null(&d.wasDue))
}

func dueDeliveries(ctx context.Context, q db.Querier, w Webhook, now time.Time, limit int) ([]Delivery, error) {
	return db.All(ctx, q, (*Delivery).fields, selectDue, w.ID, now, limit, w.OrganizationID, now.Add(maxPause))
}

// selectDue finds the first deliveries of both sorts in the order of an index: with one condition for both, SQLite would
// sort all that are due, and PostgreSQL read all that are not.
const selectDue = firstDue + `due_at <= $2` + byDue + `) AS due UNION ALL ` + firstDue + `due_at > $5` + byDue + `) AS ahead` + byDue

const (
	firstDue = `SELECT * FROM (SELECT ` + deliveryColumns + ` FROM webhook_deliveries WHERE webhook_id = $1 AND organization_id = $4 AND `
	byDue    = ` ORDER BY due_at, id LIMIT $3`
)

// failPending ends the deliveries of a webhook that are still due.
func failPending(ctx context.Context, tx *db.Tx, w Webhook) error {
	return db.Exec(ctx, tx, `
		UPDATE webhook_deliveries SET state = 'failed', error = CASE WHEN attempts = 0 THEN 'off' ELSE error END, due_at = NULL
		WHERE webhook_id = $1 AND organization_id = $2 AND due_at IS NOT NULL`, w.ID, w.OrganizationID)
}

func lockDelivery(ctx context.Context, tx *db.Tx, w Webhook, id int64) (Delivery, error) {
	return db.One(ctx, tx, (*Delivery).fields, `
		SELECT `+deliveryColumns+` FROM webhook_deliveries WHERE webhook_id = $1 AND organization_id = $2 AND id = $3 FOR UPDATE`, w.ID, w.OrganizationID, id)
}

// ofWebhook names the organization through the webhook, so that counting reads only an index, which does not have the
// organization.
const ofWebhook = ` FROM webhook_deliveries WHERE webhook_id = (SELECT id FROM webhooks WHERE organization_id = $1 AND id = $2)`

func listDeliveries(ctx context.Context, q db.Querier, w Webhook, p page.Page) ([]Delivery, error) {
	return db.All(ctx, q, (*Delivery).fields, `SELECT `+deliveryColumns+ofWebhook+` ORDER BY id DESC LIMIT $3 OFFSET $4`,
		w.OrganizationID, w.ID, p.Limit, p.Offset)
}

func countDeliveries(ctx context.Context, q db.Querier, w Webhook) (int, error) {
	return db.One[int](ctx, q, nil, `SELECT COUNT(*)`+ofWebhook, w.OrganizationID, w.ID)
}
