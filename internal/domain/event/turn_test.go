package event

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// If a server is told to stop, or its batch has taken long enough, the events it did not get to are sent in the next
// batch: each event once.
func TestStopInABatch(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		const events = batchSize/2 + 5
		r.happen(events)
		ctx, stop := context.WithCancel(r.Context())
		var sending sync.WaitGroup
		var came atomic.Int64
		to.set(func(http.ResponseWriter, *http.Request) {
			if came.Add(1) == 3 {
				stop()
			}
		})
		if err := r.look(ctx, slog.New(slog.DiscardHandler), newSlots(), &sending); err != nil {
			r.Fatal(err)
		}
		sending.Wait()
		if n := len(r.deliveries(w.ID)); n < 3 || n > 3+atOnce {
			r.Errorf("%d were sent", n)
		}
		r.send(r.Service)
		if n := came.Load(); n != events || len(r.deliveries(w.ID)) != events {
			r.Errorf("%d came of %d, %d deliveries", n, events, len(r.deliveries(w.ID)))
		}
	})
}

// A server that has lost its lease to another one changes nothing any more.
func TestLeaseIsLost(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		r.happen(3)
		found, b, err := r.next(r.Context(), w, batch{}, true)
		if err != nil {
			r.Fatal(err)
		}
		r.pass(leaseTime + time.Second)
		r.happen(2)
		r.send(r.server(r.DB, loopback))
		to.answerWith(http.StatusGone)
		r.sendBatch(r.Context(), found, &b, always)
		r.pass(time.Second)
		if _, _, err := r.next(r.Context(), w, b, true); err != nil {
			r.Fatal(err)
		}
		r.send(r.Service)
		deliveries := r.deliveries(w.ID)
		for _, d := range deliveries {
			if d.State != Delivered {
				r.Errorf("%+v", d)
			}
		}
		if found, err := r.Get(r.Context(), r.caller, w.ID); err != nil || !found.Enabled || len(deliveries) != 5 {
			r.Errorf("%+v, %v, %d deliveries", found, err, len(deliveries))
		}
	})
}

// After the clock has stepped back, events are sent and tried again as if it had not.
func TestClockThatStepsBack(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		r.happen(1)
		r.send(r.Service)
		r.pass(-time.Hour)
		to.set(func(w http.ResponseWriter, _ *http.Request) {
			r.pass(-time.Minute)
			w.WriteHeader(http.StatusBadGateway)
		})
		r.happen(1)
		r.send(r.Service)
		if all := r.deliveries(w.ID); len(all) != 2 || all[1].Duration != 0 {
			r.Fatalf("%+v", all)
		}
		r.pass(-365 * 24 * time.Hour)
		to.set(nil)
		r.send(r.Service)
		if d := r.deliveries(w.ID)[1]; d.State != Delivered {
			r.Errorf("%+v", d)
		}
	})
}

// A turn ends when the clock steps back: else it would last until the clock is where it was, however slow the receiver.
func TestClockThatStepsBackInATurn(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		to.set(func(http.ResponseWriter, *http.Request) { r.pass(-time.Hour) })
		r.happen(batchSize)
		r.send(r.Service)
		if n := len(r.deliveries(w.ID)); n == 0 || n > atOnce {
			r.Errorf("%d were sent", n)
		}
		to.set(nil)
		r.send(r.Service)
		if n := len(r.deliveries(w.ID)); n != batchSize {
			r.Errorf("%d were sent in the end", n)
		}
	})
}

// always has a whole batch sent.
func always() bool { return true }

