//go:build drill

package drill

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	api "foyer/client"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
)

// receiver is a server that receives events. status returns its answer to the n-th delivery of an event, counted from 0.
type receiver struct {
	*httptest.Server
	status func(id string, n int) int

	mu     sync.Mutex
	secret string
	tries  map[string]int
	taken  map[string]bool
	late   []time.Duration
	wrong  []string
}

func newReceiver(t *testing.T, status func(id string, n int) int) *receiver {
	t.Helper()
	to := &receiver{status: status, tries: map[string]int{}, taken: map[string]bool{}}
	to.Server = httptest.NewServer(to)
	t.Cleanup(to.Close)
	return to
}

// ServeHTTP implements http.Handler: it verifies deliveries as receivers do.
func (to *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var e api.Event
	err = json.Unmarshal(body, &e)
	to.mu.Lock()
	verifier, unusable := standardwebhooks.NewWebhook(to.secret)
	if err == nil {
		err = unusable
	}
	if err == nil {
		err = verifier.Verify(body, r.Header)
	}
	if err != nil || e.ID != r.Header.Get("webhook-id") {
		to.wrong = append(to.wrong, fmt.Sprintf("%s: %v", body, err))
	}
	n := to.tries[e.ID]
	to.tries[e.ID]++
	to.mu.Unlock()
	status := to.status(e.ID, n)
	if status == http.StatusOK {
		to.mu.Lock()
		to.taken[e.ID] = true
		to.late = append(to.late, time.Since(e.Timestamp))
		to.mu.Unlock()
	}
	w.WriteHeader(status)
}

// subscribe makes the receiver's webhook. Deliveries wait until the secret is known.
func (to *receiver) subscribe(t *testing.T, o *api.Organization) {
	t.Helper()
	to.mu.Lock()
	defer to.mu.Unlock()
	made, err := o.CreateWebhook(t.Context(), api.WebhookPatch{URL: &to.URL, Events: []string{"app.*", "invite.*"}})
	if to.secret = made.Secret; err != nil {
		t.Fatal(err)
	}
}

// sending starts two servers on PostgreSQL that send events to receivers on this machine.
func sending(t *testing.T) (*fleet, *api.Organization) {
	t.Helper()
	f := prepare(t, right(), dbtest.Empty(t), t.TempDir(), access.NewKey(), 2)
	f.env = append(f.env, "FOYER_WEBHOOK_ALLOW=127.0.0.0/8")
	f.start(t, 0)
	f.start(t, 1)
	c, err := api.New(f.at(0), f.key)
	if err != nil {
		t.Fatal(err)
	}
	return f, c.Organization(api.Current)
}

// lacks counts the events that did not arrive.
func (to *receiver) lacks(events []string) (n int) {
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, id := range events {
		if !to.taken[id] {
			n++
		}
	}
	return n
}

func fine(string, int) int { return http.StatusOK }

// Each event arrives at least once, signed, at a receiver that works and at one that fails at first, while other
// receivers hang, are down or are gone, and servers are killed.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	f, o := sending(t)
	ends := make(chan struct{})
	good := newReceiver(t, fine)
	failing := newReceiver(t, func(id string, n int) int {
		if n == 0 && strings.ContainsAny(id[len(id)-1:], "01234") {
			return http.StatusInternalServerError
		}
		return http.StatusOK
	})
	hanging := newReceiver(t, func(string, int) int { <-ends; return http.StatusOK })
	t.Cleanup(func() { close(ends) }) // before its server is closed
	gone := newReceiver(t, func(string, int) int { return http.StatusGone })
	down := newReceiver(t, fine)
	down.Close()
	for _, to := range []*receiver{hanging, down, gone, good, failing} {
		to.subscribe(t, o)
	}
	l := f.load()
	end := l.start()
	defer end()
	if long {
		measureLateness(t, l, good)
	}
	for round := range times(2, 20) {
		l.await(t, done, 100)
		f.kill(round % 2)
		f.start(t, round%2)
	}
	end()
	events := f.events(t, o)
	for name, to := range map[string]*receiver{"one that is fine": good, "one that fails at first": failing} {
		eventually(t, fmt.Sprintf("%d events come to %s", len(events), name), func() bool { return to.lacks(events) == 0 })
		to.mu.Lock()
		for _, wrong := range to.wrong {
			t.Errorf("%s: %s", name, wrong)
		}
		to.mu.Unlock()
	}
	eventually(t, "the one that is gone is switched off", func() bool {
		w, err := o.GetWebhook(t.Context(), 3)
		return err == nil && !w.Enabled && strings.Contains(w.DisabledReason, "410")
	})
}

// events returns the ids of all events, once each entry has its number.
func (f *fleet) events(t *testing.T, o *api.Organization) (ids []string) {
	t.Helper()
	want := 0
	for _, e := range f.activity(t) {
		if e.Scope == scopes["app"] || e.Scope == scopes["invite"] && e.Verb != "updated" { // showing a link is no event
			want++
		}
	}
	eventually(t, fmt.Sprintf("there are %d events", want), func() bool {
		ids = nil
		for after := int64(0); ; {
			found, err := o.ListEvents(t.Context(), api.EventRange{After: after, Limit: 1000})
			if err != nil {
				return false
			}
			for _, e := range found.Results {
				if strings.HasPrefix(e.Type, "app.") || strings.HasPrefix(e.Type, "invite.") {
					ids = append(ids, e.ID)
				}
			}
			if len(found.Results) == 0 || found.Next == after {
				return len(ids) == want
			}
			after = found.Next
		}
	})
	return ids
}

// measureLateness makes 10,000 events in a minute, and fails if they arrive late.
func measureLateness(t *testing.T, l *load, to *receiver) {
	t.Helper()
	const events, slowest = 10_000, 5 * time.Second
	began := time.Now()
	l.await(t, done, events)
	took := time.Since(began)
	to.mu.Lock()
	defer to.mu.Unlock()
	slices.Sort(to.late)
	p50, p99 := to.late[len(to.late)/2], to.late[len(to.late)*99/100]
	t.Logf("%d changes in %s; %d events came, half of them within %s, 99 of 100 within %s", events, took.Round(time.Second), len(to.late), p50, p99)
	if took > time.Minute {
		t.Logf("this machine makes fewer than %d changes in a minute", events)
	}
	if p99 > slowest {
		t.Errorf("events come after %s", p99)
	}
}
