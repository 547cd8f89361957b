package invite_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

func TestTidy(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.invites.Limits = invite.Limits{Invites: 100, Mails: 100}
		other := r.join(r.newOrg("Other"), "other@x.example", access.Owner)
		for _, email := range []string{"a@x.example", "b@x.example", "c@x.example"} {
			r.invite(r.owner, draft(email))
			r.invite(other, draft(email))
		}
		r.later(30*24*time.Hour + time.Hour)
		fresh := r.invite(r.owner, draft("d@x.example"))
		r.later(time.Second)
		if err := r.invites.Tidy(r.Context()); err != nil {
			r.Fatal(err)
		}
		left, err := r.invites.Find(r.Context(), r.owner, invite.Filter{}, page.First)
		if err != nil || left.Count != 1 || !slices.ContainsFunc(left.Items, func(i invite.Invite) bool { return i.ID == fresh.ID }) {
			r.Errorf("left: %+v, %v", left, err)
		}
		if left, _ := r.invites.Find(r.Context(), other, invite.Filter{}, page.First); left.Count != 0 {
			r.Errorf("%d left of the other organization", left.Count)
		}
	})
}

// Old quotas are removed in short transactions, however many there are.
func TestTidyQuotas(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		const old, batches = 1100, 3
		now := r.db.Now()
		if err := r.db.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			for i := range old + 1 {
				since := now.Add(-24 * time.Hour)
				if i == old {
					since = now
				}
				if err := db.Exec(r.Context(), tx, `INSERT INTO quotas (kind, item, since, used) VALUES ('mail', $1, $2, 1)`,
					strconv.Itoa(i), since); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			r.Fatal(err)
		}
		before := dbtest.Statements(r.db)
		if err := r.invites.Tidy(r.Context()); err != nil {
			r.Fatal(err)
		}
		if n := dbtest.Statements(r.db) - before; n < batches {
			r.Errorf("%d statements, so not in %d batches", n, batches)
		}
		left, err := db.All[string](r.Context(), r.db, nil, `SELECT item FROM quotas`)
		if err != nil || !slices.Equal(left, []string{strconv.Itoa(old)}) {
			r.Errorf("left: %v, %v", left, err)
		}
	})
}