// Receivers that are known to fail share slots of their own and take turns, however many of them hang.
func TestThoseThatFailTakeTurns(t *testing.T) {
	each(t, func(r rig) {
		failing, fine := r.receiver(), r.receiver()
		const several = 5
		fails := map[int64]bool{}
		for range several {
			fails[r.webhook(failing.URL, "app.*").ID] = true
		}
		failing.answerWith(http.StatusBadGateway)
		r.happen(1)
		r.send(r.Service)
		last := r.webhook(fine.URL, "app.*")
		r.happen(20 * failingBatch)
		few := slots{fine: make(chan struct{}, 1), other: make(chan struct{}, 1)}
		for range several {
			r.pass(time.Second)
			var sending sync.WaitGroup
			if err := r.look(r.Context(), slog.New(slog.DiscardHandler), few, &sending); err != nil {
				r.Fatal(err)
			}
			sending.Wait()
		}
		if n := len(r.deliveries(last.ID)); n != 20*failingBatch {
			r.Errorf("%d came to the one that is fine", n)
		}
		for id := range fails {
			if n := len(r.deliveries(id)); n != 1+failingBatch {
				r.Errorf("%d tries at one that fails", n)
			}
		}
	})
}

// A turn ends once it has taken long, however much is still due. A receiver that is known to be slow takes no slot from
// those that are fine.
func TestThoseThatAreSlowTakeTurns(t *testing.T) {
	each(t, func(r rig) {
		slow, fine := r.receiver(), r.receiver()
		slow.set(func(http.ResponseWriter, *http.Request) { r.pass(13 * time.Second) })
		var those []int64
		for range 3 {
			those = append(those, r.webhook(slow.URL, "app.*").ID)
		}
		few := slots{fine: make(chan struct{}, 1)}
		look := func() {
			r.Helper()
			var sending sync.WaitGroup
			if err := r.look(r.Context(), slog.New(slog.DiscardHandler), few, &sending); err != nil {
				r.Fatal(err)
			}
			sending.Wait()
		}
		sent := func() (each []int) {
			r.Helper()
			for _, id := range those {
				each = append(each, len(r.deliveries(id)))
			}
			return each
		}
		r.happen(2 * batchSize)
		for i := range those {
			look()
			each := sent()
			if n := each[i]; n == 0 || n > atOnce {
				r.Fatalf("in turn %d they were sent %d", i, each)
			}
		}
		last, before := r.webhook(fine.URL, "app.*"), sent()
		r.happen(5)
		look()
		if n := len(r.deliveries(last.ID)); n != 5 || !slices.Equal(sent(), before) {
			r.Errorf("%d came to the one that is fine, and they were sent %d, before %d", n, sent(), before)
		}
		few.other = make(chan struct{}, 1)
		look()
		if after := sent(); after[0] == before[0] || !slices.Equal(after[1:], before[1:]) {
			r.Errorf("they were sent %d, and then %d", before, after)
		}
	})
}

// A delivery is not retried if its webhook is switched off during a try.
func TestSwitchedOffInABatch(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		to.set(func(answer http.ResponseWriter, _ *http.Request) {
			if _, err := r.Update(r.Context(), r.caller, w.ID, Draft{Enabled: patch.Of(false)}); err != nil {
				r.Error(err)
			}
			answer.WriteHeader(http.StatusBadGateway)
		})
		r.happen(1)
		r.send(r.Service)
		if d := r.deliveries(w.ID); len(d) != 1 || d[0].State != Failed || !d[0].DueAt.IsZero() {
			r.Errorf("%+v", d)
		}
	})
}

// A delivery, new or retried, is not retried if its webhook is switched off and on again during a try. Only events from
// then on are sent.
func TestSwitchedOffAndOnInATry(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		fail := func(answer http.ResponseWriter, _ *http.Request) { answer.WriteHeader(http.StatusBadGateway) }
		offAndOn := func(answer http.ResponseWriter, request *http.Request) {
			r.happen(1)
			for _, on := range []bool{false, true} {
				if _, err := r.Update(r.Context(), r.caller, w.ID, Draft{Enabled: patch.Of(on)}); err != nil {
					r.Error(err)
				}
			}
			fail(answer, request)
		}
		given := func(n int) {
			r.Helper()
			d := r.deliveries(w.ID)
			if len(d) != n || d[n-1].State != Failed || !d[n-1].DueAt.IsZero() {
				r.Errorf("%+v", d)
			}
		}
		to.set(offAndOn)
		r.happen(1)
		r.send(r.Service)
		given(1)

		to.set(fail)
		r.happen(1)
		r.send(r.Service)
		r.pass(time.Minute)
		to.set(offAndOn)
		r.send(r.Service)
		given(2)

		to.set(nil)
		r.happen(1)
		r.send(r.Service)
		if d := r.deliveries(w.ID); len(d) != 3 || d[2].State != Delivered {
			r.Errorf("%+v", d)
		}
	})
}

