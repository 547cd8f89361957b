package plugin

import (
	"context"
	"slices"
	"sync"
	"testing"

	"foyer/internal/base/digest"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
)

// An app is read as it is at one moment: with everything that belongs to it, or not at all.
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
					versions, err := r.Versions(r.Context(), r.caller, p.ID, page.First)
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

// A save answers the same as reading the source after it.
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

// Pictures and fonts are kept byte for byte, on both engines; all other files must be text.
func TestPictures(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		contents := map[string]string{
			"a.png": "\x89PNG\x00\xff", "b.woff2": "", "c.jpg": "text", "d.md": inBase64 + "text", "e.gif": inBase64 + "YQ==",
			"site.ts": "import a from './a.png'\nimport './c.jpg'\nexport const inject = () => a",
		}
		for name, content := range contents {
			r.save(p.ID, name, patch.Of(content))
		}
		s, err := r.Source(r.Context(), r.caller, p.ID)
		if err != nil || len(s.Files) != len(contents) || !s.Bundle.Inject {
			r.Fatalf("got %+v, %v", s, err)
		}
		for _, f := range s.Files {
			if f.Text != contents[f.Name] || f.Size != len(f.Text) || f.SHA256 != digest.SHA256(f.Text) || (f.Warning != "") != (f.Name == "site.ts") {
				r.Errorf("got %+v", f)
			}
		}
		r.save(p.ID, "a.png", patch.Of("\x00"))
		r.save(p.ID, "a.png", patch.Field[string]{Set: true, Null: true})
		for i, want := range []string{"Binary files a/a.png and b/a.png differ\n", "Binary files a/a.png and /dev/null differ\n"} {
			diff, err := r.Diff(r.Context(), r.caller, p.ID, int64(len(contents)+i)+1, 0)
			if err != nil || len(diff) != 1 || diff[0].Diff != want {
				r.Errorf("diff %+v, %v; want %q", diff, err, want)
			}
		}
		edits := []source.Edit{{Field: "source", Name: "a.ts", Text: patch.Of("\xff")}, {Field: "b.md", Name: "b.md", Text: patch.Of("\x00")}}
		_, err = r.UpdateSource(r.Context(), r.caller, p.ID, Draft{}, edits)
		if all := fault.Of(err); len(all) != 2 || all[0].Kind != fault.Invalid || all[0].Field != "source" || all[1].Field != "b.md" {
			r.Errorf("got %v", err)
		}
	})
}

// A save of an app that was disabled since its source was read answers that it is.
func TestSaveWhileDisabled(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(named("x"))
		read, err := r.Source(r.Context(), r.caller, p.ID)
		if err != nil {
			r.Fatal(err)
		}
		if _, err := r.Disable(r.Context(), r.caller, p.ID, patch.Of("broken")); err != nil {
			r.Fatal(err)
		}
		var saved Sources
		err = r.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
			saved, err = r.saveSource(ctx, tx, r.caller, read, Draft{}, nil)
			return err
		})
		if err != nil || saved.Disabled.Reason != "broken" {
			r.Errorf("answered %+v, %v", saved.Disabled, err)
		}
	})
}
