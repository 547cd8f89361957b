package invite

import (
	"context"
	"slices"
	"time"

	"foyer/internal/db"
	"foyer/internal/fault"
)

// Limits are brakes on what inviters can do to strangers; 0: none.
type Limits struct {
	Invites int // a day and organization
	Mails   int // a day and address
}

const day = 24 * time.Hour

// brakeInvites counts invites that an organization is about to make.
func (s Service) brakeInvites(ctx context.Context, tx *db.Tx, organizationID string, n int) error {
	return s.count(ctx, tx, "invite", organizationID, n, s.Limits.Invites, "invites a day for an organization")
}

// brakeMails counts a mail to each address, if there is a mail server, in an order that is the same for all,
// so that two transactions do not wait for each other.
func (s Service) brakeMails(ctx context.Context, tx *db.Tx, emails []string) error {
	if !s.Mails {
		return nil
	}
	for _, email := range slices.Sorted(slices.Values(emails)) {
		if err := s.count(ctx, tx, "mail", email, 1, s.Limits.Mails, "mails a day to one address"); err != nil {
			return err
		}
	}
	return nil
}

// count notes n more uses and refuses them if that is over the limit: then the
// transaction is undone, and the count with it.
func (s Service) count(ctx context.Context, tx *db.Tx, kind, item string, n, limit int, what string) error {
	if limit == 0 {
		return nil
	}
	now := s.DB.Now()
	b, err := use(ctx, tx, kind, item, n, now, now.Add(-day))
	if err != nil || b.used <= limit {
		return err
	}
	return fault.Later(fault.Throttled, b.since.Add(day).Sub(now), "At most %d %s: try again later.", limit, what)
}
