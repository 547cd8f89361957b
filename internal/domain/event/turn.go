package event

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

const (
	// lookEvery is how often a server looks for webhooks with something to be sent.
	lookEvery = 500 * time.Millisecond
	// atOnce is how many events are sent to one webhook at once. A webhook that fails gets them one by one.
	atOnce = 8
	// batchSize, failingBatch for webhooks that fail, and batchBytes limit what is sent to a webhook before the results
	// are stored.
	batchSize    = 100
	failingBatch = 8
	batchBytes   = 128 << 10
	// turnTime is how long new tries begin in one turn. A receiver that takes longer to answer is slow.
	turnTime = 5 * time.Second
	// timeLimit is how long one try may take, and leaseTime how long a webhook belongs to the server that sends to it,
	// which is longer than a batch takes.
	timeLimit = 15 * time.Second
	leaseTime = 30 * time.Second
	// maxAhead is how far in the future a lease may end. If it is further, the clock has stepped back since. Servers'
	// clocks may differ by some seconds.
	maxAhead = 2 * leaseTime
)

// slots limit how many webhooks a server sends to at once: those that are fine, and others, which fail or are slow. The
// fine ones never wait for the others, however many of those hang.
type slots struct{ fine, other chan struct{} }

const maxFine, maxOther = 192, 64

func newSlots() slots {
	return slots{fine: make(chan struct{}, maxFine), other: make(chan struct{}, maxOther)}
}

// Run sends events until ctx is done, then ends the tries under way.
func (s Service) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	slots := newSlots()
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

// look begins to send what is due, to all webhooks at once.
func (s Service) look(ctx context.Context, log *slog.Logger, slots slots, sending *sync.WaitGroup) error {
	webhooks, err := due(ctx, s.DB, s.DB.Now())
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		free := slots.fine
		if w.fails() || w.took > turnTime.Milliseconds() {
			free = slots.other
		}
		select {
		case free <- struct{}{}:
		default:
			continue // its turn comes once the turn of another one has ended
		}
		sending.Go(func() {
			defer func() { <-free }()
			if err := s.sendTo(ctx, w); err != nil {
				log.ErrorContext(ctx, "send events", "webhook", w.ID, "error", err.Error())
			}
		})
	}
	return nil
}

// batch holds events on their way to a webhook, from the transaction that takes them to the one that stores the
// results. Events that were never tried have no rows, so that a receiver that is down for days does not fill the table.
type batch struct {
	deliveries []Delivery
	to         int64     // the number of the last entry that was looked at
	until      time.Time // the lease; zero: there is nothing to do
}

// sendTo sends a webhook what is due in one turn, unless another server does: one batch if the webhook fails. It
// returns the first failure on our side, which ends the turn.
func (s Service) sendTo(ctx context.Context, w Webhook) error {
	within := context.WithoutCancel(ctx) // a try under way is finished and stored
	w, b, err := s.next(within, w, batch{}, ctx.Err() == nil)
	began := s.DB.Now()
	goOn := func() bool {
		passed := s.DB.Now().Sub(began)
		return ctx.Err() == nil && passed >= 0 && passed < turnTime
	}
	for err == nil && !b.until.IsZero() {
		failure := s.sendBatch(within, w, &b, goOn)
		w, b, err = s.next(within, w, b, failure == nil && goOn())
		err = cmp.Or(err, failure)
	}
	return err
}

// next stores the results of the last batch, which was sent to the webhook as it was then (of). It takes the next batch
// if goOn allows it and there is one, and otherwise gives the webhook back.
func (s Service) next(ctx context.Context, of Webhook, last batch, goOn bool) (w Webhook, b batch, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		b = batch{}
		if w, err = findWebhook(ctx, tx, of.OrganizationID, of.ID, " FOR UPDATE"); err != nil {
			return err
		}
		now := s.DB.Now()
		if w.leaseUntil.Equal(last.until) {
			err = s.store(ctx, tx, of, &w, last)
		} else if ahead := w.leaseUntil.Sub(now); ahead > 0 && ahead <= maxAhead {
			return nil // another server has it
		}
		if err == nil && goOn && (last.until.IsZero() || !w.fails()) {
			b, err = s.take(ctx, tx, &w, now)
		}
		if err != nil {
			return err
		}
		if w.leaseUntil = b.until; b.until.IsZero() {
			w.leaseUntil = now
		}
		return update(ctx, tx, w)
	})
	if errors.Is(err, db.ErrNoRow) {
		return w, batch{}, nil // deleted, with its deliveries
	}
	return w, b, err
}

