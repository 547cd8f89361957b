package plugin

import (
	"strconv"
	"sync"
	"testing"

	"foyer/internal/fault"
	"foyer/internal/page"
	"foyer/internal/patch"
)

// A server whose memory holds an app as it no longer is changes the app as it is.
func TestChangedElsewhere(t *testing.T) {
	each(t, func(r rig) {
		elsewhere := r.Service
		elsewhere.Memory = NewMemory()
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
		if got := change(r.Service, named("ours")); got.Description != "theirs" || got.Name != "ours" || got.Version != 3 {
			r.Errorf("got %+v", got)
		}
		change(elsewhere, Draft{Description: patch.Of("theirs again")})
		if got := change(r.Service, Draft{Description: patch.Of("theirs")}); got.Description != "theirs" || got.Version != 5 {
			r.Errorf("what was no change to the app in memory is one to the app: %+v", got)
		}
		if got := change(elsewhere, Draft{Description: patch.Of("theirs")}); got.Version != 5 {
			r.Errorf("what was a change to the app in memory is none to the app: %+v", got)
		}
		if err := elsewhere.Delete(r.Context(), r.caller, p.ID); err != nil {
			r.Fatal(err)
		}
		if _, err := r.Update(r.Context(), r.caller, p.ID, named("gone")); !fault.Is(err, fault.NotFound) {
			r.Errorf("changed what is gone: %v", err)
		}
		_, entries, err := r.Activity(r.Context(), r.caller, "", "", page.First)
		if n := r.count(`SELECT COUNT(*) FROM activity WHERE scope = 'Plugin'`); err != nil || entries != 6 || n != entries {
			r.Errorf("%d entries of activity, %d are counted: %v", n, entries, err)
		}
	})
}

// Changes that two servers make to one app at once are made one after another.
func TestChangeTogether(t *testing.T) {
	each(t, func(r rig) {
		elsewhere := r.Service
		elsewhere.Memory = NewMemory()
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
		if entries := r.count(`SELECT COUNT(*) FROM activity WHERE scope = 'Plugin'`); err != nil || got.Version != 1+changes || entries != 1+changes || got.Description == "" {
			r.Errorf("%d entries, got %+v, %v", entries, got, err)
		}
	})
}
