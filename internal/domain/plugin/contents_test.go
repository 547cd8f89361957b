package plugin

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"foyer/internal/base/digest"
	"foyer/internal/base/patch"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A text that nothing uses is not removed while a save, or an app that is created, has found it and is under way. One
// that is being removed is stored again.
func TestTidyDuringSave(t *testing.T) {
	each(t, func(r rig) {
		made := r.compiled()
		unused := func() {
			other := r.create(named("other"))
			r.save(other.ID, "a.md", patch.Of("a"))
			if err := r.Delete(r.Context(), r.caller, other.ID); err != nil {
				r.Fatal(err)
			}
		}
		used := func(id int64) {
			r.wantContents(1)
			if err := r.Delete(r.Context(), r.caller, id); err != nil {
				r.Fatal(err)
			}
		}
		for _, use := range []func(ctx context.Context, tx *db.Tx, p Plugin) (id int64, err error){
			func(ctx context.Context, tx *db.Tx, p Plugin) (int64, error) {
				_, err := r.saveSource(ctx, tx, r.caller, Sources{Plugin: p}, Draft{}, &made)
				return p.ID, err
			},
			func(ctx context.Context, tx *db.Tx, p Plugin) (int64, error) {
				err := r.insertWith(ctx, tx, r.caller, &p, origin{OrganizationID: p.OrganizationID}, Version{}, made)
				return p.ID, err
			},
		} {
			var id int64
			unused()
			p, tidied := r.create(named("x")), make(chan error, 1)
			err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
				if id, err = use(ctx, tx, p); err != nil {
					return err
				}
				go func() { tidied <- r.Tidy(r.Context()) }()
				err = dbtest.AwaitWaiting(r.Context(), r.DB, 1, tidied)
				if len(tidied) == 0 && !dbtest.IsSQLite(r, r.DB) { // which has one transaction at a time
					err = errors.Join(err, errors.New("tidying waits for the save"))
				}
				return err
			})
			if err := errors.Join(err, <-tidied); err != nil {
				r.Fatal(err)
			}
			used(id)

			unused()
			p = r.create(named("x"))
			start, end := dbtest.Meanwhile(r, r.DB, func() error {
				return r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
					id, err = use(ctx, tx, p)
					return err
				})
			})
			err = r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
				err := removeUnused(ctx, tx, []string{digest.SHA256("a")})
				start()
				return err
			})
			if end(); err != nil {
				r.Fatal(err)
			}
			used(id)
		}
	})
}

// A text that has been used since it was found unused stays.
func TestTidyAfterSave(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		r.save(p.ID, "a.md", patch.Of("a"))
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error { return removeUnused(ctx, tx, []string{digest.SHA256("a")}) })
		if err != nil {
			r.Error(err)
		}
		r.wantContents(1)
	})
}

// A save does not wait for another one that may take long, because many sites follow its app.
func TestSaveDuringSave(t *testing.T) {
	each(t, func(r rig) {
		if dbtest.IsSQLite(r, r.DB) {
			r.Skip("one transaction at a time")
		}
		p, other := r.create(named("x")), r.create(named("other"))
		made := r.compiled()
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := r.saveSource(ctx, tx, r.caller, Sources{Plugin: p}, Draft{}, &made)
			r.save(other.ID, "b.md", patch.Of("b"))
			return err
		})
		if err != nil {
			r.Error(err)
		}
		r.wantContents(2)
	})
}

// Two transactions that store the same texts wait for each other in one order, so that there is no deadlock. What the
// first has stored is not removed before the second has ended.
func TestStoreSameContents(t *testing.T) {
	each(t, func(r rig) {
		texts := func() map[string]string {
			all := map[string]string{}
			for i := range 20 {
				all[strconv.Itoa(100+i)] = "text"
			}
			return all
		}
		store := func(ctx context.Context, tx *db.Tx, contents map[string]string) error {
			if err := insertContents(ctx, tx, contents); err != nil {
				return err
			}
			_, err := db.One[int](ctx, tx, nil, `SELECT 1`) // what is pending has run when this returns
			return err
		}
		start, end := dbtest.Meanwhile(r, r.DB, func() error {
			return r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
				err := store(ctx, tx, texts())
				if err == nil && !dbtest.IsSQLite(r, r.DB) { // which has one transaction at a time
					err = r.Tidy(r.Context())
				}
				return err
			})
		})
		err := r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := store(ctx, tx, map[string]string{"100": "text"}); err != nil {
				return err
			}
			start()
			return store(ctx, tx, texts())
		})
		if end(); err != nil {
			r.Error(err)
		}
		if n := r.count(`SELECT COUNT(*) FROM contents`); n != 20 {
			r.Errorf("%d contents", n)
		}
	})
}
