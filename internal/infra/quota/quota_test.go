package quota_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/quota"
)

// Each kind and item has a quota of its own, and a new period once the old one is over, or lies in the future. A
// refusal says when the period ends, and what is left until then.
func TestCount(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		start := d.Now()
		for i, step := range []struct {
			kind, item string
			n, limit   int
			after      time.Duration
			wait       time.Duration // 0: it is allowed
			left       string        // as the refusal says; "": none
		}{
			{"mail", "b", 2, 2, 0, 0, ""},
			{"link", "a", 2, 2, time.Minute, 0, ""},
			{"mail", "a", 1, 3, 2 * time.Minute, 0, ""},
			{"mail", "a", 3, 3, 2 * time.Minute, time.Hour, "2 left"},
			{"mail", "a", 2, 3, 3 * time.Minute, 0, ""},
			{"mail", "a", 1, 3, 4 * time.Minute, 58 * time.Minute, ""},
			{"link", "a", 1, 2, 4 * time.Minute, 57 * time.Minute, ""},
			{"mail", "a", 1, 0, 4 * time.Minute, 0, ""},
			{"mail", "a", 0, 3, 4 * time.Minute, 0, ""},
			{"mail", "a", 1, 4, 4 * time.Minute, 0, ""},
			{"mail", "c", 4, 3, 4 * time.Minute, time.Hour, "3 left"},
			{"mail", "a", 3, 3, 62 * time.Minute, 0, ""},
			{"mail", "a", 5, 3, 3 * time.Hour, time.Hour, "3 left"},
			{"mail", "a", 3, 3, -time.Hour, 0, ""},
		} {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return quota.Count(ctx, tx, step.kind, step.item, step.n, step.limit, start.Add(step.after), time.Hour, "things")
			})
			if step.wait == 0 && err != nil || step.wait > 0 && (!fault.Is(err, fault.QuotaExceeded) || fault.Of(err)[0].RetryAfter != step.wait) {
				t.Errorf("%d: %+v, %v", i, step, err)
			}
			if err != nil && strings.Contains(err.Error(), "left") != (step.left != "") || err != nil && !strings.Contains(err.Error(), step.left) {
				t.Errorf("%d: %+v, %v", i, step, err)
			}
		}
	})
}

// Of an address nothing is left, as itself or as the hash by which mails to it are counted.
func TestForgetAddress(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const ada, bea = "ada@x.example", "bea@x.example"
		for _, forget := range []bool{false, true} {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				if forget {
					return quota.ForgetAddress(ctx, tx, ada)
				}
				for _, email := range []string{ada, bea} {
					if err := quota.CountMail(ctx, tx, email, 1, d.Now()); err != nil {
						return err
					}
					if err := quota.Count(ctx, tx, "link", email, 1, 1, d.Now(), time.Hour, "links"); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		left, err := db.All[string](t.Context(), d, nil, `SELECT kind FROM quotas ORDER BY kind`)
		if err != nil || !slices.Equal(left, []string{"link", "mail"}) {
			t.Errorf("%q are left, %v", left, err)
		}
	})
}
