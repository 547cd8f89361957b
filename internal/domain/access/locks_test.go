package access

import (
	"context"
	"slices"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/lastuse"
)

// ending ends keys and sessions of a user, who has two keys.
type ending func(ctx context.Context, k *Keys, userID int64, keys []int64) error

func endAll(ctx context.Context, k *Keys, userID int64, _ []int64) error {
	return k.Change(ctx, func(ctx context.Context, tx *db.Tx) error { return k.RevokeAll(ctx, tx, Caller{}, userID) })
}

func endBound(ctx context.Context, k *Keys, userID int64, _ []int64) error {
	return k.Change(ctx, func(ctx context.Context, tx *db.Tx) error { return k.RevokeBound(ctx, tx, Caller{}, acme, userID) })
}

func endAllBound(ctx context.Context, k *Keys, _ int64, _ []int64) error {
	return k.Change(ctx, func(ctx context.Context, tx *db.Tx) error { return k.RevokeAllBound(ctx, tx, acme) })
}

func endOne(ctx context.Context, k *Keys, _ int64, keys []int64) error {
	if err := k.Revoke(ctx, keys[0]); !fault.Is(err, fault.NotFound) { // it may be tidied before
		return err
	}
	return nil
}

func endSessions(ctx context.Context, k *Keys, userID int64, _ []int64) error {
	return k.Change(ctx, func(ctx context.Context, tx *db.Tx) error { return k.RemoveSessions(ctx, tx, Caller{}, userID, 0) })
}

// toEnd makes a user with two keys for acme, and sessions that begin with the first or second of them; 0: with none. It
// returns what starts to end them, and what waits until that is done.
func toEnd(t *testing.T, k *Keys, do ending, with ...int) (start, end func()) {
	t.Helper()
	var keys []int64
	userID, _ := withKeys(t, k)
	join(t, k, userID, acme)
	for range 2 {
		key, _ := create(t, k, Draft{UserID: userID, OrganizationID: acme, Scope: All})
		keys = append(keys, key.ID)
	}
	for _, i := range with {
		d := SessionDraft{UserID: userID, Method: ByMail}
		if i > 0 {
			d.Method, d.KeyID = ByKey, keys[i-1]
		}
		begin(t, k, d)
	}
	return dbtest.Meanwhile(t, k.DB, func() error { return do(t.Context(), k, userID, keys) })
}

// Keys and sessions are locked in one order when they end and when their uses are stored: otherwise one of the two would fail.
func TestEndedWhileUsesAreStored(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		do     ending
		begin  []int
		ofKeys bool // the uses are of keys
	}{
		"all keys, uses of keys":           {endAll, nil, true},
		"all keys, uses of sessions":       {endAll, []int{0, 2, 1}, false},
		"bound keys, uses of keys":         {endBound, nil, true},
		"bound keys, uses of sessions":     {endBound, []int{2, 1}, false},
		"all bound keys, uses of sessions": {endAllBound, []int{2, 1}, false},
		"one key, uses of sessions":        {endOne, []int{1, 1}, false},
		"sessions, their uses":             {endSessions, []int{0, 0}, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				k := NewKeys(d)
				start, end := toEnd(t, k, tc.do, tc.begin...)
				table, indexed, mark := `sessions`, `last_used_at`, markSessionUsed
				if tc.ofKeys {
					table, indexed, mark = `keys`, `expires_at`, markKeyUsed
				}
				used, err := db.All[int64](t.Context(), d, nil, `SELECT id FROM `+table+` ORDER BY id`)
				check(t, err)
				soon := d.Now().Add(time.Hour)
				for _, id := range slices.Backward(used) { // who reads the table without an order gets the last one first
					dbtest.Exec(t, d, `UPDATE `+table+` SET `+indexed+` = $2 WHERE id = $1`, id, soon)
				}
				var uses lastuse.Notes
				for _, id := range used {
					uses.Note(lastuse.Used{ID: id}, soon.Add(time.Hour))
				}
				err = uses.Flush(t.Context(), d, func(ctx context.Context, tx *db.Tx, what lastuse.Used, at time.Time) error {
					if err := mark(ctx, tx, what, at); err != nil {
						return err
					}
					_, err := db.One[int](ctx, tx, nil, `SELECT 1`) // the use is stored when this returns
					start()
					return err
				})
				if err != nil {
					t.Error(err)
				}
				end()
			})
		})
	}
}

// Keys and sessions may be removed for their age while they are ended. Only the end of others is recorded.
func TestEndedWhileTidied(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		do    ending
		begin []int
		table string
		verb  activity.Verb
		ended int
	}{
		"all keys":          {endAll, []int{1}, `keys`, activity.Revoked, 1},
		"bound keys":        {endBound, []int{1}, `keys`, activity.Revoked, 1},
		"the only key":      {endOne, []int{1}, `keys`, activity.Revoked, 0},
		"sessions of a key": {endOne, []int{1, 1}, `sessions`, activity.Ended, 1},
		"all sessions":      {endSessions, []int{0, 0}, `sessions`, activity.Ended, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				k := NewKeys(d)
				start, end := toEnd(t, k, tc.do, tc.begin...)
				err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
					old, err := db.One[int64](ctx, tx, nil, `SELECT id FROM `+tc.table+` ORDER BY id LIMIT 1 FOR UPDATE`)
					if err != nil {
						return err
					}
					start()
					return db.Exec(ctx, tx, `DELETE FROM `+tc.table+` WHERE id = $1`, old)
				})
				if err != nil {
					t.Error(err)
				}
				end()
				ended, err := activity.List(t.Context(), d, activity.Filter{OrganizationID: acme, Verb: tc.verb}, page.First)
				if err != nil || ended.Count != tc.ended {
					t.Errorf("the end of %d is recorded, %v", ended.Count, err)
				}
			})
		})
	}
}
