package event

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/base/patch"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// change calls fn, which changes a webhook, while the first tries of a batch are under way: their answers wait for it.
// It returns a counter of the tries that came.
func (r rig) change(to *receiver, fn func() error) *atomic.Int64 {
	var once sync.Once
	came := &atomic.Int64{}
	to.set(func(http.ResponseWriter, *http.Request) {
		came.Add(1)
		once.Do(func() {
			r.pass(time.Second)
			if err := fn(); err != nil {
				r.Error(err)
			}
		})
	})
	return came
}

// A try that begins after a webhook was changed follows the change.
func TestChangedInABatch(t *testing.T) {
	each(t, func(r rig) {
		const events = batchSize / 2
		update := func(d Draft) func(int64) error {
			return func(id int64) error {
				_, err := r.Update(r.Context(), r.caller, id, d)
				return err
			}
		}
		other := r.receiver()
		for name, c := range map[string]struct {
			change func(id int64) error
			other  int // events that come to the other receiver, at least
		}{
			"deleted":      {func(id int64) error { return r.Delete(r.Context(), r.caller, id) }, 0},
			"switched off": {update(Draft{Enabled: patch.Of(false)}), 0},
			"other events": {update(Draft{Events: patch.Of([]string{"site.*"})}), 0},
			"other url":    {update(Draft{URL: patch.Of(other.URL)}), events - atOnce},
			"held":         {func(int64) error { return r.DB.InTx(r.Context(), Hold) }, 0},
		} {
			to := r.receiver()
			w := r.webhook(to.URL, "app.*")
			before := len(other.seen())
			came := r.change(to, func() error { return c.change(w.ID) })
			r.happen(events)
			r.send(r.Service)
			elsewhere := len(other.seen()) - before
			if came.Load() > atOnce || elsewhere < c.other || elsewhere > 0 && elsewhere+int(came.Load()) != events {
				r.Errorf("%s: %d came, and %d to the other receiver", name, came.Load(), elsewhere)
			}
			if name == "held" {
				if err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error { _, err := Resume(ctx, tx); return err }); err != nil {
					r.Fatal(err)
				}
			}
			if name != "deleted" {
				if err := r.Delete(r.Context(), r.caller, w.ID); err != nil {
					r.Fatal(err)
				}
			}
		}
	})
}

// A try that begins after an erasure does not send what was erased, even within a batch.
func TestErasedInABatch(t *testing.T) {
	each(t, func(r rig) {
		const events = batchSize / 2
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		came := r.change(to, func() error {
			return r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error { return activity.EraseEvents(ctx, tx, ours) })
		})
		r.happen(events)
		r.send(r.Service)
		expired := 0
		for _, d := range r.deliveries(w.ID) {
			if d.Error == errorExpired && d.State == Failed {
				expired++
			}
		}
		if n := int(came.Load()); n > atOnce || n+expired != events {
			r.Errorf("%d came, %d expired", n, expired)
		}
	})
}

// An answer does not count for a webhook that got another url, or was switched off and on, after the try began.
func TestAnswerToWhatItWas(t *testing.T) {
	each(t, func(r rig) {
		old, other := r.receiver(), r.receiver()
		for name, drafts := range map[string][]Draft{
			"other url":   {{URL: patch.Of(other.URL)}},
			"switched on": {{Enabled: patch.Of(false)}, {URL: patch.Of(other.URL), Enabled: patch.Of(true)}},
		} {
			w := r.webhook(old.URL, "app.*")
			old.set(func(answer http.ResponseWriter, _ *http.Request) {
				for _, d := range drafts {
					r.pass(time.Second)
					if _, err := r.Update(r.Context(), r.caller, w.ID, d); err != nil {
						r.Error(err)
					}
				}
				answer.WriteHeader(http.StatusGone)
			})
			r.happen(1)
			r.send(r.Service)
			if found, err := r.Get(r.Context(), r.caller, w.ID); err != nil || !found.Enabled || found.fails() {
				r.Errorf("%s: %+v, %v", name, found, err)
			}
			r.happen(1)
			r.pass(time.Minute)
			r.send(r.Service)
			d := r.deliveries(w.ID)
			if retried := name == "other url"; len(d) != 2 || (d[0].State == Delivered) != retried || d[1].State != Delivered {
				r.Errorf("%s: %+v", name, d)
			}
			if err := r.Delete(r.Context(), r.caller, w.ID); err != nil {
				r.Fatal(err)
			}
		}
	})
}

// Failures of the receiver at an old url do not count for the one at the new url.
func TestOtherURLAfterFailures(t *testing.T) {
	each(t, func(r rig) {
		failing := r.receiver()
		failing.answerWith(http.StatusServiceUnavailable)
		w := r.webhook(failing.URL, "app.*")
		r.happen(1)
		r.send(r.Service)
		r.pass(switchOffAfter)
		if _, err := r.Update(r.Context(), r.caller, w.ID, Draft{URL: patch.Of(failing.URL + "/new")}); err != nil {
			r.Fatal(err)
		}
		r.happen(1)
		r.send(r.Service)
		if found, err := r.Get(r.Context(), r.caller, w.ID); err != nil || !found.Enabled || !found.fails() {
			r.Errorf("%+v, %v", found, err)
		}
	})
}

// A redelivery that was not sent before its webhook was switched off says so, whatever the result of the time before.
func TestSwitchedOffBeforeSentAgain(t *testing.T) {
	each(t, func(r rig) {
		for _, status := range []int{http.StatusOK, http.StatusBadGateway} {
			to := r.receiver()
			to.answerWith(status)
			w := r.webhook(to.URL, "app.*")
			r.happen(1)
			r.send(r.Service)
			if _, err := r.Redeliver(r.Context(), r.caller, w.ID, r.deliveries(w.ID)[0].ID); err != nil {
				r.Fatal(err)
			}
			if _, err := r.Update(r.Context(), r.caller, w.ID, Draft{Enabled: patch.Of(false)}); err != nil {
				r.Fatal(err)
			}
			if d := r.deliveries(w.ID)[0]; d.State != Failed || d.Error != "off" || d.Attempts != 0 || !d.DueAt.IsZero() {
				r.Errorf("after %d: %+v", status, d)
			}
		}
	})
}

// A retry that arrives while its webhook is switched off is shown as delivered.
func TestSwitchedOffWhileItArrives(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		to.answerWith(http.StatusBadGateway)
		w := r.webhook(to.URL, "app.*")
		r.happen(1)
		r.send(r.Service)
		r.pass(time.Minute)
		r.change(to, func() error {
			_, err := r.Update(r.Context(), r.caller, w.ID, Draft{Enabled: patch.Of(false)})
			return err
		})
		r.send(r.Service)
		if d := r.deliveries(w.ID)[0]; d.State != Delivered || d.Status != http.StatusOK || d.Attempts != 2 || !d.DueAt.IsZero() {
			r.Errorf("%+v", d)
		}
	})
}
