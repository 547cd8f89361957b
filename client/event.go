package client

import (
	"context"
	"encoding/json"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Event is one thing that happened in the organization.
type Event struct {
	ID             string          `json:"id"`
	Type           string          `json:"type"`
	Timestamp      time.Time       `json:"timestamp"`
	OrganizationID string          `json:"organization_id"`
	Sequence       int64           `json:"sequence"`
	Data           json.RawMessage `json:"data"` // the object, as its GET answers it after the change
}

// EventList is a list of events, oldest first. Next is the After of the next call.
type EventList struct {
	Results []Event `json:"results"`
	Next    int64   `json:"next"`
}

// EventRange chooses events. Its zero value chooses the oldest that are kept.
type EventRange struct {
	After int64         // the sequence of the last event already read
	Limit int           // how many at most, up to 1000; 0: 100
	Wait  time.Duration // how long to wait for the next one, rounded up to whole seconds, up to 60
}

// ListEvents reads events.
func (o *Organization) ListEvents(ctx context.Context, r EventRange) (EventList, error) {
	query := url.Values{"after": {strconv.FormatInt(r.After, 10)}}
	setInt(query, "limit", r.Limit)
	if r.Wait != 0 {
		query.Set("wait", strconv.Itoa(int(math.Ceil(r.Wait.Seconds()))))
	}
	return ask[EventList](ctx, o.at, http.MethodGet, "/events", query, nil)
}

// Webhook is a url that events are sent to.
type Webhook struct {
	ID             int64     `json:"id"`
	URL            string    `json:"url"`
	Events         []string  `json:"events"`
	Description    string    `json:"description"`
	Enabled        bool      `json:"enabled"`
	DisabledReason string    `json:"disabled_reason"`  // why foyer disabled it
	Secret         string    `json:"secret,omitempty"` // only from CreateWebhook and RotateWebhook
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
}

// WebhookPatch is a change of a webhook, or a new one. A nil field stays as it is.
type WebhookPatch struct {
	URL         *string  `json:"url,omitempty"`
	Events      []string `json:"events,omitzero"` // event types, or a pattern such as app.*
	Description *string  `json:"description,omitempty"`
	Enabled     *bool    `json:"enabled,omitempty"`
}

// WebhookDelivery is one sending of an event to a webhook.
type WebhookDelivery struct {
	ID         int64      `json:"id"`
	EventID    string     `json:"event_id"`
	Type       string     `json:"type"`
	Sequence   int64      `json:"sequence"`
	State      string     `json:"state"` // pending, delivered or failed
	Attempts   int        `json:"attempts"`
	Status     int        `json:"status"` // of the last answer; 0: no answer
	Error      string     `json:"error"`  // a class: address, timeout, status and others; "": none
	DurationMS int64      `json:"duration_ms"`
	CreatedAt  time.Time  `json:"created_at"`
	TriedAt    *time.Time `json:"tried_at"`
	NextTryAt  *time.Time `json:"next_try_at"`
}

const webhooks = "/webhooks"

func webhookPath(id int64) string { return webhooks + "/" + strconv.FormatInt(id, 10) }

// ListWebhooks reads one page of the organization's webhooks.
func (o *Organization) ListWebhooks(ctx context.Context, r Range) (Page[Webhook], error) {
	return list[Page[Webhook]](ctx, o.at, webhooks, nil, r)
}

// AllWebhooks reads the organization's webhooks in the order of their creation.
func (o *Organization) AllWebhooks(ctx context.Context) iter.Seq2[Webhook, error] {
	return all[Webhook](ctx, o.at, webhooks, nil)
}

// CreateWebhook creates a webhook. The draft needs a URL and Events.
func (o *Organization) CreateWebhook(ctx context.Context, draft WebhookPatch) (Webhook, error) {
	made, err := ask[Webhook](ctx, o.at, http.MethodPost, webhooks, nil, draft)
	return made, orForeign(err, made.Secret)
}

// GetWebhook reads a webhook.
func (o *Organization) GetWebhook(ctx context.Context, id int64) (Webhook, error) {
	return ask[Webhook](ctx, o.at, http.MethodGet, webhookPath(id), nil, nil)
}

// UpdateWebhook changes a webhook.
func (o *Organization) UpdateWebhook(ctx context.Context, id int64, patch WebhookPatch) (Webhook, error) {
	return ask[Webhook](ctx, o.at, http.MethodPatch, webhookPath(id), nil, patch)
}

// DeleteWebhook deletes a webhook.
func (o *Organization) DeleteWebhook(ctx context.Context, id int64) error {
	return o.at.call(ctx, http.MethodDelete, webhookPath(id), nil, nil, nil)
}

// TestWebhook sends a webhook an event of the type webhook.test.
func (o *Organization) TestWebhook(ctx context.Context, id int64) (Webhook, error) {
	return ask[Webhook](ctx, o.at, http.MethodPost, webhookPath(id)+"/test", nil, nil)
}

// RotateWebhook gives a webhook a new secret. For 24 hours, events are signed with the old one too.
func (o *Organization) RotateWebhook(ctx context.Context, id int64) (Webhook, error) {
	rotated, err := ask[Webhook](ctx, o.at, http.MethodPost, webhookPath(id)+"/rotate", nil, nil)
	return rotated, orForeign(err, rotated.Secret)
}

// ListDeliveries reads one page of a webhook's deliveries, newest first.
func (o *Organization) ListDeliveries(ctx context.Context, id int64, r Range) (Page[WebhookDelivery], error) {
	return list[Page[WebhookDelivery]](ctx, o.at, webhookPath(id)+"/deliveries", nil, r)
}

// AllDeliveries reads a webhook's deliveries, newest first.
func (o *Organization) AllDeliveries(ctx context.Context, id int64) iter.Seq2[WebhookDelivery, error] {
	return all[WebhookDelivery](ctx, o.at, webhookPath(id)+"/deliveries", nil)
}

// Redeliver sends an event to a webhook again.
func (o *Organization) Redeliver(ctx context.Context, id, deliveryID int64) (WebhookDelivery, error) {
	path := webhookPath(id) + "/deliveries/" + strconv.FormatInt(deliveryID, 10) + "/redeliver"
	return ask[WebhookDelivery](ctx, o.at, http.MethodPost, path, nil, nil)
}
