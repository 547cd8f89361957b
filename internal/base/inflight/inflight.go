// Package inflight limits the memory that requests in flight hold: their bodies, the data read for them from the
// database, and their responses until these are sent. Without it, clients that are slow on purpose could make a server
// hold any amount of memory.
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

// Limit is how many bytes all requests together may hold. Each kind of owner has a share that leaves room for the others.
type Limit struct {
	// Turns is the queue for work that takes much memory for a moment: one request at a time.
	Turns *fair.Queue

	total int

	mu     sync.Mutex
	held   int
	byKind [kinds]int
	by     map[owner]int
	shared map[string]*share // by key
}

// owner is the user, network or organization that bytes are counted for.
type owner struct {
	kind kind
	id   int64  // of a user
	name string // of a network, or the id of an organization
}

type kind int

const (
	users         kind = iota
	networks           // of clients without a valid key
	organizations      // whose bundles and manifests are being sent
	kinds
)

// most is how many twelfths of the limit the owners of a kind may hold: each of them, and all together. It leaves room
// for users, whatever clients without a key do.
var most = [kinds]struct{ each, all int }{users: {8, 12}, networks: {1, 3}, organizations: {4, 6}}

// share is data that several requests send.
type share struct {
	of       owner
	size     int
	requests int
}

// Client is the origin of a request.
type Client interface{ Network() string }

// New returns a limit of total bytes; 0 returns nil, which means no limit.
func New(total int) *Limit {
	if total == 0 {
		return nil
	}
	return &Limit{
		Turns: fair.New(1, math.MaxInt, "Too many large bodies are being read"),
		total: total, by: map[owner]int{}, shared: map[string]*share{},
	}
}

// Begin returns a request that holds nothing yet and counts for its network until its user is known; nil if there is no
// limit.
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

// tryAdd is add for a request that already holds own bytes. It fails if the result is over the limit, unless the request
// is the only one: it would otherwise never succeed.
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

// Held returns how many bytes all requests hold.
func (l *Limit) Held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// Request counts what one request holds. A nil Request has no limit.
type Request struct {
	limit *Limit
	whole *Request // the request that this one is a part of; nil: it is not a part
	from  Client   // nil: unknown

	mu     sync.Mutex
	user   int64 // 0: no valid key, or not known yet
	used   int
	held   int // used, rounded up
	shares []string
	ended  bool
}

// owner returns the owner that the bytes of a request are counted for.
func (r *Request) owner() owner {
	switch {
	case r.user != 0:
		return owner{kind: users, id: r.user}
	case r.from != nil:
		return owner{kind: networks, name: r.from.Network()}
	}
	return owner{kind: networks}
}

// step is the granularity of holding bytes, so that small requests ask the limit once.
const step = 16 << 10

// Take holds n more bytes until the request ends, or fails with a fault of kind Busy.
func (r *Request) Take(n int) error {
	return r.grow(n, func(more int) error { return r.limit.tryAdd(r.owner(), r.held+r.whole.holds(), more) })
}

// Add is Take for bytes that cannot be refused any more, because a change has been made.
func (r *Request) Add(n int) {
	_ = r.grow(n, func(more int) error { r.limit.add(r.owner(), more); return nil })
}

// grow makes room for n more bytes; hold gets the size in whole steps.
func (r *Request) grow(n int, hold func(more int) error) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended { // whatever continues after the end of the request has other limits
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

// Of sets the user of the request.
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

// User returns the id of the request's user; 0: there is none, or none is known yet.
func (r *Request) User() int64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.user
}

// Enter waits for the request's turn; leave ends it. Waiting users do not hold up each other.
func (r *Request) Enter(ctx context.Context) (leave func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	return r.limit.Turns.Enter(ctx, strconv.FormatInt(r.User(), 10))
}

// part returns a request of the same user with its own End, for memory that is released before r ends.
func (r *Request) part() *Request {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Request{limit: r.limit, whole: r, from: r.from, user: r.user}
}

// holds returns how many bytes a request holds, without its parts.
func (r *Request) holds() int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// End releases what the request holds.
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

// Share holds n bytes that an organization sends, until the request ends. They count once for all requests that share
// this key, and only for the organization. Less than a step does not count: a connection takes that much anyway. Share
// fails with a fault of kind Busy.
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

// From returns the request of a context; nil outside of requests.
func From(ctx context.Context) *Request {
	r, _ := ctx.Value(key{}).(*Request)
	return r
}

// Uncounted returns a context for reading data into a shared cache, which has a limit of its own: the memory does not
// count for the request that happens to need the data first.
func Uncounted(ctx context.Context) context.Context { return With(ctx, nil) }

// InPart runs do and then releases what it has read: a request that does this again and again would otherwise leave no
// room for others.
func InPart(ctx context.Context, do func(context.Context) error) error {
	part := From(ctx).part()
	defer part.End()
	return do(With(ctx, part))
}

// Reader returns a reader of a body that is kept in memory. Each byte counts twice, because decoding copies it. If that
// is over the limit, the request ends, and nothing of its body is kept.
func (r *Request) Reader(body io.Reader) io.Reader { return &reader{r, body} }

type reader struct {
	request *Request
	body    io.Reader
}

func (b *reader) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if busy := b.request.Take(2 * n); busy != nil {
		b.request.End() // the rest may take long to arrive, and is thrown away
		return 0, busy
	}
	return n, err
}
