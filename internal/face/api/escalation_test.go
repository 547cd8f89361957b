package api_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
)

// A chain of up to four operations that make or end keys, invites, links, members, sessions or addresses gains no more
// than the scopes of its first key and a plain member's permissions. A key that is bound to the organization gains only
// what is bound to it too.
func TestKeyLeadsToNoMoreThanItsScopes(t *testing.T) { //nolint:tparallel // each runs them in parallel
	for _, scopes := range [][]string{
		{"plugin:read"}, {"plugin:write"}, {"organization_member:read"}, {"organization_member:write"}, {"plugin:write", "organization_member:write"},
	} {
		given, err := access.ParseScopes(scopes)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.Join(scopes, " "), func(t *testing.T) {
			each(t, func(r *rig) { climbFrom(r, access.Draft{UserID: r.owner.User.ID, Scope: given}) })
		})
		t.Run(strings.Join(scopes, " ")+", bound", func(t *testing.T) {
			each(t, func(r *rig) {
				climbFrom(r, access.Draft{UserID: r.owner.User.ID, OrganizationID: r.org.ID, Scope: given})
			})
		})
	}
}

// climbFrom searches for everything that a key of the owner leads to.
func climbFrom(r *rig, d access.Draft) {
	r.t.Helper()
	_, key, err := r.keys.Create(r.t.Context(), d)
	if err != nil {
		r.t.Fatal(err)
	}
	c := newClimb(r)
	c.search(key)
	for h := range c.seen {
		owners := h.who == "owner" && (h.kind != "key" && h.kind != "session" || !d.Scope.Includes(h.scope) || d.OrganizationID != "" && !h.bound)
		if owners || h.who == "member" || h.who != "owner" && h.level > access.Member {
			r.t.Errorf("leads to %+v", h)
		}
	}
	if where := c.climbed(); where != nil {
		r.t.Errorf("leads to %v", where)
	}
	r.t.Logf("%d operations tried, %d things gained", c.tried, len(c.seen))
}

// The same search finds what a key with the scope * may do, so the search does work.
func TestSearchFindsWhatAKeyLeadsTo(t *testing.T) {
	each(t, func(r *rig) {
		c := newClimb(r)
		c.search(r.newKey(r.owner, "*"))
		for _, want := range []gain{
			{kind: "key", who: "other", level: access.Owner, scope: access.All, bound: true}, // by an invite for an owner
			{kind: "session", who: "other", level: access.Owner, scope: access.All},          // the same by the identity provider
			{kind: "session", who: "owner", level: access.Owner, scope: access.All},          // by another address
		} {
			if !c.seen[want] {
				r.t.Errorf("does not find %+v in %v", want, slices.Collect(maps.Keys(c.seen)))
			}
		}
		if where := c.climbed(); !slices.Contains(where, "an address") || !slices.Contains(where, "settings") || !slices.Contains(where, "levels") || !slices.Contains(where, "keys that others use") {
			r.t.Errorf("found only %q", where)
		}
		r.t.Logf("%d operations tried, %d things gained", c.tried, len(c.seen))
	})
}

// climbed names the changes that only an owner's key with * may make.
func (c *climb) climbed() (where []string) {
	c.t.Helper()
	count := func(what, query string, args ...any) {
		n, err := db.One[int](c.t.Context(), c.db, nil, query, args...)
		if err != nil {
			c.t.Fatal(err)
		}
		if n != 0 {
			where = append(where, what)
		}
	}
	count("levels", `SELECT COUNT(*) FROM memberships WHERE organization_id = $1 AND level > 1 AND user_id <> $2`, c.org.ID, c.owner.User.ID)
	count("an invite above member", `SELECT COUNT(*) FROM invites WHERE organization_id = $1 AND level > 1 AND id <> $2`, c.org.ID, c.boss)
	count("keys that others use", `SELECT 2 - COUNT(*) FROM keys WHERE id IN ($1, $2)`, c.kept[0], c.kept[1])
	count("settings", `SELECT COUNT(*) FROM organizations WHERE id = $1 AND name <> $2`, c.org.ID, c.org.Name)
	count("an address", `SELECT COUNT(*) FROM users WHERE id = $1 AND (email <> 'owner@acme.example' OR first_name <> '')`, c.owner.User.ID)
	return where
}