// A delivery that is redelivered during a try is sent again, however the try ends.
func TestRedeliverInATry(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		to.answerWith(http.StatusBadGateway)
		r.happen(1)
		r.send(r.Service)
		r.pass(time.Minute)
		first := r.deliveries(w.ID)[0]
		to.set(func(answer http.ResponseWriter, _ *http.Request) {
			r.pass(time.Second)
			if _, err := r.Redeliver(r.Context(), r.caller, w.ID, first.ID); err != nil {
				r.Error(err)
			}
			answer.WriteHeader(http.StatusBadGateway)
		})
		r.send(r.Service)
		to.set(nil)
		r.send(r.Service)
		if d := r.deliveries(w.ID)[0]; d.State != Delivered || d.Attempts != 1 {
			r.Errorf("%+v", d)
		}
	})
}

// The pause before the next try begins when the last try ends, however long that took.
func TestPauseAfterATimeout(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		to.set(func(answer http.ResponseWriter, _ *http.Request) {
			r.pass(timeLimit)
			answer.WriteHeader(http.StatusBadGateway)
		})
		w := r.webhook(to.URL, "app.*")
		r.happen(1)
		r.send(r.Service)
		if d := r.deliveries(w.ID)[0]; d.DueAt.Before(r.DB.Now().Add(pauses[0])) {
			r.Errorf("%+v", d)
		}
	})
}

// Many entries that a webhook does not want are skipped, one batch at a time.
func TestManyThatAreNotWanted(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "site.*")
		r.happen(2*batchSize + 1)
		r.send(r.Service)
		found, err := findWebhook(r.Context(), r.DB, ours, w.ID, "")
		if err != nil {
			r.Fatal(err)
		}
		if head, err := activity.HeadOf(r.Context(), r.DB, ours); err != nil || found.position != head.Number || found.leaseUntil.After(r.DB.Now()) || len(r.deliveries(w.ID)) > 0 {
			r.Errorf("%+v, %v", found, err)
		}
	})
}

func TestLimitOfWebhooks(t *testing.T) {
	each(t, func(r rig) {
		for range maxWebhooks {
			r.webhook("https://hooks.example.com/", "app.*")
		}
		_, err := r.Create(r.Context(), r.caller, Draft{URL: patch.Of("https://hooks.example.com/"), Events: patch.Of([]string{"app.*"})})
		if !fault.Is(err, fault.Invalid) {
			r.Errorf("one more than there may be: %v", err)
		}
	})
}

// Two servers that look at a webhook at once do not send the same events, and of two changes at once none is lost.
func TestWebhookAtOnce(t *testing.T) {
	each(t, func(r rig) {
		w := r.webhook(r.receiver().URL, "app.*")
		r.happen(3)
		together := func(do ...func() error) {
			start, end := dbtest.Meanwhile(r, r.DB, do...)
			err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
				if _, err := db.One[int](ctx, tx, nil, `SELECT 1 FROM webhooks FOR UPDATE`); err != nil {
					return err
				}
				start()
				return nil
			})
			if err != nil {
				r.Fatal(err)
			}
			end()
		}
		var taken atomic.Int64
		take := func() error {
			_, b, err := r.next(r.Context(), w, batch{}, true)
			taken.Add(int64(len(b.deliveries)))
			return err
		}
		change := func(d Draft) func() error {
			return func() error { _, err := r.Update(r.Context(), r.caller, w.ID, d); return err }
		}
		together(take, take)
		together(change(Draft{Description: patch.Of("new")}), change(Draft{Events: patch.Of([]string{"site.*"})}))
		found, err := r.Get(r.Context(), r.caller, w.ID)
		if taken.Load() != 3 || found.Description != "new" || found.Events[0] != "site.*" || err != nil {
			r.Errorf("took %d of 3; %+v, %v", taken.Load(), found, err)
		}
	})
}
