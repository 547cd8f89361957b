package invite_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/invite"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// Each invite is announced as expired when its own time has come, and once.
func TestInvitesExpireOneByOne(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		var want []string
		for _, email := range []string{"ada@x.example", "bob@x.example"} {
			want = append(want, r.invite(r.owner, draft(email)).ID)
			r.later(time.Minute)
		}
		r.later(time.Hour - 2*time.Minute) // an hour after the first
		for n := range 3 {
			for range 2 {
				if err := r.invites.Expire(r.Context()); err != nil {
					r.Fatal(err)
				}
			}
			found, err := activity.List(r.Context(), r.db, activity.Filter{OrganizationID: r.owner.Organization.ID, Verb: activity.Expired}, page.First)
			var got []string
			for _, e := range slices.Backward(found.Items) {
				got = append(got, e.ItemID)
			}
			if expected := want[:min(n+1, len(want))]; err != nil || !slices.Equal(got, expected) {
				r.Errorf("expired: %q, want %q, %v", got, expected, err)
			}
			r.later(time.Minute)
		}
	})
}

// An invite that somebody is changing holds up neither the expiry nor the removal of others.
func TestChangedInviteHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		if dbtest.IsSQLite(t, r.db) {
			return // no transaction locks rows
		}
		changed := r.invite(r.owner, draft("ada@x.example")).ID
		r.invite(r.owner, draft("bob@x.example"))
		for _, next := range []struct {
			after time.Duration
			do    func(context.Context) error
			left  string // the invites that are not expired, or there
		}{
			{2 * time.Hour, r.invites.Expire, `SELECT id FROM invites WHERE NOT expiry_announced`},
			{31 * 24 * time.Hour, r.invites.Tidy, `SELECT id FROM invites`},
		} {
			r.later(next.after)
			done := make(chan error, 1)
			err := r.db.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
				if _, err := db.One[int](ctx, tx, nil, `SELECT 1 FROM invites WHERE id = $1 FOR UPDATE`, changed); err != nil {
					return err
				}
				go func() { done <- next.do(r.Context()) }()
				if err := dbtest.AwaitWaiting(r.Context(), r.db, 1, done); err != nil {
					return err
				}
				left, err := db.All[string](r.Context(), r.db, nil, next.left)
				if err != nil || !slices.Equal(left, []string{changed}) {
					r.Errorf("%s: %q, %v", next.left, left, err)
				}
				return nil
			})
			if err := errors.Join(err, <-done); err != nil {
				r.Fatal(err)
			}
		}
	})
}

// An invite is expired from the moment at which it expires, unless it was accepted before.
func TestStatus(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for now, want := range map[time.Time]invite.Status{at.Add(-1): invite.IsPending, at: invite.IsExpired} {
		if got := (invite.Invite{ExpiresAt: at}).Status(now); got != want {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
		if got := (invite.Invite{ExpiresAt: at, AcceptedAt: at.Add(-1)}).Status(now); got != invite.IsAccepted {
			t.Errorf("accepted, at %s: %s", now, got)
		}
	}
}
