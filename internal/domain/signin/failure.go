package signin

import (
	"context"
	"errors"
	"time"

	"foyer/internal/base/clock"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// failuresTime is how long failures are counted together, from the first.
const failuresTime = time.Hour

// reason is why a sign-in failed, as the activity says it: without an address, since that
// could not be erased there.
type reason string

const (
	expiredLink    reason = "the link is past its time"
	expiredKey     reason = "the key has expired"
	unverified     reason = "the identity provider has not verified the address"
	foreignDomain  reason = "the identity provider does not speak for the address"
	anotherAccount reason = "the address belongs to another account at the identity provider"
)

// failure is a sign-in that failed.
type failure struct {
	userID  int64  // the user who would have signed in; 0: nobody
	boundTo string // the one organization that it would have opened; "": all of the user's
	reason  reason
}

// note records at once the first failure in an hour of a user and what it would have opened, and counts the others.
func (s Service) note(ctx context.Context, f failure, d access.SessionDraft) error {
	if f.userID == 0 {
		return nil
	}
	now := s.DB.Now()
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		lockUser(tx, f.userID)
		counted, err := findFailures(ctx, tx, f.userID, f.boundTo)
		switch {
		case err == nil && !counted.over(now):
			return addFailure(ctx, tx, counted)
		case err == nil:
			err = s.reportFailures(ctx, tx, counted)
		case errors.Is(err, db.ErrNoRow):
			err = nil
		}
		if err != nil {
			return err
		}
		if err := insertFailures(ctx, tx, failures{userID: f.userID, boundTo: f.boundTo, since: now}); err != nil {
			return err
		}
		changes := []activity.Change{activity.Changed("method", nil, d.Method), activity.Changed("reason", nil, f.reason)}
		return s.recordFailure(ctx, tx, d, access.Key{UserID: f.userID, OrganizationID: f.boundTo}, changes)
	})
}

// ReportFailures records how many sign-ins failed after the first, once the hour is over.
func (s Service) ReportFailures(ctx context.Context) error {
	now := s.DB.Now()
	for {
		due, err := dueFailures(ctx, s.DB, now)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, f := range due {
			if err := s.reportDue(ctx, f, now); err != nil {
				return err
			}
		}
	}
}

func (s Service) reportDue(ctx context.Context, due failures, now time.Time) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		lockUser(tx, due.userID)
		counted, err := findFailures(ctx, tx, due.userID, due.boundTo)
		if errors.Is(err, db.ErrNoRow) || err == nil && !counted.over(now) {
			return nil // another server was first
		}
		if err != nil {
			return err
		}
		return s.reportFailures(ctx, tx, counted)
	})
}

func (s Service) reportFailures(ctx context.Context, tx *db.Tx, counted failures) error {
	if err := deleteFailures(ctx, tx, counted); err != nil || counted.others == 0 {
		return err
	}
	key := access.Key{UserID: counted.userID, OrganizationID: counted.boundTo}
	return s.recordFailure(ctx, tx, access.SessionDraft{}, key, []activity.Change{activity.Changed("count", nil, counted.others)})
}

// recordFailure writes an entry under the user who would have signed in, in each organization that the key would have
// opened.
func (s Service) recordFailure(ctx context.Context, tx *db.Tx, d access.SessionDraft, key access.Key, changes []activity.Change) error {
	u, err := org.UserByID(ctx, tx, key.UserID)
	if err != nil {
		return err
	}
	d.UserID = key.UserID
	return s.Keys.Record(ctx, tx, key, s.Keys.By(d, 0).Did(activity.Entry{
		Scope: activity.Session, Verb: activity.SignInFailed, Name: u.Email, Changes: changes,
	}))
}

// failures are the failed sign-ins of a user that would have opened the same, which are counted together.
type failures struct {
	userID  int64
	boundTo string
	since   time.Time
	others  int64
}

// over reports whether they are no longer counted together: the hour is over, or the clock was set back since.
func (f *failures) over(now time.Time) bool {
	return !now.Before(f.since.Add(failuresTime)) || f.since.After(now.Add(clock.Differ))
}

const failuresColumns = `user_id, organization_id, since, others`

func (f *failures) fields() []any { return []any{&f.userID, &f.boundTo, &f.since, &f.others} }

func findFailures(ctx context.Context, tx *db.Tx, userID int64, boundTo string) (failures, error) {
	return db.One(ctx, tx, (*failures).fields, `
		SELECT `+failuresColumns+` FROM signin_failures WHERE user_id = $1 AND organization_id = $2`, userID, boundTo)
}

func insertFailures(ctx context.Context, tx *db.Tx, f failures) error {
	return db.Exec(ctx, tx, `INSERT INTO signin_failures (`+failuresColumns+`) VALUES ($1, $2, $3, $4)`, f.userID, f.boundTo, f.since, f.others)
}

func addFailure(ctx context.Context, tx *db.Tx, f failures) error {
	return db.Exec(ctx, tx, `UPDATE signin_failures SET others = others + 1 WHERE user_id = $1 AND organization_id = $2`, f.userID, f.boundTo)
}

func deleteFailures(ctx context.Context, tx *db.Tx, f failures) error {
	return db.Exec(ctx, tx, `DELETE FROM signin_failures WHERE user_id = $1 AND organization_id = $2`, f.userID, f.boundTo)
}

// dueFailures lists the first failures that are no longer counted together.
func dueFailures(ctx context.Context, q db.Querier, now time.Time) ([]failures, error) {
	return db.All(ctx, q, (*failures).fields, `
		SELECT `+failuresColumns+` FROM signin_failures WHERE since <= $1 OR since > $2 ORDER BY since LIMIT 500`,
		now.Add(-failuresTime), now.Add(clock.Differ))
}
