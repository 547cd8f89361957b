package event

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"foyer/internal/base/patch"
	"foyer/internal/infra/db/dbtest"
)

// A receiver that is down with many deliveries due gets the ones that are due first, a few in each turn, while events
// come to another receiver. When it is back, it gets all of them, and what happened meanwhile.
func TestBacklog(t *testing.T) {
	each(t, func(r rig) {
		down, fine := r.receiver(), r.receiver()
		w := r.webhook(down.URL, "app.*")
		const backlog = 3 * batchSize
		r.happen(backlog)
		r.send(r.Service)
		first := down.seen()
		var due []string // ids of events, in the order in which they become due: not that of the deliveries
		for _, d := range slices.Backward(r.deliveries(w.ID)) {
			r.pass(time.Millisecond)
			if _, err := r.Redeliver(r.Context(), r.caller, w.ID, d.ID); err != nil {
				r.Fatal(err)
			}
			due = append(due, d.EventID)
		}
		r.webhook(fine.URL, "app.*")
		var mu sync.Mutex
		var tried []string
		down.set(func(answer http.ResponseWriter, request *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, request.Header.Get("webhook-id"))
			answer.WriteHeader(http.StatusServiceUnavailable)
		})
		for turn, want := range [][]string{due[:batchSize], due[batchSize:][:failingBatch], due[batchSize+failingBatch:][:failingBatch]} {
			tried = nil
			r.happen(1)
			r.send(r.Service)
			if turn == 0 { // it is not known to fail, so some are sent at once
				slices.Sort(tried)
				want = slices.Sorted(slices.Values(want))
			}
			if !slices.Equal(tried, want) {
				r.Errorf("in turn %d it was sent %q, want %q", turn, tried, want)
			}
			if n := len(fine.seen()); n != turn+1 {
				r.Errorf("after turn %d, %d came to the other", turn, n)
			}
		}
		down.set(nil)
		r.pass(time.Hour)
		r.send(r.Service)
		left := due[batchSize+2*failingBatch:]
		came := down.seen()[len(first):]
		if len(came) != backlog+3 || !slices.Equal(came[:failingBatch], left[:failingBatch]) {
			r.Fatalf("%d came, the first %q, want %q", len(came), came[:min(len(came), failingBatch)], left[:failingBatch])
		}
		batch := slices.Sorted(slices.Values(came[failingBatch:][:batchSize]))
		if want := slices.Sorted(slices.Values(left[failingBatch:][:batchSize])); !slices.Equal(batch, want) {
			r.Errorf("then %q, want %q", batch, want)
		}
		for _, d := range r.deliveries(w.ID) {
			if d.State != Delivered {
				r.Errorf("%+v", d)
			}
		}
	})
}

// A webhook that fails gets one event at a time.
func TestOneAtATime(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		to.answerWith(http.StatusServiceUnavailable)
		w := r.webhook(to.URL, "app.*")
		r.happen(1)
		r.send(r.Service)
		came := r.change(to, func() error {
			_, err := r.Update(r.Context(), r.caller, w.ID, Draft{Enabled: patch.Of(false)})
			return err
		})
		r.happen(failingBatch)
		r.send(r.Service)
		if n := came.Load(); n != 1 {
			r.Errorf("%d came before the first was answered", n)
		}
	})
}

// More webhooks that fail, and more that are slow, than a look takes do not keep an event from one that is fine.
func TestManyThatFailOrAreSlow(t *testing.T) {
	each(t, func(r rig) {
		bad, fine := r.receiver(), r.receiver()
		bad.answerWith(http.StatusServiceUnavailable)
		failing, slow := r.webhook(bad.URL, "app.*"), r.webhook(bad.URL, "app.*")
		r.happen(1)
		r.send(r.Service)
		r.pass(time.Second)
		r.webhook(fine.URL, "app.*") // the last one to have had a turn
		dbtest.Exec(r, r.DB, `UPDATE webhooks SET failing_since = NULL WHERE id = $1`, slow.ID)
		dbtest.Exec(r, r.DB, `UPDATE webhook_deliveries SET duration_ms = $2 WHERE webhook_id = $1`, slow.ID, 2*turnTime.Milliseconds())
		for _, w := range []Webhook{failing, slow} {
			dbtest.Exec(r, r.DB, `
				INSERT INTO webhooks (organization_id, url, events, description, enabled, disabled_reason, created_at, updated_at, secret, position, failing_since, lease_until)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
				SELECT organization_id, url, events, description, enabled, disabled_reason, created_at, updated_at, secret, position, failing_since, lease_until FROM webhooks, n WHERE id = $1`,
				w.ID, maxFine+maxOther)
		}
		dbtest.Exec(r, r.DB, `
			INSERT INTO webhook_deliveries (webhook_id, organization_id, number, event_id, type, state, attempts, status, error, duration_ms, created_at, tried_at)
			SELECT w.id, d.organization_id, d.number, d.event_id, d.type, 'failed', 1, d.status, d.error, d.duration_ms, d.created_at, d.tried_at
			FROM webhooks w, webhook_deliveries d WHERE w.failing_since IS NULL AND w.url = $2 AND w.id <> $1 AND d.webhook_id = $1`, slow.ID, bad.URL)
		r.happen(1)
		r.send(r.Service)
		if n := len(fine.seen()); n != 1 {
			r.Errorf("%d came", n)
		}
	})
}
