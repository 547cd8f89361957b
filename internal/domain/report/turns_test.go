package report

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// Adding up the minutes of a site waits for the site's deletion. There is no deadlock.
func TestHoursDuringADeletion(t *testing.T) {
	each(t, func(r rig) {
		s := r.site("shop")
		hour := r.DB.Now().Add(-keepMinutes-time.Hour).Truncate(time.Hour).Unix() / 60
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			var all error
			for _, of := range []viewKey{{minute: hour, bucket: 1}, {minute: hour + 1, bucket: 1}, {minute: hour + 1, bucket: 2}} {
				of.site = s
				all = errors.Join(all, addViews(ctx, tx, of, 1))
			}
			return all
		})
		if err != nil {
			r.Fatal(err)
		}
		start, end := dbtest.Meanwhile(r, r.DB, func() error { return r.Tidy(r.Context()) })
		err = r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := db.One[int](ctx, tx, nil, `SELECT 1 FROM sites WHERE id = $1 FOR UPDATE`, s.ID); err != nil {
				return err
			}
			start()
			return db.Exec(ctx, tx, `DELETE FROM sites WHERE id = $1`, s.ID)
		})
		if err != nil {
			r.Error(err)
		}
		end()
		if rows, err := db.One[int](r.Context(), r.DB, nil, `SELECT COUNT(*) FROM site_counts`); err != nil || rows != 0 {
			r.Errorf("%d rows, %v", rows, err)
		}
	})
}

// Two servers that store errors of an app with too many do not deadlock.
func TestTooManyErrorsOnTwoServers(t *testing.T) {
	t.Parallel()
	r := rig{NewCounts(dbtest.Open(t, dbtest.Postgres(t))), t} // SQLite has one transaction at a time
	oldest := errorKey{Version: Version{app, 1}, site: r.site("shop"), message: "0"}
	write := func(ctx context.Context, tx *db.Tx, of errorKey, at time.Time) error {
		return addError(ctx, tx, of, noted{n: 1, first: at, last: at})
	}
	err := r.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) (all error) {
		for i := range maxErrorsKept {
			of := oldest
			of.message = strconv.Itoa(i)
			all = errors.Join(all, write(ctx, tx, of, r.DB.Now().Add(time.Duration(i-maxErrorsKept)*time.Minute)))
		}
		return all
	})
	if err != nil {
		t.Fatal(err)
	}
	newest := oldest
	newest.message = "new"
	other := make(chan error, 1)
	err = r.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		_, err := db.One[int](ctx, tx, nil, `SELECT 1 FROM site_errors WHERE message = '0' FOR UPDATE`)
		if err != nil {
			return err
		}
		go func() {
			other <- r.writeErrors(context.WithoutCancel(t.Context()), []errorKey{newest}, map[errorKey]*noted{newest: {n: 1, last: r.DB.Now()}})
		}()
		return cmp.Or(dbtest.AwaitWaiting(t.Context(), r.DB, 1, other), write(ctx, tx, newest, r.DB.Now()))
	})
	if err := errors.Join(err, <-other); err != nil {
		t.Error(err)
	}
}

// Reports that a server could write only after later ones of another server move neither end of the time of an error
// the wrong way.
func TestErrorsWrittenLate(t *testing.T) {
	each(t, func(r rig) {
		s := r.site("shop")
		now := r.DB.Now()
		key := errorKey{Version: Version{app, 1}, site: s, message: "broken"}
		early := noted{n: 1, first: now.Add(-20 * time.Minute), last: now.Add(-10 * time.Minute)}
		late := noted{n: 1, first: now.Add(-5 * time.Minute), last: now}
		for _, e := range []noted{late, early} {
			if err := r.writeErrors(r.Context(), []errorKey{key}, map[errorKey]*noted{key: &e}); err != nil {
				r.Fatal(err)
			}
		}
		h, err := Of(r.Context(), r.DB, s.OrganizationID, app, s.ID, now.Add(-time.Hour))
		if err != nil {
			r.Fatal(err)
		}
		if e := h.Errors[0]; !e.FirstAt.Equal(early.first) || !e.LastAt.Equal(late.last) || e.Count != 2 {
			r.Errorf("%d from %s to %s", e.Count, e.FirstAt, e.LastAt)
		}
	})
}