// store stores the results of a batch. The answers count only for a webhook that was not changed since it was read.
func (s Service) store(ctx context.Context, tx *db.Tx, of Webhook, w *Webhook, b batch) error {
	for _, d := range b.deliveries {
		passed := d.ID == 0 && d.Sequence <= w.position
		if d.State == Pending && (!w.Enabled || passed) { // switched off meanwhile, and perhaps on again
			d.State, d.DueAt = Failed, time.Time{}
		}
		save := updateDelivery
		if d.ID == 0 {
			save = insertDelivery
		}
		if err := save(ctx, tx, d); err != nil {
			return err
		}
	}
	w.position = max(w.position, b.to)
	if w.changedSince(of) {
		return nil
	}
	return s.judge(ctx, tx, w, b.deliveries)
}

// take returns the next batch: first deliveries that are due again, then new events.
func (s Service) take(ctx context.Context, tx *db.Tx, w *Webhook, now time.Time) (b batch, err error) {
	if !w.Enabled || w.Held {
		return batch{}, nil
	}
	limit := batchSize
	if w.fails() {
		limit = failingBatch
	}
	if b.deliveries, err = dueDeliveries(ctx, tx, *w, now, limit); err != nil {
		return batch{}, err
	}
	b.to = w.position
	more := false
	if len(b.deliveries) < limit {
		if more, err = takeNew(ctx, tx, w, &b, limit, now); err != nil {
			return batch{}, err
		}
	}
	if len(b.deliveries) == 0 {
		w.position = b.to
	}
	if more || len(b.deliveries) > 0 {
		b.until = now.Add(leaseTime)
	}
	return b, nil
}

// takeNew adds events that have not been sent yet, up to a limit, and reports whether there may be
// more.
func takeNew(ctx context.Context, tx *db.Tx, w *Webhook, b *batch, limit int, now time.Time) (more bool, err error) {
	head, err := activity.HeadOf(ctx, tx, w.OrganizationID)
	if err != nil || head.Number == w.position {
		return false, err
	}
	entries, more, err := activity.WithData(ctx, tx, w.OrganizationID, w.position, batchSize, batchBytes)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if len(b.deliveries) == limit {
			return true, nil
		}
		b.to = e.Number
		if ev, ok := of(e); ok && w.wants(ev, e.ItemID) {
			b.deliveries = append(b.deliveries, newDelivery(*w, ev, now))
		}
	}
	if !more {
		b.to = max(b.to, head.Number) // the entries after the last event are not events
	}
	return more, nil
}

// sendBatch tries the deliveries of a batch in their order while goOn allows it, and removes those it did not get to.
// Once the webhook is changed, it begins no further try. It returns the first failure on our side.
func (s Service) sendBatch(ctx context.Context, w Webhook, b *batch, goOn func() bool) (failure error) {
	workers := make(chan struct{}, atOnce)
	if w.fails() {
		workers = make(chan struct{}, 1)
	}
	var trying sync.WaitGroup
	begun := 0
	for begun < len(b.deliveries) {
		free := takeFree(workers, len(b.deliveries)-begun)
		if !goOn() {
			break
		}
		unchanged, err := s.unchanged(ctx, w)
		if failure = err; err != nil || !unchanged {
			break
		}
		for range free {
			d := &b.deliveries[begun]
			begun++
			trying.Go(func() {
				defer func() { <-workers }()
				s.try(ctx, w, d)
			})
		}
	}
	trying.Wait()
	b.cut(begun)
	for _, d := range b.deliveries {
		failure = cmp.Or(failure, d.failure)
	}
	return failure
}

// takeFree waits for a free worker, takes it and any others that are free, up to a number, and returns how many it
// took.
func takeFree(workers chan struct{}, most int) int {
	workers <- struct{}{}
	for taken := 1; taken < most; taken++ {
		select {
		case workers <- struct{}{}:
		default:
			return taken
		}
	}
	return most
}

// unchanged reports whether a webhook is as it was when its batch was taken: tries that begin after a change must
// follow it.
func (s Service) unchanged(ctx context.Context, w Webhook) (bool, error) {
	now, err := findWebhook(ctx, s.DB, w.OrganizationID, w.ID, "")
	if errors.Is(err, db.ErrNoRow) {
		return false, nil // deleted
	}
	return !now.Held && !now.changedSince(w), err
}

// cut leaves all but the first n deliveries for the next batch.
func (b *batch) cut(n int) {
	if n >= len(b.deliveries) {
		return
	}
	for _, d := range b.deliveries[n:] {
		if d.ID == 0 {
			b.to = d.Sequence - 1
			break
		}
	}
	b.deliveries = b.deliveries[:n]
}
