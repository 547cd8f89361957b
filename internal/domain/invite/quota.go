package invite

import (
	"context"
	"errors"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/db"
	"foyer/internal/infra/quota"
)

// Limits are quotas on what inviters can do to strangers; 0: none.
type Limits struct {
	Invites int // a day and organization
	Mails   int // a day and address
}

const day = 24 * time.Hour

// countInvites counts invites that an organization is about to make.
func (s Service) countInvites(ctx context.Context, tx *db.Tx, organizationID string, n int) error {
	return s.count(ctx, tx, "invite", organizationID, n, s.Limits.Invites, "invites a day for an organization")
}

// countMail counts a mail to an address, if there is a mail server.
func (s Service) countMail(ctx context.Context, tx *db.Tx, email string) error {
	if !s.Mails {
		return nil
	}
	return s.count(ctx, tx, "mail", email, 1, s.Limits.Mails, "mails a day to "+email)
}

// count notes n more uses, or refuses them if that would be over the limit.
func (s Service) count(ctx context.Context, tx *db.Tx, kind, item string, n, limit int, what string) error {
	if limit == 0 {
		return nil
	}
	now := s.DB.Now()
	if ok, err := quota.Take(ctx, tx, kind, item, n, limit, now, day); ok || err != nil {
		return err
	}
	since, err := quota.Since(ctx, tx, kind, item)
	if err != nil && !errors.Is(err, db.ErrNoRow) {
		return err
	}
	wait := since.Add(day).Sub(now)
	if wait <= 0 { // more than a day allows
		wait = day
	}
	return fault.Later(fault.QuotaExceeded, wait, "At most %d %s: try again later.", limit, what)
}
