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

// Polling returns the context of what looks for events again and again: each look would be a span of the request.
func Polling(ctx context.Context) context.Context { return trace.Without(ctx) }
