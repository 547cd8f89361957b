package console

import (
	"context"
	"html/template"
	"slices"
	"strings"

	"foyer/client"
	"foyer/internal/domain/event"
	"foyer/internal/face/console/markup"
)

// Webhooks lists where events are sent.
type Webhooks struct{ List[client.Webhook] }

// Groups returns the events to choose from for a new webhook.
func (p Webhooks) Groups() []eventGroup {
	return p.eventGroups("create", func(string) bool { return false })
}

// eventGroup are events of a kind to choose from. The first choice is all of them.
type eventGroup struct {
	Kind    string
	Choices []eventChoice
}

// eventChoice is a box of a form.
type eventChoice struct {
	Name   string
	Ticked bool
	Marks  template.HTMLAttr
}

// eventGroups returns the events that a form offers, ticked as it was sent, else as they are stored.
func (f Frame) eventGroups(do string, ticked func(name string) bool) (all []eventGroup) {
	for _, name := range event.Choices() {
		kind, every := strings.CutSuffix(name, ".*")
		if every {
			all = append(all, eventGroup{Kind: strings.ToUpper(kind[:1]) + kind[1:] + "s"})
		}
		group := &all[len(all)-1]
		group.Choices = append(group.Choices, eventChoice{Name: name, Ticked: f.Chosen(do, "events", name, ticked(name))})
	}
	all[0].Choices[0].Marks = f.Marks(do, "events")
	return all
}

func showWebhooks(v *visit) (markup.Page, error) {
	l, err := list(v, "webhooks", v.organization.ListWebhooks)
	return markup.Fill("webhooks.html", Webhooks{l}), err
}

// WebhookSecret shows the secret of a webhook, only now.
type WebhookSecret struct {
	Frame
	client.Webhook
	Rotated bool
}

func createWebhook(v *visit) (next, error) {
	draft := v.webhookFields()
	draft.URL = new(v.line("receiver"))
	made, err := v.organization.CreateWebhook(v.ctx(), draft)
	return next{page: new(markup.Fill("webhook_secret.html", WebhookSecret{v.frame("webhooks"), made, false}))}, ofWebhook(err)
}

// ofWebhook turns a refusal of a webhook into the words of the form.
func ofWebhook(err error) error {
	return reword(asField(err, "url", "receiver"), "events", "Choose at least one.") // its boxes can send nothing else that is wrong
}

// webhookFields returns the edited fields of the form. If no event is ticked, it includes the events, which the API
// refuses.
func (v *visit) webhookFields() client.WebhookPatch {
	patch := client.WebhookPatch{URL: v.edited("receiver"), Description: v.edited("description")}
	if v.edited("events") != nil || v.line("events") == "" {
		patch.Events = listed(v.typed("events"))
	}
	return patch
}

// Webhook shows a webhook, and what was sent to it.
type Webhook struct {
	List[client.WebhookDelivery]
	client.Webhook
}

// Groups returns the events to choose from. Those of the webhook are ticked.
func (p Webhook) Groups() []eventGroup { return p.eventGroups("describe", p.has) }

func (p Webhook) has(event string) bool { return slices.Contains(p.Events, event) }

// Ticked returns the ticked boxes of the form, in their order.
func (p Webhook) Ticked() string {
	return strings.Join(slices.DeleteFunc(event.Choices(), func(name string) bool { return !p.has(name) }), " ")
}

func (v *visit) webhookID() (int64, error) { return number(v.request.PathValue("webhook")) }

func showWebhook(v *visit) (markup.Page, error) {
	id, err := v.webhookID()
	if err != nil {
		return markup.Page{}, err
	}
	w, err := v.organization.GetWebhook(v.ctx(), id)
	if err != nil {
		return markup.Page{}, err
	}
	l, err := list(v, "webhooks", func(ctx context.Context, part client.Range) (client.Page[client.WebhookDelivery], error) {
		return v.organization.ListDeliveries(ctx, id, part)
	})
	return markup.Fill("webhook.html", Webhook{l, w}), err
}

// onWebhook does something to the webhook that the path names, and reports what.
func (v *visit) onWebhook(flash string, do func(id int64) error) (next, error) {
	return doOn(v.webhookID, func(id int64) (string, error) { return flash, ofWebhook(do(id)) })
}

func describeWebhook(v *visit) (next, error) {
	return v.onWebhook("The webhook "+v.changed("receiver", "events", "description"), func(id int64) error {
		_, err := v.organization.UpdateWebhook(v.ctx(), id, v.webhookFields())
		return err
	})
}

func switchWebhook(v *visit) (next, error) {
	enabled, flash := v.ticked("on"), "The webhook is off: nothing is sent to it."
	if enabled {
		flash = "The webhook is on: it gets what happens from now on."
	}
	return v.onWebhook(flash, func(id int64) error {
		_, err := v.organization.UpdateWebhook(v.ctx(), id, client.WebhookPatch{Enabled: &enabled})
		return err
	})
}

func testWebhook(v *visit) (next, error) {
	return v.onWebhook("A test is on its way. Reload this page in a few seconds to see the result.", func(id int64) error {
		_, err := v.organization.TestWebhook(v.ctx(), id)
		return err
	})
}

func rotateWebhook(v *visit) (next, error) {
	id, err := v.webhookID()
	if err != nil {
		return next{}, err
	}
	w, err := v.organization.RotateWebhook(v.ctx(), id)
	return next{page: new(markup.Fill("webhook_secret.html", WebhookSecret{v.frame("webhooks"), w, true}))}, err
}

func redeliver(v *visit) (next, error) {
	delivery, err := number(v.line("delivery"))
	if err != nil {
		return next{}, err
	}
	return v.onWebhook("The event is on its way again. Reload this page in a few seconds to see the result.", func(id int64) error {
		_, err := v.organization.Redeliver(v.ctx(), id, delivery)
		return err
	})
}

func deleteWebhook(v *visit) (next, error) {
	then, err := v.onWebhook("The webhook is deleted.", func(id int64) error { return v.organization.DeleteWebhook(v.ctx(), id) })
	then.path = v.home + "/webhooks"
	return then, err
}
