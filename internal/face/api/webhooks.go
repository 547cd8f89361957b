package api

import (
	"net/http"

	"foyer/internal/domain/access"
	"foyer/internal/domain/event"
	"foyer/internal/face/wire"
)

// AppendWebhook appends a webhook. It includes the secret only when that is new.
func AppendWebhook(b []byte, h event.Webhook) []byte {
	b = wire.AppendInt(append(b, '{'), "id", h.ID)
	b = wire.AppendField(b, "url", h.URL)
	b = wire.AppendStrings(b, "events", h.Events)
	b = wire.AppendField(b, "description", h.Description)
	b = wire.AppendBool(b, "enabled", h.Enabled && !h.Held)
	reason := h.DisabledReason
	if h.Held {
		reason = event.HeldReason
	}
	b = wire.AppendField(b, "disabled_reason", reason)
	if h.Secret != "" {
		b = wire.AppendField(b, "secret", h.Secret)
	}
	b = wire.AppendTime(b, "created_at", h.CreatedAt)
	return append(wire.AppendTime(b, "updated_at", h.UpdatedAt), '}')
}

// appendDelivery appends a delivery of an event to a webhook.
func appendDelivery(b []byte, d event.Delivery) []byte {
	b = wire.AppendInt(append(b, '{'), "id", d.ID)
	b = wire.AppendField(b, "event_id", d.EventID)
	b = wire.AppendField(b, "type", d.Type)
	b = wire.AppendInt(b, "sequence", d.Sequence)
	b = wire.AppendField(b, "state", string(d.State))
	b = wire.AppendInt(b, "attempts", int64(d.Attempts))
	b = wire.AppendInt(b, "status", int64(d.Status))
	b = wire.AppendField(b, "error", d.Error)
	b = wire.AppendInt(b, "duration_ms", d.Duration)
	b = wire.AppendTime(b, "created_at", d.CreatedAt)
	b = wire.AppendTime(b, "tried_at", d.TriedAt)
	return append(wire.AppendTime(b, "next_try_at", d.DueAt), '}')
}

func readWebhook(o wire.Object) event.Draft {
	return event.Draft{URL: o.Text("url"), Events: o.Texts("events"), Description: o.Text("description"), Enabled: o.Bool("enabled")}
}

func writeWebhook(w http.ResponseWriter, status int, h event.Webhook) error {
	return wire.Write(w, status, func(b []byte) []byte { return AppendWebhook(b, h) })
}

func (a *API) createWebhook(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	h, err := a.Events.Create(r.Context(), c, readWebhook(o))
	if err != nil {
		return err
	}
	return writeSecret(w, http.StatusCreated, func(b []byte) []byte { return AppendWebhook(b, h) })
}

func (a *API) rotateWebhook(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	h, err := a.Events.Rotate(r.Context(), c, pathID(r, "id"))
	if err != nil {
		return err
	}
	return writeSecret(w, http.StatusOK, func(b []byte) []byte { return AppendWebhook(b, h) })
}

func (a *API) redeliver(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	d, err := a.Events.Redeliver(r.Context(), c, pathID(r, "id"), pathID(r, "delivery_id"))
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusAccepted, func(b []byte) []byte { return appendDelivery(b, d) })
}
