package event

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"foyer/internal/base/patch"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/upstream/egress"
)

const ours = "01981f0e-5c2b-7d34-9f7a-3b0c6f2f8a11"

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// rig is an organization with events, and a clock that the test moves.
type rig struct {
	*testing.T
	Service
	caller access.Caller
	mu     *sync.Mutex
	now    *time.Time
}

func each(t *testing.T, test func(r rig)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		now := d.Now()
		r := rig{T: t, mu: &sync.Mutex{}, now: &now, caller: access.Caller{UserID: 1, Scope: access.All, Level: access.Admin}}
		r.caller.Organization.ID = ours
		d.Now = func() time.Time {
			r.mu.Lock()
			defer r.mu.Unlock()
			return *r.now
		}
		r.Service = r.server(d, loopback)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(
				db.Exec(ctx, tx, `
					INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
					VALUES ($1, 'Acme', 9, TRUE, FALSE, '', $2)`, ours, now),
				db.Exec(ctx, tx, `
					INSERT INTO users (uuid, distinct_id, email, first_name, last_name, is_email_verified, created_at)
					VALUES ('a user', 'a user', 'ada@acme.example', '', '', TRUE, $1)`, now),
				db.Exec(ctx, tx, `
					INSERT INTO memberships (organization_id, user_id, level, joined_at, updated_at)
					SELECT $1, id, 8, $2, $2 FROM users`, ours, now))
		})
		if err != nil {
			t.Fatal(err)
		}
		test(r)
	})
}

// server returns the service as a newly started process has it.
func (r rig) server(d *db.DB, allow []netip.Prefix) Service {
	shown := func(b []byte, w Webhook) []byte { return append(b, `{"id":`+strconv.FormatInt(w.ID, 10)+`}`...) }
	return Service{
		DB: d, Client: egress.NewForWebhooks(allow), Box: seal.Box{Secret: "a secret for tests, not for you"}, Shown: shown,
	}
}

func (r rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.now = r.now.Add(d)
}

func (r rig) webhook(url string, events ...string) Webhook {
	r.Helper()
	w, err := r.Create(r.Context(), r.caller, Draft{URL: patch.Of(url), Events: patch.Of(events)})
	if err != nil {
		r.Fatal(err)
	}
	return w
}

// happen makes n events of apps and gives them their numbers.
func (r rig) happen(n int) {
	r.Helper()
	r.happenWith(n, `{"id":7,"name":"<App> & \u2028"}`)
}

// happenWith is happen with the given data.
func (r rig) happenWith(n int, data string) {
	r.Helper()
	err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
		for range n {
			e := activity.Entry{OrganizationID: ours, Scope: activity.Plugin, ItemID: "7", Verb: activity.Updated, Name: "App", Data: data}
			if err := activity.Record(ctx, tx, e, r.DB.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	r.number()
}

func (r rig) number() {
	r.Helper()
	if err := activity.NumberAll(r.Context(), r.DB); err != nil {
		r.Fatal(err)
	}
}

// send sends what is due now.
func (r rig) send(s Service) {
	r.Helper()
	var sending sync.WaitGroup
	if err := s.look(r.Context(), slog.New(slog.DiscardHandler), newSlots(), &sending); err != nil {
		r.Fatal(err)
	}
	sending.Wait()
}

func (r rig) deliveries(id int64) []Delivery {
	r.Helper()
	all, err := db.All(r.Context(), r.DB, (*Delivery).fields, `SELECT `+deliveryColumns+` FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id`, id)
	if err != nil {
		r.Fatal(err)
	}
	return all
}

// receiver is the server behind a webhook. answer answers a request; nil: with 200.
type receiver struct {
	*httptest.Server
	t       *testing.T
	secrets []string

	mu     sync.Mutex
	answer http.HandlerFunc
	events []string // ids, in the order they came
	came   chan struct{}
}

func (r rig) receiver() *receiver {
	got := &receiver{t: r.T, came: make(chan struct{}, 100_000)}
	got.Server = httptest.NewServer(got)
	r.Cleanup(got.Close)
	return got
}

func (to *receiver) set(answer http.HandlerFunc) {
	to.mu.Lock()
	defer to.mu.Unlock()
	to.answer = answer
}

func (to *receiver) answerWith(status int) {
	to.set(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

func (to *receiver) seen() []string {
	to.mu.Lock()
	defer to.mu.Unlock()
	return append([]string{}, to.events...)
}

// ServeHTTP implements http.Handler.
func (to *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	to.mu.Lock()
	answer, secrets := to.answer, to.secrets
	to.mu.Unlock()
	for _, secret := range secrets {
		if err := verify(secret, r.Header, body); err != "" {
			to.t.Errorf("%s: %s", err, body)
		}
	}
	if answer != nil {
		answer(w, r)
		return
	}
	to.mu.Lock()
	to.events = append(to.events, r.Header.Get("webhook-id"))
	to.mu.Unlock()
	to.came <- struct{}{}
}

// verify checks a request as the specification asks of a receiver, but not its time, which is from the test's clock.
func verify(secret string, h http.Header, body []byte) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < 24 || len(key) > 64 || !strings.HasPrefix(secret, "whsec_") {
		return "the secret is none"
	}
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err.Error()
	}
	if err := verifier.VerifyIgnoringTimestamp(body, h); errors.Is(err, standardwebhooks.ErrNoMatchingSignature) {
		return "no signature is right"
	} else if err != nil {
		return err.Error()
	}
	var e struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.ID != h.Get("webhook-id") || h.Get("Content-Type") != "application/json" {
		return "it is no event"
	}
	return ""
}
