package plugin

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/infra/db"
)

// elsewhere is another server on the same database, with its own cache.
func (r rig) elsewhere() Service {
	s := r.Service
	s.Cache = NewCache()
	return s
}

// A server that has cached an old state of an app changes the current one.
func TestChangedElsewhere(t *testing.T) {
	each(t, func(r rig) {
		elsewhere := r.elsewhere()
		p := r.create(named("first"))
		change := func(s Service, d Draft) Plugin {
			r.Helper()
			changed, err := s.Update(r.Context(), r.caller, p.ID, d)
			if err != nil {
				r.Fatal(err)
			}
			return changed
		}
		if _, err := r.Get(r.Context(), r.caller, p.ID); err != nil {
			r.Fatal(err)
		}
		change(elsewhere, Draft{Description: patch.Of("theirs")})
		if got := change(r.Service, named("ours")); got.Description != "theirs" || got.Name != "ours" {
			r.Errorf("got %+v", got)
		}
		change(elsewhere, Draft{Description: patch.Of("theirs again")})
		last := change(r.Service, Draft{Description: patch.Of("theirs")})
		if last.Description != "theirs" {
			r.Errorf("what was no change to the app in memory is one to the app: %+v", last)
		}
		if got := change(elsewhere, Draft{Description: patch.Of("theirs")}); got.Revision != last.Revision {
			r.Errorf("what was a change to the app in memory is none to the app: %+v", got)
		}
		if err := elsewhere.Delete(r.Context(), r.caller, p.ID); err != nil {
			r.Fatal(err)
		}
		if _, err := r.Update(r.Context(), r.caller, p.ID, named("gone")); !fault.Is(err, fault.NotFound) {
			r.Errorf("changed what is gone: %v", err)
		}
		entries, err := r.Activity(r.Context(), r.caller, "", "", page.First)
		if n := r.count(`SELECT COUNT(*) FROM activity WHERE scope = 'Plugin'`); err != nil || entries.Count != 6 || n != entries.Count {
			r.Errorf("%d entries of activity, %d are counted: %v", n, entries.Count, err)
		}
	})
}

// Simultaneous changes by two servers to one app are made one after another.
func TestChangeTogether(t *testing.T) {
	each(t, func(r rig) {
		elsewhere := r.elsewhere()
		p := r.create(named("first"))
		const changes = 40
		var all sync.WaitGroup
		for i := range changes {
			all.Go(func() {
				s, d := r.Service, named(strconv.Itoa(i))
				if i%2 == 0 {
					s, d = elsewhere, Draft{Description: patch.Of(strconv.Itoa(i))}
				}
				if _, err := s.Update(r.Context(), r.caller, p.ID, d); err != nil {
					r.Error(err)
				}
			})
		}
		all.Wait()
		got, err := r.Get(r.Context(), r.caller, p.ID)
		if entries := r.count(`SELECT COUNT(*) FROM activity WHERE scope = 'Plugin'`); err != nil || entries != 1+changes || got.Description == "" {
			r.Errorf("%d entries, got %+v, %v", entries, got, err)
		}
	})
}

// After a database has lost its last commits, as in a failover, new commits are not mistaken for the lost ones.
func TestLostCommits(t *testing.T) {
	each(t, func(r rig) {
		elsewhere := r.elsewhere()
		p := r.create(named("kept"))
		lost, err := r.Update(r.Context(), r.caller, p.ID, named("lost"))
		if err != nil {
			r.Fatal(err)
		}
		if _, err := r.Find(r.Context(), r.caller, Filter{}, page.First); err != nil {
			r.Fatal(err)
		}
		err = r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := update(r.Context(), tx, lost, p); err != nil {
				return err
			}
			return db.Exec(r.Context(), tx, `UPDATE plugin_counts SET version = 1`)
		})
		if err != nil {
			r.Fatal(err)
		}
		if _, err := elsewhere.Update(r.Context(), r.caller, p.ID, Draft{Description: patch.Of("made then")}); err != nil {
			r.Fatal(err)
		}
		if found, err := r.Find(r.Context(), r.caller, Filter{}, page.First); err != nil || len(found.Items) != 1 || found.Items[0].Name != "kept" {
			r.Errorf("listed: %+v, %v", found, err)
		}
		if got, err := r.Update(r.Context(), r.caller, p.ID, Draft{Tag: patch.Of("t1")}); err != nil || got.Name != "kept" || got.Description != "made then" {
			r.Errorf("got %+v, %v", got, err)
		}
	})
}
