package api

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"foyer/internal/base/fault"
)

// limiter lets each key make perMinute requests per minute. A key that was idle may make them all at once.
type limiter[K comparable] struct {
	perMinute int
	policy    []string // the header's values

	mu      sync.Mutex
	buckets map[K]*rate.Limiter
	swept   time.Time
}

func newLimiter[K comparable](perMinute int) *limiter[K] {
	return &limiter[K]{
		perMinute: perMinute,
		policy:    []string{fmt.Sprintf(`"default";q=%d;w=60`, perMinute)},
		buckets:   map[K]*rate.Limiter{},
	}
}

// allow counts one request and reports whether it is within the limit.
func (l *limiter[K]) allow(key K, now time.Time) bool { return l.bucket(key, now).AllowN(now, 1) }

// take counts one request, refuses it if it exceeds the limit, and sets headers that tell how many are left
// (draft-ietf-httpapi-ratelimit-headers).
func (l *limiter[K]) take(w http.ResponseWriter, key K, now time.Time) error {
	return l.answer(w, key, now, func(b *rate.Limiter) bool { return b.AllowN(now, 1) })
}

// check is take without counting the request.
func (l *limiter[K]) check(w http.ResponseWriter, key K, now time.Time) error {
	return l.answer(w, key, now, func(b *rate.Limiter) bool { return b.TokensAt(now) >= 1 })
}

func (l *limiter[K]) answer(w http.ResponseWriter, key K, now time.Time, allow func(*rate.Limiter) bool) error {
	if l.perMinute == 0 {
		return nil
	}
	bucket := l.bucket(key, now)
	allowed := allow(bucket)
	left := bucket.TokensAt(now)
	perSecond := float64(bucket.Limit())
	full := time.Duration((float64(l.perMinute) - left) / perSecond * float64(time.Second))
	h := w.Header() // with canonical names, as Set would write them
	h["Ratelimit-Policy"] = l.policy
	h["Ratelimit"] = []string{`"default";r=` + strconv.Itoa(max(0, int(left))) + `;t=` + strconv.Itoa(int(math.Ceil(full.Seconds())))}
	if allowed {
		return nil
	}
	wait := max(1, time.Duration((1-left)/perSecond*float64(time.Second))) // with 0 there would be no Retry-After
	return fault.Later(fault.Throttled, wait, "At most %d requests a minute: try again later.", l.perMinute)
}

func (l *limiter[K]) bucket(key K, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.swept).Abs() > time.Minute { // the clock may step back
		l.swept = now
		for k, b := range l.buckets {
			if b.TokensAt(now) >= float64(l.perMinute) {
				delete(l.buckets, k)
			}
		}
	}
	b := l.buckets[key]
	if b == nil {
		b = rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.perMinute)
		l.buckets[key] = b
	}
	return b
}

// streamCount counts the open streams of each user.
type streamCount struct {
	mu    sync.Mutex
	taken map[int64]int
}

// enter counts another stream of a user until leave is called.
func (s *streamCount) enter(userID int64) (leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[userID] == maxStreams {
		return nil, fault.Later(fault.Throttled, recheckEvery, "At most %d streams at a time: wait for one to end.", maxStreams)
	}
	s.taken[userID]++
	return func() { s.leave(userID) }, nil
}

func (s *streamCount) leave(userID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[userID]--; s.taken[userID] == 0 {
		delete(s.taken, userID)
	}
}

// thisMachine stands for a peer without an address: a unix socket or the console.
var thisMachine = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// peerAddress returns the remote address of a request's connection.
func peerAddress(r *http.Request) netip.Addr {
	if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return peer.Addr().Unmap()
	}
	return thisMachine
}

// clientAddress returns the address of a request's client: the peer or, if that is a trusted proxy, the last address in
// X-Forwarded-For that is not one.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	addr := peerAddress(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && isTrusted(addr, trusted); i-- {
		hop := strings.TrimSpace(hops[i])
		next, err := netip.ParseAddr(hop)
		if err != nil { // some proxies add the port
			withPort, err := netip.ParseAddrPort(hop)
			if err != nil {
				break
			}
			next = withPort.Addr()
		}
		addr = next.Unmap()
	}
	return addr.WithZone("") // a client may have forged the zone
}

// network returns the unit that limits count: an IPv4 address, or the /64 of an IPv6 address, which belongs to one
// client.
func network(addr netip.Addr) string {
	if addr.Is6() {
		return netip.PrefixFrom(addr, 64).Masked().String()
	}
	return addr.String()
}

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}
