package event

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/precondition"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
	"foyer/internal/infra/trace"
	"foyer/internal/infra/upstream/egress"
)

// Service lists events, manages webhooks and sends events to them.
type Service struct {
	DB     *db.DB
	Client *egress.Client // sends events
	Box    seal.Box       // seals secrets
	Tracer *trace.Tracer  // of tries; nil: nothing is traced
	// Shown appends a webhook as the API shows it, for events.
	Shown func([]byte, Webhook) []byte

	timeout time.Duration // of a try; 0: timeLimit
}

const (
	// oldSecretGood is how long a replaced secret still signs.
	oldSecretGood = 24 * time.Hour
	// maxOldSecrets bounds the signatures that an event is sent with.
	maxOldSecrets = 10
)

// newSecret gives a webhook a secret, as the Standard Webhooks specification defines.
func (s Service) newSecret(w *Webhook) (err error) {
	var key [32]byte
	rand.Read(key[:]) // never fails
	w.Secret = "whsec_" + base64.StdEncoding.EncodeToString(key[:])
	w.sealed, err = s.Box.Seal(key[:], []byte(w.OrganizationID))
	return err
}

// Create makes a webhook for events from now on.
func (s Service) Create(ctx context.Context, c access.Caller, d Draft) (Webhook, error) {
	if err := MaySee(c); err != nil {
		return Webhook{}, err
	}
	if err := d.checkNew(s.Client.Refused); err != nil {
		return Webhook{}, err
	}
	now := s.DB.Now()
	w := Webhook{OrganizationID: c.Organization.ID, Enabled: true, CreatedAt: now, UpdatedAt: now}
	if err := d.apply(&w); err != nil {
		return Webhook{}, err
	}
	if err := s.newSecret(&w); err != nil {
		return Webhook{}, err
	}
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.add(ctx, tx, c, &w) })
	return w, err
}

// add stores a new webhook and sets its id, unless the organization has too many.
func (s Service) add(ctx context.Context, tx *db.Tx, c access.Caller, w *Webhook) error {
	db.Lock(tx, "webhooks of "+c.Organization.ID)
	n, err := count(ctx, tx, c.Organization.ID) // the query waits for the lock
	if err != nil {
		return err
	}
	if c, err = access.ConfirmCached(ctx, tx, c, s.DB.Now(), MaySee); err != nil {
		return err
	}
	if n >= maxWebhooks {
		return fault.New(fault.Invalid, "An organization has at most %d webhooks: delete one first.", maxWebhooks)
	}
	head, err := activity.HeadOf(ctx, tx, c.Organization.ID)
	if err != nil {
		return err
	}
	w.position = head.Number
	if w.ID, err = insert(ctx, tx, *w); err != nil {
		return access.OrChanged(err)
	}
	if err := access.KeepSecret(ctx, tx); err != nil {
		return err
	}
	return s.record(ctx, tx, c, *w, activity.Created, nil)
}

// Get returns one webhook.
func (s Service) Get(ctx context.Context, c access.Caller, id int64) (Webhook, error) {
	if err := MaySee(c); err != nil {
		return Webhook{}, err
	}
	w, err := findWebhook(ctx, s.DB, c.Organization.ID, id, "")
	return w, access.OrNotFound(err)
}

// List returns a page of the organization's webhooks, in the order they were made.
func (s Service) List(ctx context.Context, c access.Caller, p page.Page) (page.Found[Webhook], error) {
	if err := MaySee(c); err != nil {
		return page.Found[Webhook]{}, err
	}
	return queries.Page(ctx, s.DB, p,
		func(ctx context.Context, q db.Querier) (int, error) { return count(ctx, q, c.Organization.ID) },
		func(ctx context.Context, q db.Querier) ([]Webhook, error) { return list(ctx, q, c.Organization.ID, p) })
}

