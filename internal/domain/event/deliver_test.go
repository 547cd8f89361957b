package event

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// A receiver that is down, hangs, redirects, fails and is back again, while two servers are killed, gets every event at
// least once, signed. No redirect is followed.
func TestEveryEventAtLeastOnce(t *testing.T) {
	each(t, func(r rig) {
		to, other := r.receiver(), r.receiver()
		w := r.webhook(to.URL, "app.*")
		to.secrets = []string{w.Secret}
		ends := make(chan struct{})
		r.Cleanup(func() { close(ends) })
		const hanging = 1
		wrongs := []http.HandlerFunc{
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			hanging: func(_ http.ResponseWriter, q *http.Request) { // longer than a try may take
				select {
				case <-q.Context().Done():
				case <-ends:
				}
			},
			func(w http.ResponseWriter, q *http.Request) {
				http.Redirect(w, q, other.URL, http.StatusTemporaryRedirect)
			},
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		}
		classes := map[string]bool{}
		for i, wrong := range wrongs {
			to.set(wrong)
			r.happen(3)
			if r.timeout = 0; i == hanging {
				r.timeout = time.Second // so that the try soon ends
			}
			r.send(r.Service)
			if i%2 == 0 {
				r.kill(w)
			}
			for _, d := range r.deliveries(w.ID) {
				classes[d.Error] = true
			}
			r.pass(15 * time.Minute)
		}
		to.set(nil)
		for range 20 {
			r.send(r.server(r.DB, loopback))
			r.pass(30 * time.Minute)
		}
		ids := to.seen()
		slices.Sort(ids)
		if got := slices.Compact(ids); len(got) != 12 || len(other.seen()) > 0 {
			r.Errorf("%d events came, %d elsewhere", len(got), len(other.seen()))
		}
		for _, class := range []string{"connection", "timeout", "redirect", "status"} {
			if !classes[class] {
				r.Errorf("no %s among %v", class, classes)
			}
		}
		for _, d := range r.deliveries(w.ID) {
			if d.State != Delivered || d.Status != 200 || d.Attempts == 0 {
				r.Errorf("%+v", d)
			}
		}
	})
}

// kill acts as a server that is killed after it has sent a batch, and before it has stored the results.
func (r rig) kill(w Webhook) {
	r.Helper()
	r.pass(time.Hour)
	found, b, err := r.next(r.Context(), w, batch{}, true)
	if err != nil || len(b.deliveries) == 0 {
		r.Fatal(b, err)
	}
	r.sendBatch(r.Context(), found, &b, always)
	if _, again, err := r.server(r.DB, loopback).next(r.Context(), w, batch{}, true); err != nil || len(again.deliveries) > 0 {
		r.Errorf("another server takes what is leased: %+v, %v", again, err)
	}
}

// Retries come at the times of the specification, and end after 3 days. Each shows when it began and how long it took.
func TestSchedule(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.updated")
		r.happen(1)
		began := r.DB.Now()
		for i, pause := range []time.Duration{
			5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 20 * time.Hour,
		} {
			took, tried := time.Duration(i+1)*time.Second, r.DB.Now()
			to.set(func(w http.ResponseWriter, _ *http.Request) {
				r.pass(took)
				w.WriteHeader(http.StatusServiceUnavailable)
			})
			r.send(r.Service)
			d := r.deliveries(w.ID)[0]
			if d.Duration != took.Milliseconds() || !d.TriedAt.Equal(tried) {
				r.Errorf("try %d took %d ms at %s, want %s at %s", d.Attempts, d.Duration, d.TriedAt, took, tried)
			}
			after := d.DueAt.Sub(r.DB.Now())
			if d.State != Pending || after < pause || after > pause+pause/10 {
				r.Fatalf("try %d: %s after %s, want %s", d.Attempts, d.State, after, pause)
			}
			r.pass(after)
		}
		r.send(r.Service)
		d := r.deliveries(w.ID)[0]
		if took := r.DB.Now().Sub(began); d.State != Failed || d.Attempts != 10 || took < 70*time.Hour || took > 80*time.Hour {
			r.Errorf("%+v after %s", d, took)
		}
		if timeLimit != 15*time.Second {
			r.Errorf("each may take %s", timeLimit)
		}
	})
}

