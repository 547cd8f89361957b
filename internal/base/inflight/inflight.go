// Package inflight bounds the memory that requests in flight hold: their bodies, what is
// read for them from the database, and their answers until these are sent. Clients that are
// slow on purpose would otherwise have a server keep as much as they like.
package inflight

import (
	"context"
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"foyer/internal/base/fair"
	"foyer/internal/base/fault"
)

// Limit is how many bytes all requests may hold together. One user's hold two thirds of
// that at most, so that there is room for others.
type Limit struct {
	// Turns are for work that takes much memory for a moment: one request has its turn at a time.
	Turns *fair.Queue

	total, perUser int

	mu     sync.Mutex
	held   int
	byUser map[int64]int  // by user id; 0: whoever has no key
	shared map[string]int // how many requests share what has this key
}

// New returns a limit of so many bytes in all; 0: nil, which is none.
func New(total int) *Limit {
	if total == 0 {
		return nil
	}
	return &Limit{
		Turns: fair.New(1, math.MaxInt, "Too many large bodies are being read"),
		total: total, perUser: total / 3 * 2, byUser: map[int64]int{}, shared: map[string]int{},
	}
}

// Begin returns a request that holds nothing, of nobody yet; nil if there is no limit.
func (l *Limit) Begin() *Request {
	if l == nil {
		return nil
	}
	return &Request{limit: l}
}

var errBusy = fault.Later(fault.Busy, 2*time.Second, "Too many large requests are under way; try again in a few seconds.")

// add adds n bytes to what a user holds.
func (l *Limit) add(user int64, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addLocked(user, n)
}

func (l *Limit) addLocked(user int64, n int) {
	l.held += n
	if l.byUser[user] += n; l.byUser[user] == 0 {
		delete(l.byUser, user)
	}
}

// tryAdd is add for a request that holds own bytes already. It fails where that is too much, unless the request is alone: it
// would otherwise be refused for ever.
func (l *Limit) tryAdd(user int64, own, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tryAddLocked(user, own, n)
}

func (l *Limit) tryAddLocked(user int64, own, n int) error {
	before := l.byUser[user]
	if before+n > l.perUser && before > own || l.held+n > l.total && l.held > own {
		return errBusy
	}
	l.addLocked(user, n)
	return nil
}

// Held is how many bytes all requests hold.
func (l *Limit) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// Request is what one request holds. A nil Request is not bounded.
type Request struct {
	limit *Limit
	whole *Request // what it is a part of; nil: it is no part

	mu    sync.Mutex
	user  int64
	used  int
	held  int // used, rounded up
	ended bool
}

// step is what bytes are held in, so that small requests ask the limit once.
const step = 16 << 10

// Take holds n bytes more until the request ends, or fails with a fault of kind Busy.
func (r *Request) Take(n int) error {
	return r.grow(n, func(more int) error { return r.limit.tryAdd(r.user, r.held+r.whole.holds(), more) })
}

// Add is Take for what cannot be refused any more, since a change is made.
func (r *Request) Add(n int) {
	_ = r.grow(n, func(more int) error { r.limit.add(r.user, more); return nil })
}

// grow has hold take what n bytes more need, in steps.
func (r *Request) grow(n int, hold func(more int) error) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended { // what goes on without it is bounded otherwise
		return nil
	}
	if more := r.used + n - r.held; more > 0 {
		more = (more + step - 1) / step * step
		if err := hold(more); err != nil {
			return err
		}
		r.held += more
	}
	r.used += n
	return nil
}

// Of says whose request it is.
func (r *Request) Of(user int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit.add(r.user, -r.held)
	r.user = user
	r.limit.add(r.user, r.held)
}

// Enter waits for the request's turn; leave ends it. Of the users who wait, none holds up the others.
func (r *Request) Enter(ctx context.Context) (leave func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	r.mu.Lock()
	user := r.user
	r.mu.Unlock()
	return r.limit.Turns.Enter(ctx, strconv.FormatInt(user, 10))
}

// Part returns a request of the same user for what is given back before r ends, with its own End.
func (r *Request) Part() *Request {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Request{limit: r.limit, whole: r, user: r.user}
}

// holds is how many bytes a request holds, without its parts.
func (r *Request) holds() int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// End gives back what the request holds.
func (r *Request) End() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit.add(r.user, -r.held)
	r.held, r.used, r.ended = 0, 0, true
}

// Share holds n bytes until release is called, which count once for all requests that share
// what has this key, and are nobody's. It fails with a fault of kind Busy.
func (r *Request) Share(key string, n int) (release func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	l := r.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared[key] == 0 {
		if err := l.tryAddLocked(0, 0, n); err != nil {
			return nil, err
		}
	}
	l.shared[key]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.shared[key]--; l.shared[key] == 0 {
			delete(l.shared, key)
			l.addLocked(0, -n)
		}
	}, nil
}

type key struct{}

// With returns a context from which From gets r.
func With(ctx context.Context, r *Request) context.Context { return context.WithValue(ctx, key{}, r) }

// From is the request that a context is of; nil outside of requests.
func From(ctx context.Context) *Request {
	r, _ := ctx.Value(key{}).(*Request)
	return r
}

// InPart does what gives back what it has read as soon as it is done: a request that does so again and again would
// otherwise leave no room for others.
func InPart(ctx context.Context, do func(context.Context) error) error {
	part := From(ctx).Part()
	defer part.End()
	return do(With(ctx, part))
}

// Reader returns a reader of a body that is kept: what is read counts twice, for it is
// copied when it is understood.
func (r *Request) Reader(body io.Reader) io.Reader { return &reader{r, body} }

type reader struct {
	request *Request
	body    io.Reader
}

func (b *reader) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if busy := b.request.Take(2 * n); busy != nil {
		return 0, busy
	}
	return n, err
}