// change locks a webhook of the caller's organization and has fn change it.
func (s Service) change(ctx context.Context, c access.Caller, id int64, fn func(context.Context, *db.Tx, *Webhook) error) (w Webhook, err error) {
	if err := MaySee(c); err != nil {
		return Webhook{}, err
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if w, err = findWebhook(ctx, tx, c.Organization.ID, id, " FOR UPDATE"); err != nil {
			return access.OrNotFound(err)
		}
		if _, err := access.ConfirmCached(ctx, tx, c, s.DB.Now(), MaySee); err != nil {
			return err
		}
		if err := precondition.Check(ctx, w); err != nil {
			return err
		}
		return fn(ctx, tx, &w)
	})
	return w, err
}

// Update changes the fields that the draft names. A webhook that is switched on again gets events from now on. Its
// present url is not refused, so that a client can send back a whole webhook as it was read.
func (s Service) Update(ctx context.Context, c access.Caller, id int64, d Draft) (Webhook, error) {
	anyURL := func(*url.URL) error { return nil }
	w, err := s.change(ctx, c, id, func(ctx context.Context, tx *db.Tx, w *Webhook) (err error) {
		before, refused := *w, s.Client.Refused
		if d.URL.Value == w.URL {
			refused = anyURL
		}
		if err := d.check(refused); err != nil {
			return err
		}
		if err := d.apply(w); err != nil {
			return err
		}
		changes := difference(before, *w)
		if len(changes) == 0 {
			return nil
		}
		if err := s.save(ctx, tx, before, w); err != nil {
			return err
		}
		if err := access.KeepAnswer(ctx, tx, *w); err != nil {
			return err
		}
		return s.record(ctx, tx, c, *w, activity.Updated, changes)
	})
	if fault.Is(err, fault.NotFound) {
		err = cmp.Or(d.check(anyURL), err) // what is wrong by itself is told first
	}
	return w, err
}

// save stores a webhook that was changed.
func (s Service) save(ctx context.Context, tx *db.Tx, before Webhook, w *Webhook) error {
	if w.URL != before.URL {
		w.failingSince = time.Time{} // another receiver failed
	}
	if w.Enabled != before.Enabled {
		if err := s.switched(ctx, tx, w); err != nil {
			return err
		}
	}
	w.UpdatedAt = s.DB.Now()
	return update(ctx, tx, *w)
}

// switched sets up a webhook that was switched on or off: it goes on after the newest entry and, if it is off, its due
// deliveries end.
func (s Service) switched(ctx context.Context, tx *db.Tx, w *Webhook) error {
	w.DisabledReason, w.failingSince = "", time.Time{}
	head, err := activity.HeadOf(ctx, tx, w.OrganizationID)
	if err != nil {
		return err
	}
	if w.position = head.Number; w.Enabled {
		return nil
	}
	return failPending(ctx, tx, *w)
}

func difference(a, b Webhook) (changes []activity.Change) {
	add := func(field string, before, after any) {
		changes = append(changes, activity.Changed(field, before, after))
	}
	if a.URL != b.URL {
		add("url", a.URL, b.URL)
	}
	if !slices.Equal(a.Events, b.Events) {
		add("events", a.Events, b.Events)
	}
	if a.Description != b.Description {
		add("description", a.Description, b.Description)
	}
	if a.Enabled != b.Enabled {
		add("enabled", a.Enabled, b.Enabled)
	}
	return changes
}

// Delete removes a webhook and its deliveries.
func (s Service) Delete(ctx context.Context, c access.Caller, id int64) error {
	_, err := s.change(ctx, c, id, func(ctx context.Context, tx *db.Tx, w *Webhook) error {
		if err := remove(ctx, tx, w.OrganizationID, w.ID); err != nil {
			return err
		}
		return s.record(ctx, tx, c, *w, activity.Deleted, nil)
	})
	return err
}

