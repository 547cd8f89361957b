package event

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/upstream/egress"
)

const (
	// lookEvery is how often a server looks for events that have become known, and for
	// deliveries that are due.
	lookEvery = 500 * time.Millisecond
	// maxReceivers is how many webhooks a server sends to at once, and atOnce how many events
	// to each: one that is slow holds up no other. To one that fails it sends one at a time.
	maxReceivers = 256
	atOnce       = 8
	// timeLimit is how long one try may take, and leaseTime how long a webhook belongs to the
	// server that sends to it, which renews that before each batch.
	timeLimit = 15 * time.Second
	leaseTime = 30 * time.Second
	// switchOffAfter is for how long every try must have failed.
	switchOffAfter = 5 * 24 * time.Hour
	// enqueueBatch bounds how many entries one transaction looks at.
	enqueueBatch = 200
)

// pauses are those between tries, as the Standard Webhooks specification proposes them, within
// 3 days.
var pauses = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 20 * time.Hour,
}

// Run sends events until ctx is done, then ends the tries under way.
func (s Service) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	slots := make(chan struct{}, maxReceivers)
	var sending sync.WaitGroup
	defer sending.Wait()
	for {
		if err := s.look(ctx, log, slots, &sending); err != nil && ctx.Err() == nil {
			log.ErrorContext(ctx, "send events", "error", err.Error())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// look sends what is due, each webhook beside the others.
func (s Service) look(ctx context.Context, log *slog.Logger, slots chan struct{}, sending *sync.WaitGroup) error {
	if err := s.Enqueue(ctx); err != nil {
		return err
	}
	webhooks, err := due(ctx, s.DB, s.DB.Now())
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		select {
		case slots <- struct{}{}:
		default:
			return nil // each has its turn once another one's has ended
		}
		sending.Go(func() {
			defer func() { <-slots }()
			if err := s.sendAll(ctx, w); err != nil {
				log.ErrorContext(ctx, "send events", "webhook", w.ID, "error", err.Error())
			}
		})
	}
	return nil
}

// Enqueue makes deliveries of the events that have become known, in the order of their numbers.
func (s Service) Enqueue(ctx context.Context) error {
	webhooks, err := behind(ctx, s.DB)
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		for more := true; more; {
			if more, err = s.enqueue(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s Service) enqueue(ctx context.Context, of Webhook) (more bool, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		more = false
		w, err := findWebhook(ctx, tx, of.OrganizationID, of.ID, tx.ForUpdate)
		if errors.Is(err, db.ErrNoRow) || err == nil && (!w.Enabled || w.held) {
			return nil
		}
		if err != nil {
			return err
		}
		more, err = s.enqueueNext(ctx, tx, w)
		return err
	})
	return more, err
}

// enqueueNext makes deliveries to a webhook that the transaction has locked.
func (s Service) enqueueNext(ctx context.Context, tx *db.Tx, w Webhook) (more bool, err error) {
	to, err := position(ctx, tx, w.OrganizationID)
	if err != nil {
		return false, err
	}
	entries, more, err := activity.WithData(ctx, tx, w.OrganizationID, w.position, enqueueBatch)
	if err != nil {
		return false, err
	}
	if more {
		to = entries[len(entries)-1].Number
	}
	for _, e := range entries {
		if e.Number > to {
			break // it has become known since
		}
		if err := s.enqueueOne(ctx, tx, w, e); err != nil {
			return false, err
		}
	}
	return more, setPosition(ctx, tx, w.ID, to)
}

func (s Service) enqueueOne(ctx context.Context, tx *db.Tx, w Webhook, e activity.Stored) error {
	ev, ok := of(e)
	if !ok {
		return nil
	}
	wanted := takes(w.Events, ev.Type)
	if ev.Type == Test {
		wanted = e.ItemID == strconv.FormatInt(w.ID, 10)
	}
	if !wanted {
		return nil
	}
	return insertDelivery(ctx, tx, w, ev, s.DB.Now())
}

// sendAll sends a webhook what is due, unless another server does.
func (s Service) sendAll(ctx context.Context, w Webhook) error {
	within := context.WithoutCancel(ctx) // a try under way is ended and recorded
	var until time.Time
	var tried []Delivery
	for {
		batch, err := s.next(within, &w, &until, tried, ctx.Err() == nil)
		if err != nil || len(batch) == 0 {
			return err
		}
		var trying sync.WaitGroup
		for i := range batch {
			trying.Go(func() { s.try(within, w, &batch[i]) })
		}
		trying.Wait()
		tried = batch
	}
}

// next records how a batch went, and takes the next one if there is to be one. Without, it gives
// the webhook back.
func (s Service) next(ctx context.Context, w *Webhook, until *time.Time, tried []Delivery, goOn bool) (batch []Delivery, err error) {
	id, organizationID := w.ID, w.OrganizationID
	var found Webhook
	var leased time.Time
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		batch = nil
		now := s.DB.Now()
		leased = now.Add(leaseTime)
		if found, err = s.recorded(ctx, tx, organizationID, id, tried); err != nil {
			return err
		}
		if held, err := lease(ctx, tx, id, *until, now, leased); err != nil || !held {
			return err // another server has it
		}
		if goOn {
			if batch, err = s.take(ctx, tx, found, now); err != nil {
				return err
			}
		}
		if len(batch) == 0 {
			_, err = lease(ctx, tx, id, leased, now, now)
		}
		return err
	})
	if errors.Is(err, db.ErrNoRow) {
		return nil, nil // deleted, with its deliveries
	}
	*w, *until = found, leased
	return batch, err
}

