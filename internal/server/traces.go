package server

import (
	"net/http"
	"os"
	"time"

	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/infra/trace"
)

// Tracer is what the OTEL_ variables ask for; nil: nothing.
func Tracer(version string) (*trace.Tracer, error) {
	return trace.New(os.Getenv, version, time.Now) //nolint:forbidigo // the variables are OpenTelemetry's; spans say what time it is
}

// traced records a span for each request. What a request is called is known when it was answered,
// which withSpan tells.
func traced(t *trace.Tracer, h http.Handler) http.Handler {
	if t == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := t.Continue(r.Context(), r.Header.Get("Traceparent"), "request", trace.Server)
		defer span.End()
		if parent := span.Parent(); parent != "" {
			r.Header.Set("Traceparent", parent) // of a trace that begins here, too, the log names the id
		}
		h.ServeHTTP(w, r.WithContext(ctx))
		span.Set("foyer.request_id", api.RequestID(w))
	})
}

// withSpan notes what came of a request in its span: its route, not its path, which may hold a token.
func withSpan(next func(*http.Request, api.Outcome)) func(*http.Request, api.Outcome) {
	return func(r *http.Request, o api.Outcome) {
		next(r, o)
		span := trace.From(r.Context())
		if span == nil {
			return
		}
		if wire.Known(r.Method) {
			span.Rename(r.Method + " " + r.Pattern)
			span.Set("http.request.method", r.Method)
		}
		span.Set("http.route", r.Pattern)
		span.Set("http.response.status_code", o.Status)
		if o.Status >= http.StatusInternalServerError {
			span.Fail(o.Code)
		}
	}
}