// A receiver that hangs does not delay others.
func TestHangingReceiver(t *testing.T) {
	each(t, func(r rig) {
		hanging, fine := r.receiver(), r.receiver()
		ends := make(chan struct{})
		hanging.set(func(http.ResponseWriter, *http.Request) { <-ends })
		r.webhook(hanging.URL, "app.*")
		fine.secrets = []string{r.webhook(fine.URL, "app.*").Secret}
		const events = 500
		r.happen(events)
		ctx, stop := context.WithCancel(r.Context())
		done := make(chan struct{})
		go func() {
			r.Service.Run(ctx, slog.New(slog.DiscardHandler))
			close(done)
		}()
		for range events {
			<-fine.came
		}
		close(ends)
		stop()
		<-done
		if n := len(hanging.seen()); n > 0 {
			r.Errorf("%d came to the one that hangs", n)
		}
	})
}

func TestSwitchedOff(t *testing.T) {
	each(t, func(r rig) {
		gone, failing := r.receiver(), r.receiver()
		gone.answerWith(http.StatusGone)
		failing.answerWith(http.StatusBadGateway)
		first, second := r.webhook(gone.URL, "app.*"), r.webhook(failing.URL, "app.*")
		r.pass(time.Minute)
		r.happen(20)
		r.send(r.Service)
		r.pass(5 * 24 * time.Hour)
		r.happen(1)
		r.send(r.Service)
		for id, reason := range map[int64]string{first.ID: "The receiver answered 410 Gone.", second.ID: "Every try failed for 5 days."} {
			w, err := r.Get(r.Context(), r.caller, id)
			if err != nil || w.Enabled || w.DisabledReason != reason || !w.UpdatedAt.After(w.CreatedAt) {
				r.Errorf("%+v, %v", w, err)
			}
			for _, d := range r.deliveries(id) {
				if d.State == Pending || !d.DueAt.IsZero() || d.Status == http.StatusGone && d.Error != "gone" {
					r.Errorf("of one that is off: %+v", d)
				}
			}
			if _, err := r.Redeliver(r.Context(), r.caller, id, r.deliveries(id)[0].ID); err == nil {
				r.Error("sends again to one that is off")
			}
		}
		recorded, err := activity.List(r.Context(), r.DB, activity.Filter{OrganizationID: ours, Verb: activity.Disabled}, page.First)
		if err != nil || recorded.Count != 2 {
			r.Errorf("%+v, %v", recorded, err)
		}
		gone.set(nil)
		if _, err := r.Update(r.Context(), r.caller, first.ID, Draft{Enabled: patch.Of(true)}); err != nil {
			r.Error(err)
		}
		if w, err := r.Get(r.Context(), r.caller, first.ID); err != nil || !w.Enabled || w.DisabledReason != "" {
			r.Error(w, err)
		}
		r.happen(1)
		r.send(r.Service)
		if n := len(gone.seen()); n != 1 {
			r.Errorf("%d events came, from before it was switched on", n)
		}
		if _, err := r.Redeliver(r.Context(), r.caller, first.ID, r.deliveries(first.ID)[0].ID); err != nil {
			r.Error(err)
		}
		r.send(r.Service)
		if seen := gone.seen(); len(seen) != 2 || seen[1] != r.deliveries(first.ID)[0].EventID {
			r.Errorf("sent again: %q", seen)
		}
	})
}

// An event that is no longer kept is not sent, and does not count as a failure of the receiver.
func TestExpiredIsNoFailure(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		r.happen(1)
		r.send(r.Service)
		if _, err := r.Redeliver(r.Context(), r.caller, w.ID, r.deliveries(w.ID)[0].ID); err != nil {
			r.Fatal(err)
		}
		if err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error { return activity.EraseEvents(ctx, tx, ours) }); err != nil {
			r.Fatal(err)
		}
		r.send(r.Service)
		if d := r.deliveries(w.ID)[0]; d.State != Failed || d.Error != errorExpired {
			r.Errorf("%+v", d)
		}
		r.pass(switchOffAfter)
		to.answerWith(http.StatusBadGateway)
		r.happen(1)
		r.send(r.Service)
		if w, err := r.Get(r.Context(), r.caller, w.ID); err != nil || !w.Enabled {
			r.Errorf("by one failure: %+v, %v", w, err)
		}
	})
}

