package plugin

import (
	"fmt"
	"testing"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/source"
)

// What is done to an app leaves its twins as they are, which have the same files and the same numbers of versions: one
// of its own organization, and one of another.
func TestTwins(t *testing.T) {
	each(t, func(r rig) {
		twin := func(c access.Caller) (p Plugin, seen func() string) {
			own := r
			own.caller = c
			p, _ = own.built("export const a = 1", "export const a = 2")
			return p, func() string {
				s, err := r.Source(r.Context(), c, p.ID)
				return fmt.Sprintf("%+v, %v, %+v", s, err, own.versions(p.ID))
			}
		}
		_, theirs := twin(r.elsewhereOwner())
		p, _ := twin(r.caller)
		same, ours := twin(r.caller)
		versions, left := r.versions(p.ID), theirs()+ours()
		ctx, c, id := r.Context(), r.caller, p.ID
		for what, do := range map[string]func() error{
			"update": func() error {
				_, err := r.Update(ctx, c, id, Draft{ConfigSchema: patch.Of(`[{"key":"a"}]`)})
				return err
			},
			"disable": func() error { _, err := r.Disable(ctx, c, id, patch.Of("x")); return err },
			"save": func() error {
				edit := source.Edit{Field: "source", Name: "site.ts", Text: patch.Of("export const a = 3")}
				_, err := r.UpdateSource(ctx, c, id, Draft{}, []source.Edit{edit})
				return err
			},
			"withdraw": func() error {
				v, err := r.Withdraw(ctx, c, id, Withdrawal{Number: 2, Reason: patch.Of("x"), GoTo: patch.Of(int64(1))})
				if v.id != versions[1].id {
					r.Errorf("another version is answered: %+v", v)
				}
				return err
			},
		} {
			if err := do(); err != nil {
				r.Fatalf("%s: %v", what, err)
			}
			if now := theirs() + ours(); now != left {
				r.Errorf("%s: %s; before, %s", what, now, left)
			}
		}
		r.save(same.ID, "site.ts", patch.Of("export const a = 1"))
		r.save(same.ID, "site.ts", patch.Of("export const a = 2")) // a bundle that only the app has withdrawn
		left = theirs() + ours()
		if err := r.Delete(ctx, c, id); err != nil || theirs()+ours() != left {
			r.Errorf("deleted: %v; %s; before, %s", err, theirs()+ours(), left)
		}
	})
}
