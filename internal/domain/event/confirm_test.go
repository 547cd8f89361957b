package event

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A key that ends while its request waits for the lock on its organization's webhooks makes no webhook.
func TestKeyEndsWhileWaiting(t *testing.T) {
	each(t, func(r rig) {
		key, _, err := access.NewKeys(r.DB).Create(r.Context(), access.Draft{UserID: r.caller.UserID, Scope: access.All, ExpiresIn: time.Hour})
		if err != nil {
			r.Fatal(err)
		}
		r.caller.KeyID = key.ID
		made := make(chan error, 1)
		create := sync.OnceFunc(func() {
			go func() {
				_, err := r.Create(r.Context(), r.caller, Draft{URL: patch.Of("https://hooks.example.com/"), Events: patch.Of([]string{"app.*"})})
				made <- err
			}()
		})
		err = r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			db.Lock(tx, "webhooks of "+ours)
			if _, err := count(ctx, tx, ours); err != nil { // the lock is held when that returns
				return err
			}
			create()
			err := dbtest.AwaitWaiting(r.Context(), r.DB, 1, made)
			r.pass(time.Hour)
			return err
		})
		if failed := <-made; err != nil || !errors.Is(failed, access.ErrChanged) {
			r.Errorf("%v, %v", err, failed)
		}
	})
}
