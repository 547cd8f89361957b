package invite

import (
	"context"
	"time"

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
	return quota.Count(ctx, tx, "invite", organizationID, n, s.Limits.Invites, s.DB.Now(), day, "invites a day for an organization")
}

// countMail counts a mail to an address, if there is a mail server.
func (s Service) countMail(ctx context.Context, tx *db.Tx, email string) error {
	if !s.Mails {
		return nil
	}
	return quota.CountMail(ctx, tx, email, s.Limits.Mails, s.DB.Now())
}
