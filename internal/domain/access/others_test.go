package access

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/lastuse"
)

// A user sees their own sessions, and no others.
func TestSessionsOfOthersAreNotSeen(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		ada, bea := newUser(t, k, "ada"), newUser(t, k, "bea")
		var ids []int64
		for _, user := range []int64{ada, bea, ada} {
			id := signedIn(t, k, SessionDraft{UserID: user, Method: ByMail})
			ids = append(ids, id.SessionID)
		}
		c := Caller{UserID: ada}
		found, err := k.OwnSessions(t.Context(), c, page.First)
		if err != nil || found.Count != 2 || len(found.Items) != 2 || found.Items[0].ID != ids[0] || found.Items[1].ID != ids[2] {
			t.Errorf("%+v, %v", found, err)
		}
		for _, id := range []int64{ids[0], ids[2]} {
			if s, err := k.OwnSession(t.Context(), c, id); err != nil || s.ID != id {
				t.Errorf("%+v, %v", s, err)
			}
		}
		if s, err := k.OwnSession(t.Context(), c, ids[1]); !errors.Is(err, ErrNotFound) {
			t.Errorf("another user's: %+v, %v", s, err)
		}
	})
}

// All keys and sessions of a user end at once, whether a session began with a key or not. Those of others stay.
func TestRevokeAllOfAUser(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		ada, bea := newUser(t, k, "ada"), newUser(t, k, "bea")
		type credentials struct{ key, byKey, byMail string }
		all := map[int64]credentials{}
		for _, user := range []int64{ada, bea} {
			key, secret := create(t, k, Draft{UserID: user, Scope: All})
			all[user] = credentials{
				secret, begin(t, k, SessionDraft{UserID: user, Method: ByKey, KeyID: key.ID}), begin(t, k, SessionDraft{UserID: user, Method: ByMail}),
			}
		}
		err := k.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error { return k.RevokeAll(ctx, tx, Caller{}, ada) })
		check(t, err)
		for user, want := range map[int64]bool{ada: false, bea: true} {
			_, err := k.Identify(t.Context(), all[user].key)
			if err != nil && !fault.Is(err, fault.AuthenticationFailed) {
				t.Fatal(err)
			}
			if got := []bool{err == nil, holds(t, k, all[user].byKey), holds(t, k, all[user].byMail)}; slices.Contains(got, !want) {
				t.Errorf("of user %d the key, its session and the other session work: %v, want %t", user, got, want)
			}
		}
	})
}

// A key that is bound to an organization sees only keys that are bound to the same.
func TestBoundKeySeesItsKind(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		ada, bea := newUser(t, k, "ada"), newUser(t, k, "bea")
		const other = "01890000-0000-7000-8000-000000000002"
		join(t, k, ada, acme)
		join(t, k, ada, other)
		var ids []int64
		for _, d := range []Draft{{UserID: ada}, {UserID: ada, OrganizationID: acme}, {UserID: ada, OrganizationID: other}, {UserID: bea}} {
			d.Scope = All
			key, _ := create(t, k, d)
			ids = append(ids, key.ID)
		}
		for boundTo, want := range map[string][]int64{"": ids[:3], acme: ids[1:2], other: ids[2:3]} {
			found, err := k.Own(t.Context(), Caller{UserID: ada, BoundTo: boundTo}, page.First)
			var got []int64
			for _, key := range found.Items {
				got = append(got, key.ID)
			}
			if err != nil || found.Count != len(want) || !slices.Equal(got, want) {
				t.Errorf("bound to %q it sees %d of %d, want %d, %v", boundTo, got, found.Count, want, err)
			}
		}
	})
}

// A key that is bound to an organization makes only keys that are bound to the same, though its user has others.
func TestBoundKeyMakesItsKind(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		ada := newUser(t, k, "ada")
		const other = "01890000-0000-7000-8000-000000000002"
		join(t, k, ada, acme)
		join(t, k, ada, other)
		bound := Caller{UserID: ada, Scope: All, BoundTo: acme}
		for _, wanted := range []string{"", acme} {
			if made, _, err := k.CreateOwn(t.Context(), bound, OwnDraft{Scope: All, OrganizationID: wanted}); err != nil || made.OrganizationID != acme {
				t.Errorf("for %q: %+v, %v", wanted, made, err)
			}
		}
		if made, _, err := k.CreateOwn(t.Context(), bound, OwnDraft{Scope: All, OrganizationID: other}); !errors.Is(err, errNotYours) {
			t.Errorf("for another: %+v, %v", made, err)
		}
	})
}

// The last use of a key, a session or a member is theirs alone. An earlier one that another server stores late does not
// replace it.
func TestLastUseIsTheLatest(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		type holder struct {
			user, key, session int64
			organization       string
		}
		var all []holder
		for _, name := range []string{"ada", "bea"} {
			h := holder{user: newUser(t, k, name), organization: acme[:len(acme)-3] + name}
			join(t, k, h.user, h.organization)
			key, _ := create(t, k, Draft{UserID: h.user, Scope: All})
			id := signedIn(t, k, SessionDraft{UserID: h.user, Method: ByMail})
			h.key, h.session = key.ID, id.SessionID
			all = append(all, h)
		}
		dbtest.Exec(t, d, `
			INSERT INTO memberships (organization_id, user_id, level, joined_at, updated_at)
			SELECT o.id, u.id, 1, CAST($1 AS TIMESTAMPTZ), CAST($1 AS TIMESTAMPTZ) FROM organizations o, users u WHERE true
			ON CONFLICT DO NOTHING`, c.now) // each is a member of both organizations
		early, late := c.now.Add(time.Hour), c.now.Add(2*time.Hour)
		mark := func(h holder, at time.Time) {
			t.Helper()
			err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				return errors.Join(
					markKeyUsed(ctx, tx, lastuse.Used{ID: h.key}, at),
					markKeyUsedIn(ctx, tx, lastuse.Used{ID: h.key, OrganizationID: h.organization}, at),
					markSessionUsed(ctx, tx, lastuse.Used{ID: h.session}, at),
					markMemberActive(ctx, tx, lastuse.Used{ID: h.user, OrganizationID: h.organization}, at))
			})
			check(t, err)
		}
		mark(all[0], early)
		for _, at := range []time.Time{early, late, early} {
			mark(all[1], at)
		}
		for i, want := range []time.Time{early, late} {
			n, err := db.One[int](t.Context(), d, nil, `
				SELECT (SELECT COUNT(*) FROM keys WHERE id = $1 AND last_used_at = $4)
					+ (SELECT COUNT(*) FROM key_uses WHERE key_id = $1 AND last_used_at = $4)
					+ (SELECT COUNT(*) FROM sessions WHERE id = $2 AND last_used_at = $4)
					+ (SELECT COUNT(*) FROM memberships WHERE user_id = $3 AND last_active_at = $4 AND organization_id = $5)`,
				all[i].key, all[i].session, all[i].user, want, all[i].organization)
			if err != nil || n != 4 {
				t.Errorf("of %+v %d of 4 times are right, %v", all[i], n, err)
			}
		}
		n, err := db.One[int](t.Context(), d, nil, `
			SELECT (SELECT COUNT(*) FROM key_uses) + (SELECT COUNT(*) FROM memberships WHERE last_active_at IS NOT NULL)`)
		if err != nil || n != 4 {
			t.Errorf("%d uses in organizations, want 4, %v", n, err)
		}
	})
}
