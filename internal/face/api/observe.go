package api

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/base/traceparent"
	"foyer/internal/domain/access"
	"foyer/internal/face/wire"
)

// requestIDHeader carries the id of a request, which its log lines contain too.
const requestIDHeader = "X-Request-Id"

// Observe gives each request its id, logs requests that are refused or fail (the activity and the metrics have the
// others), and answers for a handler that panics.
func (a *API) Observe(next http.Handler, seen func(r *http.Request, o Outcome)) http.Handler {
	var refused throttled
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		start := a.Keys.Now()
		rec := &recorder{ResponseWriter: w, status: http.StatusOK, client: client{a, r}}
		holds := a.InFlight.Begin(&rec.client)
		defer holds.End()
		r = r.WithContext(inflight.With(ctx, holds))
		rec.Holder = wire.NewHolder(r)
		w.Header()[requestIDHeader] = []string{newRequestID(r)}
		defer func() {
			o := Outcome{rec.status, rec.Code, max(0, a.Keys.Now().Sub(start))} // the clock may step back
			seen(r, o)
			switch {
			case o.Status == http.StatusTooManyRequests:
				refused.count(ctx, a.Log)
			case o.Status >= http.StatusBadRequest:
				a.Log.LogAttrs(ctx, slog.LevelInfo, "request", append(a.about(rec, r),
					slog.Int("status", o.Status), slog.String("code", o.Code), slog.Float64("took_seconds", o.Took.Seconds()))...)
			}
		}()
		defer a.answerPanic(rec, r)
		next.ServeHTTP(rec, r)
	})
}

// Outcome is the result of a request.
type Outcome struct {
	Status int
	Code   string // of the first error; "" if the answer is no such error
	Took   time.Duration
}

// about returns the log attributes of a request: what was requested, and by whom.
func (a *API) about(w http.ResponseWriter, r *http.Request) []slog.Attr {
	about := []slog.Attr{
		slog.String("request_id", RequestID(w)), slog.String("method", loggedMethod(r)), slog.String("path", loggedPath(r)),
		slog.String("client", a.ClientAddress(r)),
	}
	if parent, ok := traceparent.Parse(r.Header.Get("Traceparent")); ok {
		about = append(about, slog.String("trace_id", parent.Trace))
	}
	rec := recorderOf(w)
	if rec.key != "" {
		about = append(about, slog.String("key", rec.key))
	}
	if rec.organization != "" {
		about = append(about, slog.String("organization", rec.organization))
	}
	return about
}

// throttled counts the requests that a limit refused. They are logged as one line per minute: a client that ignores its
// limit must not fill the disk.
type throttled struct{ n atomic.Int64 }

// throttledEvery is the time over which one log line counts refused requests.
const throttledEvery = time.Minute

func (t *throttled) count(ctx context.Context, log *slog.Logger) {
	if t.n.Add(1) > 1 {
		return // the first of the minute has scheduled the line
	}
	time.AfterFunc(throttledEvery, func() {
		log.LogAttrs(context.WithoutCancel(ctx), slog.LevelWarn, "requests refused by a limit", slog.Int64("requests", t.n.Swap(0)))
	})
}

// unknown stands for a method or path that a client made up.
const unknown = "(unknown)"

// secretive finds paths that hold, or were meant to hold, the token of an invite, of a sign-in link or of a link that
// changes an address, or a pasted key.
var secretive = regexp.MustCompile(`(?i)invite|signup|signin/|address/|foy_|fos_`)

// loggedPath returns a request's path, or its route's pattern if the path may hold a key or token, which readers of the
// log must not see. A path without a route is not logged at all: it may be a link with a typo.
func loggedPath(r *http.Request) string {
	switch {
	case r.Pattern == "" || strings.HasSuffix(r.Pattern, "/"):
		return unknown
	case secretive.MatchString(r.URL.Path):
		return r.Pattern
	}
	path := r.URL.EscapedPath() // a terminal that shows the log would obey some characters of Unicode
	if len(path) > maxLoggedPath {
		return path[:maxLoggedPath] + "…"
	}
	return path
}

// maxLoggedPath is how many bytes of a path are logged: otherwise a client could fill the disk.
const maxLoggedPath = 200

// loggedMethod returns a request's method if it is a known one: a made-up one may be a key.
func loggedMethod(r *http.Request) string {
	if wire.Known(r.Method) {
		return r.Method
	}
	return unknown
}

// RequestID returns the id of the request that w answers.
func RequestID(w http.ResponseWriter) string { return w.Header().Get(requestIDHeader) }

// newRequestID returns the id that the client sent, if it may be logged, or a random one.
func newRequestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	if fitID(id) {
		return id
	}
	return strconv.FormatUint(rand.Uint64(), 36)
}

// fitID reports whether an id may be logged. It refuses keys, which have the form of an id.
func fitID(id string) bool {
	if len(id) < 1 || len(id) > 128 || strings.Contains(strings.ToLower(id), access.KeyPrefix) {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// recorder records the status, the error code and the caller of a request.
type recorder struct {
	http.ResponseWriter
	wire.Holder
	client client

	key, organization string // of the caller, as logs show them: the key's prefix; "": none
	status            int
	begun             bool // the status has been sent
}

// client is the client of a request. Its network is computed only on demand.
type client struct {
	api     *API
	request *http.Request
}

// Network implements inflight.Client.
func (c *client) Network() string { return c.api.ClientNetwork(c.request) }

// recorderOf returns the recorder of an answer. An answer inside the program has none: it returns one that nobody
// reads.
func recorderOf(w http.ResponseWriter) *recorder {
	if rec, ok := w.(*recorder); ok {
		return rec
	}
	return &recorder{}
}

// Unwrap lets http.ResponseController flush and change deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.status, r.begun = status, true
	r.ResponseWriter.WriteHeader(status)
}
