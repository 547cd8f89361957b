package plugin

import (
	"slices"
	"sync"
	"testing"

	"foyer/internal/db"
	"foyer/internal/fault"
	"foyer/internal/page"
	"foyer/internal/patch"
)

// An app is seen as it is at one moment: with all that belongs to it, or not at all.
func TestSourceDuringDelete(t *testing.T) {
	each(t, func(r rig) {
		for range 40 {
			p := r.create(named("x"))
			r.save(p.ID, "a.md", patch.Of("a"))
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					s, err := r.Source(r.Context(), r.caller, p.ID)
					if found := err == nil && len(s.Files) == 1; !found && !fault.Is(err, fault.NotFound) {
						r.Errorf("source %+v, %v", s, err)
					}
					versions, _, err := r.Versions(r.Context(), r.caller, p.ID, page.First)
					if found := err == nil && len(versions.Items) == 1 && versions.Count == 1; !found && !fault.Is(err, fault.NotFound) {
						r.Errorf("%d versions, %d counted, %v", len(versions.Items), versions.Count, err)
					}
				})
			}
			if err := r.Delete(r.Context(), r.caller, p.ID); err != nil {
				r.Error(err)
			}
			all.Wait()
		}
	})
}

// A save answers what reading the source then does.
func TestSaveAnswersTheSource(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		for _, text := range []string{"export const a = 1", "export const a: = 1", "export const a = 1", "export const a = 1"} {
			saved := r.save(p.ID, "site.ts", patch.Of(text))
			read, err := r.Source(r.Context(), r.caller, p.ID)
			if err != nil || !slices.Equal(saved.Files, read.Files) || saved.Bundle != read.Bundle || saved.PublicToken != read.PublicToken ||
				saved.Revision != read.Revision {
				r.Errorf("%s: answered %+v, is %+v, %v", text, saved, read, err)
			}
		}
	})
}

// A save answers what it wrote, whatever others do right after it.
func TestSaveDuringDelete(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		size, deleted := r.Memory.one.Size, false
		r.Memory.one.Size = func(p Plugin) int { // is asked once the save is on disk
			if !deleted {
				deleted = true
				if err := r.Delete(r.Context(), r.caller, p.ID); err != nil {
					r.Error(err)
				}
			}
			return size(p)
		}
		s, err := r.UpdateSource(r.Context(), r.caller, p.ID, Draft{}, []Edit{{Field: "source", Name: "a.md", Text: patch.Of("a")}})
		if err != nil || !deleted || s.ID != p.ID || len(s.Files) != 1 || s.Files[0].Text != "a" {
			r.Errorf("deleted %t, got %+v, %v", deleted, s, err)
		}
	})
}

// A save answers what it did not change as it is stored, whatever came in between.
func TestSaveAfterUpgrade(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		r.save(p.ID, "site.ts", patch.Of("export const n = 1"))
		r.save(p.ID, "site.ts", patch.Of("export const"))
		read, err := r.Source(r.Context(), r.caller, p.ID)
		if err != nil {
			r.Fatal(err)
		}
		r.save(p.ID, "site.ts", patch.Of("export const n = 3"))
		if _, err := r.Upgrade(r.Context(), r.caller, p.ID, Move{Version: patch.Of("2")}); err != nil {
			r.Fatal(err)
		}
		var saved Sources
		err = r.DB.InTx(r.Context(), func(tx *db.Tx) (err error) {
			saved, err = r.saveSource(r.Context(), tx, r.caller, read, named("y"), nil)
			return err
		})
		if err != nil {
			r.Fatal(err)
		}
		stored, err := r.Source(r.Context(), r.caller, p.ID)
		if err != nil || saved.Bundle != stored.Bundle || saved.Name != "y" || stored.Bundle == read.Bundle {
			r.Errorf("answered %+v, stored is %+v, read was %+v, %v", saved.Bundle, stored.Bundle, read.Bundle, err)
		}
	})
}
