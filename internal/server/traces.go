package server

import (
	"net/http"
	"os"
	"time"

	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/infra/trace"
)

// Tracer returns the tracer that the OTEL_ variables configure; nil: none.
func Tracer(version string) (*trace.Tracer, error) {
	return trace.New(os.Getenv, version, time.Now) //nolint:forbidigo // the variables are OpenTelemetry's; spans say what time it is
}

// traced records a span for each request. withSpan sets its name after the answer, when the route is known.
func traced(t *trace.Tracer, h http.Handler) http.Handler {
	if t == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := t.Continue(r.Context(), r.Header.Get("Traceparent"), "request", trace.Server)
		defer span.End()
		if parent := span.Parent(); parent != "" {
			r.Header.Set("Traceparent", parent) // so that the log has the id of a trace that starts here, too
		}
		h.ServeHTTP(w, r.WithContext(ctx))
		span.Set("foyer.request_id", api.RequestID(w))
	})
}

// withSpan records the outcome of a request in its span: its route, but not its path, which may contain a token.
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
