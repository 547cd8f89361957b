package access

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"foyer/internal/base/digest"
	"foyer/internal/base/fault"
	"foyer/internal/infra/db"
)

const (
	// keepAnswers is how long a client can get the answer to a request again.
	keepAnswers = 24 * time.Hour
	// answerLease is how long a server's claim on a request lasts unless it is renewed. A server that loses it may be
	// overtaken, and then stores nothing.
	answerLease = 30 * time.Second
	// renewEvery is how often the lease of a long request is renewed.
	renewEvery = answerLease / 3
	// maxAhead is how far in the future a lease may end. If it is further, the clock has stepped back since. Servers'
	// clocks may differ by some seconds.
	maxAhead = 2 * answerLease
)

// Answer is the answer to a request that was carried out.
type Answer struct {
	Status int
	ETag   string
	Body   string // "": it was too large, see Item, or showed a secret or an erased person
	Item   string // the id of the object that was answered; "": it has none
}

// Claim is the right to carry out a request that has an Idempotency-Key: only one attempt has it at a time.
type Claim struct {
	keys    *Keys
	caller  Caller
	name    string // hash of the Idempotency-Key
	attempt int64  // a random number: an overtaken attempt finds another one, even if its row was deleted and inserted again
	answer  func(object any) Answer
}

var errOtherRequest = fault.New(fault.IdempotencyMismatch, "The Idempotency-Key was sent with another request before: take a new one for each.")

// inProgress refuses a request while another one with its Idempotency-Key is being carried out.
func inProgress(retryAfter time.Duration) error {
	return fault.Later(fault.IdempotencyInProgress, retryAfter, "The request with this Idempotency-Key is still in progress.")
}

// Claim returns the right to carry out a request and, if it was carried out already, the answer. KeepAnswer calls
// answer for the answer that shows an object. A client that disconnects does not stop it: PostgreSQL might store a claim
// of which nobody here knows, and retries would have to wait until its lease ends.
func (k *Keys) Claim(ctx context.Context, c Caller, name, fingerprint string, answer func(object any) Answer) (*Claim, *Answer, error) {
	claim := &Claim{keys: k, caller: c, name: digest.SHA256(name), attempt: rand.Int64(), answer: answer}
	var kept *Answer
	err := k.DB.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *db.Tx) (err error) {
		kept = nil
		now := k.DB.Now()
		if made, err := insertRequest(ctx, tx, claim, fingerprint, now); err != nil || made {
			return err
		}
		r, err := findRequest(ctx, tx, claim)
		if errors.Is(err, db.ErrNoRow) { // given up just now
			return inProgress(time.Second)
		}
		if err != nil {
			return err
		}
		expired, ahead := now.Sub(r.createdAt) > keepAnswers, r.leaseEnds.Sub(now)
		switch {
		case !expired && r.fingerprint != fingerprint:
			return errOtherRequest
		case !expired && r.Status != 0:
			kept = &r.Answer
			return nil
		case ahead > 0 && ahead <= maxAhead:
			return inProgress(min(ahead, time.Second))
		}
		createdAt := r.createdAt
		if expired { // the row is taken for a new request
			createdAt = now
		}
		return takeRequest(ctx, tx, claim, fingerprint, createdAt, now)
	})
	return claim, kept, err
}

// Renew renews the lease again and again, until the function that it returns is called.
func (c *Claim) Renew(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the client may disconnect
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(cmp.Or(c.keys.renew, renewEvery))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = c.renew(ctx) // the next one may succeed; without the lease, nothing is stored
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

func (c *Claim) renew(ctx context.Context) error {
	now := c.keys.DB.Now()
	return c.keys.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return renewRequest(ctx, tx, c, now) })
}

type claimed struct{}

// With returns the context in which the claimed request is carried out.
func (c *Claim) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, claimed{}, c)
}

// KeepAnswer stores the answer that shows an object, in the transaction that has made or changed the object. It does so
// only for requests with an Idempotency-Key; the last call counts.
func KeepAnswer[T any](ctx context.Context, tx *db.Tx, object T) error {
	c, ok := ctx.Value(claimed{}).(*Claim)
	if !ok {
		return nil
	}
	n, err := updateAnswer(ctx, tx, c, c.answer(object))
	if err == nil && n == 0 {
		return inProgress(time.Second)
	}
	return err
}

// KeepSecret is KeepAnswer for an answer that shows a secret: it is not kept.
func KeepSecret(ctx context.Context, tx *db.Tx) error { return KeepAnswer[any](ctx, tx, nil) }

// Done keeps the answer of an operation that has changed nothing, or whose transaction has not kept it.
func (c *Claim) Done(ctx context.Context, a Answer) error {
	return c.keys.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return finishRequest(ctx, tx, c, a) })
}

// GiveUp lets the request be carried out again, unless it was carried out.
func (c *Claim) GiveUp(ctx context.Context) error {
	return c.keys.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return deleteRequest(ctx, tx, c) })
}