// Rotate gives a webhook a new secret. The old secret still signs for 24 hours, however often the secret is rotated.
func (s Service) Rotate(ctx context.Context, c access.Caller, id int64) (Webhook, error) {
	return s.change(ctx, c, id, func(ctx context.Context, tx *db.Tx, w *Webhook) error {
		now := s.DB.Now()
		w.UpdatedAt = now
		w.oldSecrets = slices.DeleteFunc(w.oldSecrets, func(old oldSecret) bool { return !now.Before(old.Until) })
		if len(w.oldSecrets) >= maxOldSecrets {
			return fault.Later(fault.Throttled, w.oldSecrets[0].Until.Sub(now), "A webhook has at most %d valid old secrets: wait until one expires.", maxOldSecrets)
		}
		w.oldSecrets = append(w.oldSecrets, oldSecret{w.sealed, now.Add(oldSecretGood)})
		if err := s.newSecret(w); err != nil {
			return err
		}
		if err := update(ctx, tx, *w); err != nil {
			return err
		}
		if err := access.KeepSecret(ctx, tx); err != nil {
			return err
		}
		return s.record(ctx, tx, c, *w, activity.Rotated, nil)
	})
}

// SendTest sends a test event to a webhook.
func (s Service) SendTest(ctx context.Context, c access.Caller, id int64) (Webhook, error) {
	return s.change(ctx, c, id, func(ctx context.Context, tx *db.Tx, w *Webhook) error {
		if err := w.whyNotSent(); err != nil {
			return err
		}
		if err := access.KeepAnswer(ctx, tx, *w); err != nil {
			return err
		}
		return s.record(ctx, tx, c, *w, activity.Tested, nil)
	})
}

// Deliveries returns a page of a webhook's deliveries, the newest first.
func (s Service) Deliveries(ctx context.Context, c access.Caller, id int64, p page.Page) (found page.Found[Delivery], err error) {
	if err := MaySee(c); err != nil {
		return found, err
	}
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		w, err := findWebhook(ctx, q, c.Organization.ID, id, "")
		if err != nil {
			return access.OrNotFound(err)
		}
		found, err = queries.Page(ctx, q, p,
			func(ctx context.Context, q db.Querier) (int, error) { return countDeliveries(ctx, q, w) },
			func(ctx context.Context, q db.Querier) ([]Delivery, error) { return listDeliveries(ctx, q, w, p) })
		return err
	})
	return found, err
}

// Redeliver sends an event to a webhook again, with as many tries as a new event gets.
func (s Service) Redeliver(ctx context.Context, c access.Caller, id, deliveryID int64) (d Delivery, err error) {
	_, err = s.change(ctx, c, id, func(ctx context.Context, tx *db.Tx, w *Webhook) error {
		if d, err = lockDelivery(ctx, tx, *w, deliveryID); err != nil {
			return access.OrNotFound(err)
		}
		if err := w.whyNotSent(); err != nil {
			return err
		}
		if _, err := find(ctx, tx, w.OrganizationID, d.Sequence); err != nil {
			return err
		}
		d.State, d.Attempts, d.DueAt, d.wasDue = Pending, 0, s.DB.Now(), d.DueAt
		if err := access.KeepAnswer(ctx, tx, d); err != nil {
			return err
		}
		return updateDelivery(ctx, tx, d)
	})
	return d, err
}

// record writes an entry. The entry of a test includes the webhook, which its event shows.
func (s Service) record(ctx context.Context, tx *db.Tx, c access.Caller, w Webhook, verb activity.Verb, changes []activity.Change) error {
	e := activity.Entry{
		OrganizationID: w.OrganizationID, Scope: activity.Webhook, ItemID: strconv.FormatInt(w.ID, 10), Verb: verb, Name: w.URL, Changes: changes,
	}
	if verb == activity.Tested {
		w.Secret = ""
		e.Data = string(s.Shown(nil, w))
	}
	return activity.Record(ctx, tx, c.Did(e), s.DB.Now())
}
