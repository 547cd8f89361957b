package cli

import (
	"context"
	"fmt"
	"strings"

	"foyer/client"
	"foyer/internal/cli/terminal"
)

type webhookCommands struct {
	List       webhookList       `cmd:"" help:"List where events are sent to."`
	Get        webhookGet        `cmd:"" help:"Show one webhook."`
	Create     webhookCreate     `cmd:"" help:"Send events to a url, and show the secret that signs them; it is not shown again."`
	Set        webhookSet        `cmd:"" help:"Change a webhook, or switch it off or on."`
	Test       webhookTest       `cmd:"" help:"Send a webhook an event of the type webhook.test."`
	Rotate     webhookRotate     `cmd:"" help:"Give a webhook a new secret and show it; the old one signs too for 24 hours."`
	Deliveries webhookDeliveries `cmd:"" help:"List what was sent to a webhook, the newest first."`
	Redeliver  webhookRedeliver  `cmd:"" help:"Send a webhook an event again."`
	Delete     webhookDelete     `cmd:"" help:"Delete a webhook."`
}

func (webhookCommands) Help() string {
	return `Webhooks are named by their ids or urls. They are for admins and owners, with a key that can do everything.

Examples:

    foyer webhook create https://hooks.example.com/foyer --events='app.*' --events=invite.accepted
    foyer webhook deliveries 1
    foyer webhook set 1 --enabled=false
`
}

var webhooks = terminal.View[client.Webhook]{
	Columns: "ID URL EVENTS ENABLED WHY DESCRIPTION CREATED UPDATED",
	Row: func(w client.Webhook) []any {
		return []any{w.ID, w.URL, strings.Join(w.Events, " "), w.Enabled, w.DisabledReason, w.Description, w.CreatedAt, w.UpdatedAt}
	},
}

var deliveries = terminal.View[client.WebhookDelivery]{
	Columns: "ID EVENT TYPE STATE TRIES STATUS ERROR TRIED NEXT-TRY",
	More:    "SEQUENCE MS CREATED",
	Row: func(d client.WebhookDelivery) []any {
		return []any{d.ID, d.EventID, d.Type, d.State, d.Attempts, d.Status, d.Error, d.TriedAt, d.NextTryAt, d.Sequence, d.DurationMS, d.CreatedAt}
	},
}

type webhookList struct{}

func (webhookList) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return all(out, webhooks, o.AllWebhooks(ctx))
}

// aWebhook is the argument that names a webhook.
type aWebhook struct {
	Webhook string `arg:"" help:"Its id or url."`
}

func (a aWebhook) webhook() thing[client.Webhook] {
	return thing[client.Webhook]{"webhook", a.Webhook, webhookID, webhooks}
}

type webhookGet struct {
	aWebhook
	etag
}

func (c webhookGet) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return c.webhook().show(ctx, o, out, c.etag, func(o *client.Organization, id int64) (client.Webhook, error) { return o.GetWebhook(ctx, id) })
}

type webhookCreate struct {
	URL         string   `arg:"" help:"Where to send events."`
	Events      []string `required:"" placeholder:"TYPE" help:"What to send: types of events, or all of a kind as app.*. Can be repeated."`
	Description string   `placeholder:"TEXT" help:"What it is for."`

	idempotent
}

func (c webhookCreate) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	made, err := o.CreateWebhook(ctx, client.WebhookPatch{URL: &c.URL, Events: c.Events, Description: &c.Description})
	if err != nil {
		return err
	}
	return showSecret(out, made, "was made")
}

func showSecret(out *terminal.Output, w client.Webhook, what string) error {
	if err := out.SayOnce(w, "Webhook %d %s. This is its secret, shown only now: keep it.\n\n  %s", w.ID, what, w.Secret); err != nil {
		return fmt.Errorf("webhook %d %s, but its secret cannot be shown: %w; have another one made with `foyer webhook rotate %d`", w.ID, what, err, w.ID)
	}
	return nil
}

type webhookSet struct {
	aWebhook
	URL         *string   `name:"to" placeholder:"URL" help:"Where to send events; --url is the server."`
	Events      *[]string `placeholder:"TYPE,…" help:"What to send, in place of all it is sent now."`
	Description *string   `placeholder:"TEXT" help:"What it is for."`
	Enabled     *bool     `help:"Whether events are sent: true or false."`

	ifMatch
	idempotent
}

func (c webhookSet) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	patch := client.WebhookPatch{URL: c.URL, Events: given(c.Events), Description: c.Description, Enabled: c.Enabled}
	if err := checkSets(patch); err != nil {
		return err
	}
	return c.webhook().with(ctx, o, out, func(id int64) (client.Webhook, error) { return o.UpdateWebhook(ctx, id, patch) })
}

type webhookTest struct {
	aWebhook
	ifMatch
	idempotent
}

func (c webhookTest) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return c.webhook().with(ctx, o, out, func(id int64) (client.Webhook, error) { return o.TestWebhook(ctx, id) })
}

type webhookRotate struct {
	aWebhook
	ifMatch
	idempotent
}

func (c webhookRotate) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Give webhook %s a new secret?", c.Webhook); err != nil {
		return err
	}
	return c.webhook().on(ctx, o, func(id int64) error {
		w, err := o.RotateWebhook(ctx, id)
		if err != nil {
			return err
		}
		return showSecret(out, w, "has a new secret")
	})
}

type webhookDeliveries struct {
	aWebhook
	Limit int `default:"100" placeholder:"N" help:"How many to show: 1 to 1000."`
}

// Validate refuses a limit that the API does not accept.
func (c webhookDeliveries) Validate() error { return terminal.CheckLimit(c.Limit) }

func (c webhookDeliveries) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return c.webhook().on(ctx, o, func(id int64) error {
		page, err := o.ListDeliveries(ctx, id, client.Range{Limit: c.Limit})
		if err != nil {
			return err
		}
		return deliveries.All(out, page.Results)
	})
}

type webhookRedeliver struct {
	aWebhook
	Delivery int64 `arg:"" help:"The id of a delivery."`

	ifMatch
	idempotent
}

func (c webhookRedeliver) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return c.webhook().on(ctx, o, func(id int64) error {
		d, err := o.Redeliver(ctx, id, c.Delivery)
		if err != nil {
			return orMissing(err, "webhook", fmt.Sprintf("%s with a delivery %d", c.Webhook, c.Delivery))
		}
		return deliveries.One(out, d)
	})
}

type webhookDelete struct {
	aWebhook
	ifMatch
}

func (c webhookDelete) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Delete webhook %s, and the list of its deliveries?", c.Webhook); err != nil {
		return err
	}
	return c.webhook().remove(ctx, o, out, o.DeleteWebhook)
}
