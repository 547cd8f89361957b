package event

import (
	"context"

	"foyer/internal/domain/activity"
	"foyer/internal/infra/trace"
)

// traced starts the span of a try, in the trace of the request that made the event.
func (s Service) traced(ctx context.Context, ev Event, d Delivery) *trace.Span {
	if s.Tracer == nil {
		return nil
	}
	parent, err := activity.TraceOf(ctx, s.DB, ev.OrganizationID, ev.requestID)
	if err != nil || parent == "" {
		return nil
	}
	_, span := s.Tracer.Continue(ctx, parent, "deliver "+ev.Type, trace.Client)
	span.Set("foyer.event", ev.ID)
	span.Set("foyer.attempt", d.Attempts)
	return span
}

// Polling returns a context without a trace, for requests that look for events repeatedly: each look would be a span.
func Polling(ctx context.Context) context.Context { return trace.Without(ctx) }
