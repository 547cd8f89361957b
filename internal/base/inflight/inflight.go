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

// Limit is how many bytes all requests may hold together. What a kind of owner holds leaves room for the others.
type Limit struct {
	// Turns are for work that takes much memory for a moment: one request has its turn at a time.
	Turns *fair.Queue

	total int

	mu     sync.Mutex
	held   int
	byKind [kinds]int
	by     map[owner]int
	shared map[string]*share // by key
}

// owner is whose the bytes are.
type owner struct {
	kind kind
	id   int64  // of a user
	name string // of a network, or the id of an organization
}

type kind int

const (
	users         kind = iota
	networks           // of those who have no valid key
	organizations      // whose bundles and manifests are being sent
	kinds
)

// most is how many twelfths of the limit those of a kind may hold: each of them, and all together. So there is room for
// users whatever clients without a key do.
var most = [kinds]struct{ each, all int }{users: {8, 12}, networks: {1, 3}, organizations: {4, 6}}

// share is what several requests send.
type share struct {
	of       owner
	size     int
	requests int
}

// Client is where a request comes from.
type Client interface{ Network() string }

// New returns a limit of so many bytes in all; 0: nil, which is none.
func New(total int) *Limit {
	if total == 0 {
		return nil
	}
	return &Limit{
		Turns: fair.New(1, math.MaxInt, "Too many large bodies are being read"),
		total: total, by: map[owner]int{}, shared: map[string]*share{},
	}
}

// Begin returns a request that holds nothing, of nobody but the network it comes from yet; nil if there is no limit.
func (l *Limit) Begin(from Client) *Request {
	if l == nil {
		return nil
	}
	return &Request{limit: l, from: from}
}

var errBusy = fault.Later(fault.Busy, 2*time.Second, "Too many large requests are under way; try again in a few seconds.")

// add adds n bytes to what an owner holds.
func (l *Limit) add(of owner, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addLocked(of, n)
}

func (l *Limit) addLocked(of owner, n int) {
	l.held += n
	l.byKind[of.kind] += n
	if l.by[of] += n; l.by[of] == 0 {
		delete(l.by, of)
	}
}

// tryAdd is add for a request that holds own bytes already. It fails where that is too much, unless the request is alone: it
// would otherwise be refused for ever.
func (l *Limit) tryAdd(of owner, own, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tryAddLocked(of, own, n)
}

func (l *Limit) tryAddLocked(of owner, own, n int) error {
	m, twelfth := most[of.kind], l.total/12
	tooMuch := func(held, most int) bool { return held+n > most && held > own }
	if tooMuch(l.by[of], m.each*twelfth) || tooMuch(l.byKind[of.kind], m.all*twelfth) || tooMuch(l.held, l.total) {
		return errBusy
	}
	l.addLocked(of, n)
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
	from  Client   // nil: unknown

	mu     sync.Mutex
	user   int64 // 0: it has no valid key, or that is not known yet
	used   int
	held   int // used, rounded up
	shares []string
	ended  bool
}

// owner is whose the bytes of a request are.
func (r *Request) owner() owner {
	switch {
	case r.user != 0:
		return owner{kind: users, id: r.user}
	case r.from != nil:
		return owner{kind: networks, name: r.from.Network()}
	}
	return owner{kind: networks}
}

// step is what bytes are held in, so that small requests ask the limit once.
const step = 16 << 10

// Take holds n bytes more until the request ends, or fails with a fault of kind Busy.
func (r *Request) Take(n int) error {
	return r.grow(n, func(more int) error { return r.limit.tryAdd(r.owner(), r.held+r.whole.holds(), more) })
}

// Add is Take for what cannot be refused any more, since a change is made.
func (r *Request) Add(n int) {
	_ = r.grow(n, func(more int) error { r.limit.add(r.owner(), more); return nil })
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

// Of says which user's request it is.
func (r *Request) Of(userID int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held > 0 {
		r.limit.add(r.owner(), -r.held)
		r.limit.add(owner{kind: users, id: userID}, r.held)
	}
	r.user = userID
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
	return &Request{limit: r.limit, whole: r, from: r.from, user: r.user}
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
	if r.held > 0 {
		r.limit.add(r.owner(), -r.held)
	}
	for _, key := range r.shares {
		r.limit.unshare(key)
	}
	r.held, r.used, r.shares, r.ended = 0, 0, nil, true
}

// Share holds the n bytes of what an organization has sent until the request ends. They count once for all requests that
// share what has this key, and as nobody's but the organization's; less than a step, which a connection takes
// anyway, counts nothing. It fails with a fault of kind Busy.
func (r *Request) Share(organizationID, key string, n int) error {
	if r == nil || n < step {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	if err := r.limit.share(owner{kind: organizations, name: organizationID}, key, n); err != nil {
		return err
	}
	r.shares = append(r.shares, key)
	return nil
}

func (l *Limit) share(of owner, key string, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.shared[key]
	if s == nil {
		if err := l.tryAddLocked(of, 0, n); err != nil {
			return err
		}
		s = &share{of: of, size: n}
		l.shared[key] = s
	}
	s.requests++
	return nil
}

func (l *Limit) unshare(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.shared[key]
	if s.requests--; s.requests == 0 {
		delete(l.shared, key)
		l.addLocked(s.of, -s.size)
	}
}

type key struct{}

// With returns a context from which From gets r.
func With(ctx context.Context, r *Request) context.Context { return context.WithValue(ctx, key{}, r) }

// From is the request that a context is of; nil outside of requests.
func From(ctx context.Context) *Request {
	r, _ := ctx.Value(key{}).(*Request)
	return r
}

// Uncounted returns a context for reading what is kept for all, in a cache with a bound of its own: it is not of the request
// that happens to need it first.
func Uncounted(ctx context.Context) context.Context { return With(ctx, nil) }

// InPart does what gives back what it has read as soon as it is done: a request that does so again and again would
// otherwise leave no room for others.
func InPart(ctx context.Context, do func(context.Context) error) error {
	part := From(ctx).Part()
	defer part.End()
	return do(With(ctx, part))
}

// Reader returns a reader of a body that is kept: what is read counts twice, for it is
// copied when it is understood. Where that is too much, the request ends: nothing of its body is kept.
func (r *Request) Reader(body io.Reader) io.Reader { return &reader{r, body} }

type reader struct {
	request *Request
	body    io.Reader
}

func (b *reader) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if busy := b.request.Take(2 * n); busy != nil {
		b.request.End() // the rest may be long in coming, and is thrown away
		return 0, busy
	}
	return n, err
}