// After a restore nothing is sent until an operator says so; events from then on are. Webhooks that are made meanwhile are
// not held.
func TestHold(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		r.webhook(to.URL, "app.*")
		change := func(fn func(context.Context, *db.Tx) error) {
			if err := r.DB.InTx(r.Context(), fn); err != nil {
				r.Fatal(err)
			}
		}
		change(Hold)
		theirs := r.elsewhere()
		theirs.happen(9) // their chain is longer
		theirs.webhook(to.URL, "app.*")
		r.happen(3)
		if n, err := Held(r.Context(), r.DB); err != nil || n != 1 {
			r.Errorf("%d are held, %v", n, err)
		}
		r.send(r.Service)
		held, err := r.Get(r.Context(), r.caller, 1)
		if err != nil || !held.Held {
			r.Errorf("%+v, %v", held, err)
		}
		if _, err := r.SendTest(r.Context(), r.caller, held.ID); err == nil || !strings.Contains(err.Error(), HeldReason) {
			r.Errorf("tried: %v", err)
		}
		if _, err := r.Update(r.Context(), r.caller, held.ID, Draft{Enabled: patch.Of(true)}); err == nil || !strings.Contains(err.Error(), HeldReason) {
			r.Errorf("switched on: %v", err)
		}
		if same, err := r.Update(r.Context(), r.caller, held.ID, Draft{Enabled: patch.Of(false)}); err != nil || !same.Enabled {
			r.Errorf("sent back as it is shown: %+v, %v", same, err)
		}
		change(func(ctx context.Context, tx *db.Tx) error {
			n, err := Resume(ctx, tx)
			if n != 1 {
				r.Errorf("%d were held", n)
			}
			return err
		})
		r.send(r.Service)
		if seen := to.seen(); len(seen) != 0 {
			r.Errorf("sent while held: %q", seen)
		}
		r.happen(2)
		for deadline := time.Now().Add(time.Minute); len(to.seen()) < 2 && time.Now().Before(deadline); {
			r.send(r.Service) // a try may fail on a busy machine
		}
		if seen := slices.Compact(slices.Sorted(slices.Values(to.seen()))); len(seen) != 2 {
			r.Errorf("sent afterwards: %q", seen)
		}
	})
}

// A replaced secret is valid for a day, even if the next one is replaced within that day: the answer with the next one
// may have been lost. The number of old secrets is limited.
func TestRotateAgain(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		first := r.webhook(to.URL, "app.*")
		good := []string{first.Secret}
		for range maxOldSecrets {
			rotated, err := r.Rotate(r.Context(), r.caller, first.ID)
			if err != nil {
				r.Fatal(err)
			}
			good = append(good, rotated.Secret)
			r.pass(time.Hour)
		}
		if _, err := r.Rotate(r.Context(), r.caller, first.ID); !fault.Is(err, fault.Throttled) || fault.Of(err)[0].RetryAfter != 14*time.Hour {
			r.Errorf("one too many: %v", err)
		}
		to.secrets = good
		r.happen(1)
		r.send(r.Service)
		r.pass(14 * time.Hour)
		if err := verifyFails(r, first.ID, first.Secret); err != "" {
			r.Error(err)
		}
		last, err := r.Rotate(r.Context(), r.caller, first.ID)
		if err != nil {
			r.Fatal(err)
		}
		to.secrets = append(good[1:], last.Secret)
		r.happen(1)
		r.send(r.Service)
		if len(to.seen()) != 2 {
			r.Errorf("%q", to.seen())
		}
	})
}

// Both secrets are valid for a day, and neither is stored in plain text.
func TestRotate(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		old := r.webhook(to.URL, "app.*")
		r.pass(time.Minute)
		rotated, err := r.Rotate(r.Context(), r.caller, old.ID)
		if err != nil || rotated.Secret == old.Secret {
			r.Fatal(err)
		}
		if w, err := r.Get(r.Context(), r.caller, old.ID); err != nil || !w.UpdatedAt.Equal(r.DB.Now()) {
			r.Errorf("%+v, %v", w, err)
		}
		to.secrets = []string{old.Secret, rotated.Secret}
		r.happen(1)
		r.send(r.Service)
		r.pass(25 * time.Hour)
		to.secrets = []string{rotated.Secret}
		if err := verifyFails(r, rotated.ID, old.Secret); err != "" {
			r.Error(err)
		}
		r.happen(1)
		r.send(r.Service)
		if len(to.seen()) != 2 {
			r.Errorf("%q", to.seen())
		}
		stored, err := db.One[string](r.Context(), r.DB, nil, `SELECT secret FROM webhooks WHERE id = $1`, old.ID)
		if key := strings.TrimPrefix(rotated.Secret, "whsec_"); err != nil || strings.Contains(stored, key[:10]) {
			r.Error("it is stored as it is", err)
		}
	})
}

// Once the server has lost its secret, a webhook fails until its own secret is rotated.
func TestRotateUnderAnotherSecret(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		other := r.Service
		other.Box.Secret = "another secret for tests, not for you"
		r.happen(1)
		r.send(other)
		if d := r.deliveries(w.ID)[0]; d.Error != "internal" || len(to.seen()) > 0 {
			r.Errorf("%+v", d)
		}
		rotated, err := other.Rotate(r.Context(), r.caller, w.ID)
		if err != nil {
			r.Fatal(err)
		}
		to.secrets = []string{rotated.Secret}
		r.pass(time.Minute)
		r.send(other)
		if len(to.seen()) != 1 {
			r.Errorf("%+v", r.deliveries(w.ID))
		}
	})
}

