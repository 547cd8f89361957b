package api

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/domain/access"
	"foyer/internal/face/wire"
)

// requestIDHeader carries the id of a request, which its log lines have too.
const requestIDHeader = "X-Request-Id"

// Observe gives each request its id, logs those that are refused or fail (what
// succeeds is in the activity and the metrics), and answers for a handler that
// panics.
func (a *API) Observe(next http.Handler, seen func(r *http.Request, status int, took time.Duration)) http.Handler {
	var refused throttled
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		start := a.Keys.Now()
		holds := a.InFlight.Begin()
		defer holds.End()
		r = r.WithContext(inflight.With(ctx, holds))
		rec := &recorder{ResponseWriter: w, status: http.StatusOK, Holder: wire.NewHolder(r)}
		id := requestID(r)
		w.Header()[requestIDHeader] = []string{id}
		defer func() {
			if p := recover(); p != nil {
				a.fail(rec, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}
			took := a.Keys.Now().Sub(start)
			seen(r, rec.status, took)
			switch {
			case rec.status == http.StatusTooManyRequests:
				refused.count(ctx, a.Log)
			case rec.status >= http.StatusBadRequest:
				a.Log.LogAttrs(ctx, slog.LevelInfo, "request", slog.String("request_id", id), slog.String("method", loggedMethod(r)),
					slog.String("path", loggedPath(r)), slog.Int("status", rec.status), slog.Float64("took_seconds", took.Seconds()))
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// throttled counts the requests that a limit refused. They are logged as one line a minute:
// a client that ignores its limit must not fill the disk.
type throttled struct{ n atomic.Int64 }

// throttledEvery is how long refused requests are counted for one line of the log.
const throttledEvery = time.Minute

func (t *throttled) count(ctx context.Context, log *slog.Logger) {
	if t.n.Add(1) > 1 {
		return // the first of the minute has seen to the line
	}
	time.AfterFunc(throttledEvery, func() {
		log.LogAttrs(context.WithoutCancel(ctx), slog.LevelWarn, "requests refused by a limit", slog.Int64("requests", t.n.Swap(0)))
	})
}

// unknown stands for what a client made up.
const unknown = "(unknown)"

// secretive finds paths that hold the token of an invite or of a link to sign in with, or were
// meant to, or a key that somebody pasted.
var secretive = regexp.MustCompile(`(?i)invite|signup|signin/|foy_|fos_`)

// loggedPath is a request's path, unless it may hold a key or token for whoever reads
// the log: then it is the route's. A path without a route is not logged at all: it may
// be a link with a typo in it.
func loggedPath(r *http.Request) string {
	switch {
	case r.Pattern == "" || strings.HasSuffix(r.Pattern, "/"):
		return unknown
	case secretive.MatchString(r.URL.Path):
		return r.Pattern
	case len(r.URL.Path) > maxLoggedPath:
		return r.URL.Path[:maxLoggedPath] + "…"
	}
	return r.URL.Path
}

// maxLoggedPath is how many bytes of a path are logged: a client could fill the disk.
const maxLoggedPath = 200

// loggedMethod is a request's method, unless it is made up: it may be a key.
func loggedMethod(r *http.Request) string {
	if wire.Known(r.Method) {
		return r.Method
	}
	return unknown
}

// RequestID names the request that w answers.
func RequestID(w http.ResponseWriter) string { return w.Header().Get(requestIDHeader) }

// requestID is the id that came along if it is fit to be logged, or one that is not likely
// to come again.
func requestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	if fitID(id) {
		return id
	}
	return strconv.FormatUint(rand.Uint64(), 36)
}

// fitID reports whether an id may be logged: a key must not be, whose form an id has.
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

// recorder remembers the status that was sent.
type recorder struct {
	http.ResponseWriter
	wire.Holder
	status int
}

// Unwrap is for http.ResponseController: it flushes, and changes deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}
