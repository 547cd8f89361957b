package event

import (
	"context"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// keptFor is how long events are listed and can be sent again.
const keptFor = 30 * 24 * time.Hour

// MaySee reports whether a caller may see the organization's events and manage its webhooks.
func MaySee(c access.Caller) error {
	if c.Level < access.Admin {
		return fault.New(fault.Denied, "Only admins and owners may see events and webhooks.")
	}
	return nil
}

// maxRead is how many entries a list reads at most if few of them are events.
const maxRead = 5000

// After returns the events after a sequence, the oldest first: at most limit of them, and about bytes in size. next is
// where to go on: the number of the last entry that was read, which may be no event, so that those who wait for events do
// not read the same entries again and again. more reports whether there may be further ones.
func (s Service) After(ctx context.Context, c access.Caller, after int64, limit, bytes int) (events []Event, next int64, more bool, err error) {
	if err := MaySee(c); err != nil {
		return nil, after, false, err
	}
	head, err := activity.HeadOf(ctx, s.DB, c.Organization.ID)
	if err != nil {
		return nil, after, false, err
	}
	since := s.DB.Now().Add(-keptFor)
	more = head.Number > after
	for read := 0; more && len(events) < limit && read < maxRead && bytes > 0; {
		var entries []activity.Stored
		if entries, more, err = activity.WithData(ctx, s.DB, c.Organization.ID, after, limit-len(events), bytes); err != nil {
			return nil, after, false, err
		}
		read += len(entries)
		for _, e := range entries {
			after = e.Number
			bytes -= e.Weight()
			if ev, ok := of(e); ok && e.CreatedAt.After(since) {
				events = append(events, ev)
			}
		}
	}
	if !more {
		after = max(after, head.Number)
	}
	return events, after, more, nil
}

// Begin returns where a list of the events after a sequence begins: there, or later if the next events are no longer
// kept. It refuses a sequence that the organization does not have yet, such as one from before a backup was restored:
// new events would get numbers up to it, and would never be listed after it.
func (s Service) Begin(ctx context.Context, c access.Caller, sequence int64) (int64, error) {
	if err := MaySee(c); err != nil {
		return 0, err
	}
	head, err := activity.HeadOf(ctx, s.DB, c.Organization.ID)
	if err == nil && sequence > head.Number {
		err = fault.Field(fault.Invalid, "after", "Must be at most %d, the last number here: events may have been lost since %d was given, as when a backup is restored.",
			head.Number, sequence)
	}
	return max(sequence, head.DataDropped), err
}

// find returns one event of an organization, or ErrNotFound if it is no longer kept.
func find(ctx context.Context, q db.Querier, organizationID string, sequence int64) (Event, error) {
	e, err := activity.OneWithData(ctx, q, organizationID, sequence)
	if err != nil {
		return Event{}, access.OrNotFound(err)
	}
	if ev, ok := of(e); ok {
		return ev, nil
	}
	return Event{}, access.ErrNotFound
}
