package signin_test

import (
	"context"
	"testing"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// What a user is called, whether their address is verified, and whether they were made by a link that anybody may have
// had, says nothing about others.
func TestOthersStayAsTheyAre(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada, bea := r.join("ada@x.example", false, false), r.join("bea@x.example", false, false)
		r.join("carl@x.example", true, false)
		_, key, err := r.Keys.Create(t.Context(), access.Draft{UserID: bea.ID, Scope: access.All})
		if err != nil {
			t.Fatal(err)
		}
		verify := func(u org.User) {
			t.Helper()
			err := r.Keys.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return r.Organizations.VerifyEmail(ctx, tx, access.Caller{}, u.ID)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		wantBea := func(verified bool) {
			t.Helper()
			u, err := r.Organizations.UserByEmail(t.Context(), bea.Email)
			if err != nil || u.FirstName != "" || u.LastName != "" || u.IsEmailVerified != verified {
				t.Errorf("%+v, %v", u, err)
			}
		}
		if _, err := r.Organizations.SetUser(t.Context(), ada.Email, org.SelfPatch{FirstName: patch.Of("Ada"), LastName: patch.Of("Byron")}); err != nil {
			t.Fatal(err)
		}
		verify(ada)
		wantBea(false)
		verify(bea)
		wantBea(true)
		if _, err := r.Keys.Identify(t.Context(), key); err != nil {
			t.Errorf("her key was revoked: %v", err)
		}
	})
}
