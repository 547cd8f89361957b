package event

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
	"foyer/internal/infra/upstream/egress"
)

// switchOffAfter is how long every try must have failed before a webhook is switched off.
const switchOffAfter = 5 * 24 * time.Hour

// pauses are the pauses between tries that the Standard Webhooks specification proposes, within 3 days.
var pauses = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 20 * time.Hour,
}

// maxPause is longer than any pause.
const maxPause = 24 * time.Hour

// judge notes whether a webhook fails, and switches it off if its receiver is gone or has failed for too long.
func (s Service) judge(ctx context.Context, tx *db.Tx, w *Webhook, tried []Delivery) error {
	tried = slices.DeleteFunc(slices.Clone(tried), func(d Delivery) bool { return d.Error == errorExpired }) // nothing was sent
	if len(tried) == 0 {
		return nil
	}
	now := s.DB.Now()
	if !w.fails() {
		w.failingSince = now
	}
	reason := ""
	for _, d := range tried {
		switch {
		case d.State == Delivered:
			w.failingSince = time.Time{}
		case d.Status == statusGone:
			reason = "The receiver answered 410 Gone."
		}
	}
	if w.fails() && now.Sub(w.failingSince) >= switchOffAfter {
		reason = "Every try failed for 5 days."
	}
	if reason == "" {
		return nil
	}
	w.Enabled, w.DisabledReason, w.UpdatedAt = false, reason, now
	if err := failPending(ctx, tx, *w); err != nil {
		return err
	}
	return s.record(ctx, tx, access.Caller{}, *w, activity.Disabled, []activity.Change{activity.Changed("reason", nil, reason)})
}

// try sends an event once, and stores the result in d.
func (s Service) try(ctx context.Context, w Webhook, d *Delivery) {
	began := s.DB.Now()
	d.TriedAt, d.wasDue = began, d.DueAt
	d.Attempts++
	d.Status, d.Error, d.failure = s.send(ctx, w, *d)
	d.Duration = max(0, s.DB.Now().Sub(began).Milliseconds()) // the clock may step back
	switch {
	case d.Error == "":
		d.State, d.DueAt = Delivered, time.Time{}
	case d.Attempts > len(pauses) || d.Error == errorExpired:
		d.State, d.DueAt = Failed, time.Time{}
	default:
		pause := pauses[d.Attempts-1]
		d.DueAt = s.DB.Now().Add(pause + rand.N(pause/10)) // so that deliveries that failed together are not retried together
	}
}

// statusGone is the answer of a receiver that wants no more events.
const statusGone = 410

// Classes of errors, beside those of egress.
const (
	errorStatus   = "status"
	errorRedirect = "redirect"
	errorGone     = "gone"
	errorExpired  = "expired" // the event is no longer kept
)

// send posts an event as the Standard Webhooks specification defines. It returns the status of the answer, a class of
// error unless the event was accepted, and what failed on our side, if anything.
func (s Service) send(ctx context.Context, w Webhook, d Delivery) (status int, class string, failure error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.timeout, timeLimit))
	defer cancel()
	ev, err := find(ctx, s.DB, w.OrganizationID, d.Sequence) // read now, so that nothing erased is sent
	if errors.Is(err, access.ErrNotFound) {
		return 0, errorExpired, nil
	}
	if err != nil {
		return 0, egress.ErrorInternal, err
	}
	body := ev.Append(nil)
	now := s.DB.Now()
	timestamp := strconv.FormatInt(now.Unix(), 10)
	signed, err := s.sign(w, now, ev.ID+"."+timestamp+"."+string(body))
	if err != nil {
		return 0, egress.ErrorInternal, err
	}
	headers := map[string]string{
		"Content-Type": "application/json", "User-Agent": "foyer",
		"webhook-id": ev.ID, "webhook-timestamp": timestamp, "webhook-signature": signed,
	}
	span := s.traced(ctx, ev, d)
	if parent := span.Parent(); parent != "" {
		headers["traceparent"] = parent
	}
	status, class = s.Client.Post(ctx, w.URL, headers, body)
	defer span.End()
	span.Set("http.response.status_code", status)
	switch {
	case class == egress.ErrorInternal:
		failure = errors.New("too many open files")
	case class != "":
	case status == statusGone:
		class = errorGone
	case status >= 300 && status < 400:
		class = errorRedirect
	case status < 200 || status > 299:
		class = errorStatus
	}
	if class != "" {
		span.Fail(class)
	}
	return status, class, failure
}

// sign returns the signatures of a content by the secret, and by the old secrets that are still valid.
func (s Service) sign(w Webhook, now time.Time, content string) (string, error) {
	sealed := []string{w.sealed}
	for _, old := range w.oldSecrets {
		if now.Before(old.Until) {
			sealed = append(sealed, old.Sealed)
		}
	}
	var all []string
	for i, text := range sealed {
		key, err := s.Box.Open(text, []byte(w.OrganizationID))
		if i > 0 && err != nil {
			continue // it was sealed under a server secret that is lost; the new secret still signs
		}
		if err != nil {
			return "", fmt.Errorf("open its secret, which may be sealed under another FOYER_SECRET: %w", err)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(content))
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " "), nil
}

// Tidy removes deliveries and events that are older than keptFor.
func (s Service) Tidy(ctx context.Context) error {
	before := s.DB.Now().Add(-keptFor)
	if err := queries.DeleteOld(ctx, s.DB, `webhook_deliveries`, `id`, `created_at < $1 ORDER BY created_at`, before); err != nil {
		return err
	}
	return activity.DropData(ctx, s.DB, before)
}