// recorded locks a webhook, and notes how it took what was sent to it.
func (s Service) recorded(ctx context.Context, tx *db.Tx, organizationID string, id int64, tried []Delivery) (Webhook, error) {
	w, err := findWebhook(ctx, tx, organizationID, id, tx.ForUpdate)
	if err != nil {
		return Webhook{}, err
	}
	for _, d := range tried {
		if err := updateDelivery(ctx, tx, d); err != nil {
			return Webhook{}, err
		}
	}
	return w, s.judge(ctx, tx, &w, tried)
}

// take is the next deliveries to a webhook.
func (s Service) take(ctx context.Context, tx *db.Tx, w Webhook, now time.Time) ([]Delivery, error) {
	if !w.Enabled || w.held {
		return nil, nil
	}
	limit := atOnce
	if !w.failingSince.IsZero() {
		limit = 1
	}
	return dueDeliveries(ctx, tx, w.ID, now, limit)
}

// judge notes how a webhook takes what is sent to it, and switches one off that is gone.
func (s Service) judge(ctx context.Context, tx *db.Tx, w *Webhook, tried []Delivery) error {
	if len(tried) == 0 || !w.Enabled {
		return nil
	}
	before, now := *w, s.DB.Now()
	w.failingSince = now
	if !before.failingSince.IsZero() {
		w.failingSince = before.failingSince
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
	if !w.failingSince.IsZero() && now.Sub(w.failingSince) >= switchOffAfter {
		reason = "Every try failed for 5 days."
	}
	if reason != "" {
		w.Enabled, w.DisabledReason, w.UpdatedAt = false, reason, now
		if err := drop(ctx, tx, w.ID, now); err != nil {
			return err
		}
		if err := s.record(ctx, tx, access.Caller{}, *w, activity.Disabled, []activity.Change{activity.Changed("reason", nil, reason)}); err != nil {
			return err
		}
	}
	if w.Enabled == before.Enabled && w.failingSince.Equal(before.failingSince) {
		return nil
	}
	return setTried(ctx, tx, *w)
}

// try sends an event once, and sets how that went.
func (s Service) try(ctx context.Context, w Webhook, d *Delivery) {
	began := s.DB.Now()
	d.TriedAt = began
	d.Attempts++
	d.Status, d.Error = s.send(ctx, w, *d)
	d.Duration = s.DB.Now().Sub(began)
	switch {
	case d.Error == "":
		d.State, d.DueAt = Delivered, time.Time{}
	case d.Attempts > len(pauses) || d.Error == errorExpired:
		d.State, d.DueAt = Failed, time.Time{}
	default:
		pause := pauses[d.Attempts-1]
		d.DueAt = began.Add(pause + rand.N(pause/10)) // so that what failed together does not come back together
	}
}

// statusGone is what a receiver answers that wants no more events.
const statusGone = 410

// Classes of errors, beside those of egress.
const (
	errorStatus   = "status"
	errorRedirect = "redirect"
	errorGone     = "gone"
	errorExpired  = "expired" // the event is no longer kept

)

// send posts an event as the Standard Webhooks specification has it, and returns the status of the
// answer and, unless it was taken, a class of error.
func (s Service) send(ctx context.Context, w Webhook, d Delivery) (status int, class string) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.timeout, timeLimit))
	defer cancel()
	ev, err := find(ctx, s.DB, w.OrganizationID, d.Sequence)
	if errors.Is(err, errGone) {
		return 0, errorExpired
	}
	if err != nil {
		return 0, egress.ErrorInternal
	}
	body := ev.Append(nil)
	now := s.DB.Now()
	timestamp := strconv.FormatInt(now.Unix(), 10)
	signed, err := s.sign(w, now, ev.ID+"."+timestamp+"."+string(body))
	if err != nil {
		return 0, egress.ErrorInternal
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
	return status, class
}

// sign returns the signatures of a content: by the secret, and for a while by the one before it.
func (s Service) sign(w Webhook, now time.Time, content string) (string, error) {
	sealed := []string{w.sealed}
	if w.oldSealed != "" && now.Before(w.oldUntil) {
		sealed = append(sealed, w.oldSealed)
	}
	var all []string
	for _, text := range sealed {
		key, err := s.open(w, text)
		if err != nil {
			return "", err
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(content))
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " "), nil
}

// tidyBatch bounds how many deliveries one transaction removes.
const tidyBatch = 500

// Tidy removes deliveries and events that are older than they are kept.
func (s Service) Tidy(ctx context.Context) error {
	before := s.DB.Now().Add(-KeptFor)
	for n := int64(tidyBatch); n == tidyBatch; {
		err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = forget(ctx, tx, before, tidyBatch)
			return err
		})
		if err != nil {
			return err
		}
	}
	return activity.DropData(ctx, s.DB, before)
}
