// Package trace reports to a collector how long a request took and in which parts, by the OpenTelemetry protocol over
// HTTP, as JSON (https://opentelemetry.io/docs/specs/otlp/#otlphttp). A nil Tracer records nothing, and costs nothing.
package trace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"foyer/internal/base/traceparent"
)

// Kinds of spans.
const (
	Server = 2 // handles a request
	Client = 3 // makes a request
)

// Tracer records spans and sends them.
type Tracer struct {
	now      func() time.Time
	ratio    float64 // of the traces that begin here
	endpoint string
	headers  map[string]string
	timeout  time.Duration
	resource []attribute
	spans    chan *Span // that wait to be sent
	dropped  atomic.Int64
}

// Span is a piece of work. A nil Span is not recorded.
type Span struct {
	tracer     *Tracer
	name       string
	kind       int
	trace      string // 32 digits
	id, parent string // 16 digits; "": none
	began, end time.Time
	attributes []attribute
	failure    string
	failed     bool
}

type attribute struct {
	key   string
	value any // string or int
}

type contextKey struct{}

// Continue starts the span of a request that may be part of a trace, as its traceparent says. If the trace's origin does
// not record it, it is not recorded here either.
func (t *Tracer) Continue(ctx context.Context, header, name string, kind int) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	s := &Span{tracer: t, name: name, kind: kind, id: digits(), began: t.now()}
	parent, ok := traceparent.Parse(header)
	switch {
	case ok && !parent.Recorded:
		return ctx, nil
	case ok:
		s.trace, s.parent = parent.Trace, parent.Span
	case rand.Float64() >= t.ratio:
		return ctx, nil
	default:
		s.trace = digits() + digits()
	}
	return context.WithValue(ctx, contextKey{}, s), s
}

// Child starts the span of an outgoing request within s; if s is nil, so is the child.
func (s *Span) Child(name string) *Span {
	if s == nil {
		return nil
	}
	return &Span{tracer: s.tracer, name: name, kind: Client, trace: s.trace, parent: s.id, id: digits(), began: s.tracer.now()}
}

// From returns the span of ctx; nil if there is none.
func From(ctx context.Context) *Span {
	s, _ := ctx.Value(contextKey{}).(*Span)
	return s
}

// Without returns a context in which no spans are recorded.
func Without(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, (*Span)(nil))
}

// Parent returns the traceparent for outgoing requests within s; "" if s is not recorded.
func (s *Span) Parent() string {
	if s == nil {
		return ""
	}
	return "00-" + s.trace + "-" + s.id + "-01"
}

// Rename gives a span a name that was not known at its start.
func (s *Span) Rename(name string) {
	if s != nil {
		s.name = name
	}
}

// Set adds an attribute, a string or an int.
func (s *Span) Set(key string, value any) {
	if s != nil {
		s.attributes = append(s.attributes, attribute{key, value})
	}
}

// Fail marks a span as failed.
func (s *Span) Fail(why string) {
	if s != nil {
		s.failed, s.failure = true, why
	}
}

// End records a span.
func (s *Span) End() {
	if s != nil {
		s.end = s.tracer.now()
		s.tracer.add(s)
	}
}

// digits returns a random number in 16 hexadecimal digits, never 0.
func digits() string { return fmt.Sprintf("%016x", rand.Uint64()|1<<56) } // an id, no secret