// Failures on the server's side are logged once for each turn.
func TestFailuresOfOursAreLogged(t *testing.T) {
	each(t, func(r rig) {
		w := r.webhook(r.receiver().URL, "app.*")
		other := r.Service
		other.Box.Secret = "another secret for tests, not for you"
		r.happen(2)
		var log bytes.Buffer
		var sending sync.WaitGroup
		if err := other.look(r.Context(), slog.New(slog.NewTextHandler(&log, nil)), newSlots(), &sending); err != nil {
			r.Fatal(err)
		}
		sending.Wait()
		line := fmt.Sprintf(`msg="send events" webhook=%d error="open its secret, which may be sealed under another FOYER_SECRET: `, w.ID)
		if strings.Count(log.String(), line) != 1 {
			r.Errorf("the log is %q", log.String())
		}
	})
}

// verifyFails returns what is wrong if an old secret is still valid.
func verifyFails(r rig, id int64, secret string) string {
	w, err := findWebhook(r.Context(), r.DB, ours, id, "")
	if err != nil {
		return err.Error()
	}
	signed, err := r.sign(w, r.DB.Now(), "a.1.{}")
	if err != nil {
		return err.Error()
	}
	if h := (http.Header{"Webhook-Id": {"a"}, "Webhook-Timestamp": {"1"}, "Webhook-Signature": {signed}}); verify(secret, h, []byte("{}")) != "no signature is right" {
		return "the old secret is still good"
	}
	return ""
}

// Nothing is sent once an operator no longer allows an address: the dialer checks it at each try.
func TestAddressIsRefusedAtDelivery(t *testing.T) {
	each(t, func(r rig) {
		to := r.receiver()
		w := r.webhook(to.URL, "app.*")
		r.happen(1)
		r.send(r.server(r.DB, nil))
		if d := r.deliveries(w.ID)[0]; d.Error != "address" || d.Status != 0 || len(to.seen()) > 0 {
			r.Errorf("%+v, %q", d, to.seen())
		}
		// Sending back the whole webhook can switch it off, but not change its url to another one that is refused.
		whole := Draft{URL: patch.Of(to.URL), Events: patch.Of([]string{"app.*"}), Description: patch.Of(""), Enabled: patch.Of(false)}
		if w, err := r.server(r.DB, nil).Update(r.Context(), r.caller, w.ID, whole); err != nil || w.Enabled {
			r.Errorf("%+v, %v", w, err)
		}
		whole.URL = patch.Of(to.URL + "/other")
		if _, err := r.server(r.DB, nil).Update(r.Context(), r.caller, w.ID, whole); !fault.Is(err, fault.Invalid) {
			r.Errorf("another url: %v", err)
		}
		whole.Events = patch.Of([]string{"nope"})
		_, err := r.server(r.DB, nil).Update(r.Context(), r.caller, w.ID, whole)
		if all := fault.Of(err); len(all) != 2 {
			r.Errorf("of two faults: %v", all)
		}
	})
}

// A test goes only to its webhook, and each webhook gets what it asked for.
func TestWhatIsSentToWhom(t *testing.T) {
	each(t, func(r rig) {
		tested, sites := r.receiver(), r.receiver()
		w := r.webhook(tested.URL, "invite.*")
		r.webhook(sites.URL, "site.*", "webhook.*")
		if _, err := r.SendTest(r.Context(), r.caller, w.ID); err != nil {
			r.Fatal(err)
		}
		r.happen(1)
		e := activity.Entry{OrganizationID: ours, Scope: activity.Site, ItemID: "3", Verb: activity.Updated, Name: "Site", Data: `{"id":3}`}
		if err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error { return activity.Record(ctx, tx, e, r.DB.Now()) }); err != nil {
			r.Fatal(err)
		}
		r.number()
		r.send(r.Service)
		if len(tested.seen()) != 1 || len(sites.seen()) != 1 {
			r.Errorf("%q, %q", tested.seen(), sites.seen())
		}
		if d := r.deliveries(w.ID); len(d) != 1 || d[0].Type != Test {
			r.Errorf("%+v", d)
		}
		stranger := r.caller
		stranger.Organization = access.Organization{ID: "01981f0e-5c2b-7d34-9f7a-3b0c6f2f8a12"}
		if _, err := r.Get(r.Context(), stranger, w.ID); err == nil {
			r.Error("a stranger sees it")
		}
	})
}
