package access

import (
	"testing"
	"time"

	"foyer/internal/db"
	"foyer/internal/db/dbtest"
)

func TestTidy(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var userID int64
		err := d.InTx(t.Context(), func(tx *db.Tx) (err error) {
			userID, err = db.One(t.Context(), tx, db.Value[int64], `
				INSERT INTO users (uuid, distinct_id, email, first_name, last_name, is_email_verified, created_at)
				VALUES ('ada', 'ada', 'ada@x.example', '', '', FALSE, $1) RETURNING id`, d.Now())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		keys := &Keys{DB: d}
		var kept []int64
		for _, lives := range []time.Duration{time.Hour, 2 * time.Hour, 0} {
			key, _, err := keys.Create(t.Context(), Draft{UserID: userID, Scope: All, ExpiresIn: lives})
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, key.ID)
		}
		at := d.Now().Add(keepExpired + time.Hour + time.Minute)
		d.Now = func() time.Time { return at }
		if err := keys.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		left, err := keys.List(t.Context())
		if err != nil || len(left) != 2 || left[0].ID != kept[1] || left[1].ID != kept[2] {
			t.Errorf("left: %+v, %v", left, err)
		}
	})
}
