package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// Each change of a key is recorded in every organization that it opens, with the key or session that made the change.
func TestKeysAreRecorded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		userID, _ := withKeys(t, k)
		another := newUser(t, k, "bea")
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			for _, id := range []string{"one", "two", "not-mine"} {
				if err := db.Exec(ctx, tx, `
					INSERT INTO organizations (id, name, access_level, members_can_invite, members_can_manage_apps, allowed_domains, created_at)
					VALUES ($1, $1, 6, TRUE, TRUE, '', $2)`, id, d.Now()); err != nil {
					return err
				}
			}
			return db.Exec(ctx, tx, `
				INSERT INTO memberships (organization_id, user_id, level, joined_at, updated_at)
				SELECT id, CASE id WHEN 'not-mine' THEN CAST($3 AS BIGINT) ELSE $1 END, 15, $2, $2 FROM organizations`, userID, d.Now(), another)
		})
		check(t, err)
		recorded := func(in string) (all []string) {
			t.Helper()
			found, err := activity.List(t.Context(), d, activity.Filter{OrganizationID: in}, page.First)
			check(t, err)
			for _, e := range slices.Backward(found.Items) {
				all = append(all, fmt.Sprintf("%s %s %s of %s by %d with %d/%d from %q in %q: %s",
					e.Scope, e.ItemID, e.Verb, e.Name, e.User.ID, e.KeyID, e.SessionID, e.Address, e.RequestID, e.Changes))
			}
			return all
		}
		first, _ := create(t, k, Draft{UserID: userID, Scope: All})
		session := signedIn(t, k, SessionDraft{UserID: userID, Method: ByKey, KeyID: first.ID})
		self := session.Caller()
		self.RequestID, self.Address = "request", "192.0.2.1"
		bound, _, err := k.CreateOwn(t.Context(), self, OwnDraft{Scope: PluginRead, OrganizationID: "two"})
		check(t, err)
		check(t, k.RevokeOwn(t.Context(), self, bound.ID))
		check(t, k.Revoke(t.Context(), first.ID))
		by := fmt.Sprintf(`by %d with %d/1 from "192.0.2.1" in "request"`, userID, first.ID)
		made := fmt.Sprintf(`Key %d created of ada@x.example by 0 with 0/0 from "" in "": [{"action":"changed","field":"scopes","before":null,"after":["*"]}]`, first.ID)
		signedIn := fmt.Sprintf(`Session 1 signed_in of ada@x.example by %d with %d/1 from "" in "": [{"action":"changed","field":"method","before":null,"after":"key"}]`, userID, first.ID)
		ended := `Session 1 ended of ada@x.example by 0 with 0/0 from "" in "": []`
		revoked := fmt.Sprintf(`Key %d revoked of ada@x.example by 0 with 0/0 from "" in "": []`, first.ID)
		for in, want := range map[string][]string{
			"one": {made, signedIn, ended, revoked},
			"two": {
				made, signedIn,
				fmt.Sprintf(`Key %d created of ada@x.example %s: [{"action":"changed","field":"scopes","before":null,"after":["plugin:read"]}]`, bound.ID, by),
				fmt.Sprintf(`Key %d revoked of ada@x.example %s: []`, bound.ID, by),
				ended, revoked,
			},
			"not-mine": nil,
		} {
			if got := recorded(in); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", in, got, want)
			}
		}
	})
}

// An entry that comes too late for an organization, such as a sign-in that fails while the organization is erased, is
// not recorded.
func TestNothingIsRecordedInWhatIsErased(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		userID, _ := withKeys(t, k)
		join(t, k, userID, acme)
		record := func(want int) {
			t.Helper()
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return k.Record(ctx, tx, Key{UserID: userID, OrganizationID: acme}, activity.Entry{Scope: activity.Session, Verb: activity.SignInFailed})
			})
			found, listed := activity.List(t.Context(), d, activity.Filter{OrganizationID: acme}, page.First)
			if err != nil || listed != nil || found.Count != want {
				t.Errorf("%d entries, want %d, %v, %v", found.Count, want, err, listed)
			}
		}
		record(1)
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return errors.Join(
				db.Exec(ctx, tx, `DELETE FROM memberships WHERE organization_id = $1`, acme),
				db.Exec(ctx, tx, `DELETE FROM organizations WHERE id = $1`, acme))
		})
		check(t, err)
		record(1)
	})
}
