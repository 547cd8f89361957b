package api_test

import (
	"context"
	"time"

	"foyer/client"
)

// eventCalls are clientCalls about events and webhooks.
var eventCalls = map[string]func(context.Context, *client.Organization) (any, error){
	"listEvents": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListEvents(ctx, client.EventRange{After: 212, Limit: 1, Wait: time.Second})
	},
	"listWebhooks": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListWebhooks(ctx, client.Range{})
	},
	"createWebhook": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.CreateWebhook(ctx, client.WebhookPatch{URL: new("https://hooks.example.com/foyer"), Events: []string{"app.*"}})
	},
	"getWebhook": func(ctx context.Context, o *client.Organization) (any, error) { return o.GetWebhook(ctx, 4) },
	"updateWebhook": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.UpdateWebhook(ctx, 4, client.WebhookPatch{Enabled: new(false)})
	},
	"deleteWebhook": func(ctx context.Context, o *client.Organization) (any, error) { return nil, o.DeleteWebhook(ctx, 4) },
	"testWebhook":   func(ctx context.Context, o *client.Organization) (any, error) { return o.TestWebhook(ctx, 4) },
	"rotateWebhook": func(ctx context.Context, o *client.Organization) (any, error) { return o.RotateWebhook(ctx, 4) },
	"listDeliveries": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListDeliveries(ctx, 4, client.Range{})
	},
	"redeliver": func(ctx context.Context, o *client.Organization) (any, error) { return o.Redeliver(ctx, 4, 31) },
}
