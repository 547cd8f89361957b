package org_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// newOrg makes an organization with members.
func newOrg(t *testing.T, s org.Service, name string, emails ...string) (o org.Organization, members []org.Membership) {
	t.Helper()
	o, err := s.Create(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, email := range emails {
		members = append(members, join(t, s, o.ID, email, access.Member))
	}
	return o, members
}

// join makes somebody a member of an organization.
func join(t *testing.T, s org.Service, organizationID, email string, level access.Level) (m org.Membership) {
	t.Helper()
	err := s.Keys.Change(t.Context(), func(ctx context.Context, tx *db.Tx) (err error) {
		m, err = s.InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: organizationID, User: org.User{Email: email}, Level: level})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A user's keys list their organizations, and a key that is bound to one lists only that.
func TestMine(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := org.Service{DB: d, Keys: access.NewKeys(d)}
		one, members := newOrg(t, s, "One", "ada@x.example", "bea@x.example")
		two, _ := newOrg(t, s, "Two", "ada@x.example")
		newOrg(t, s, "Three", "bea@x.example")
		for boundTo, want := range map[string][]string{"": {one.ID, two.ID}, one.ID: {one.ID}, two.ID: {two.ID}} {
			found, err := s.Mine(t.Context(), access.Caller{UserID: members[0].User.ID, BoundTo: boundTo}, page.First)
			var got []string
			for _, o := range found.Items {
				got = append(got, o.ID)
			}
			if err != nil || found.Count != len(want) || !slices.Equal(got, want) {
				t.Errorf("bound to %q it lists %q of %d, want %q, %v", boundTo, got, found.Count, want, err)
			}
		}
	})
}

// A member is found by the name and the address that they have now.
func TestFindRenamedMember(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := org.Service{DB: d, Keys: access.NewKeys(d)}
		o, _ := newOrg(t, s, "Acme", "ada@x.example", "bea@x.example")
		finds := func(text string, want int) {
			t.Helper()
			found, err := s.FindMembers(t.Context(), access.Caller{Organization: o.Organization}, org.MemberFilter{Search: text}, page.First)
			if err != nil || found.Count != want || len(found.Items) != want {
				t.Errorf("%q finds %d, want %d, %v", text, found.Count, want, err)
			}
		}
		for _, c := range []struct {
			change    org.SelfPatch
			now, then string
		}{
			{org.SelfPatch{FirstName: patch.Of("Ada"), LastName: patch.Of("Byron")}, "ada byron", "lovelace"},
			{org.SelfPatch{LastName: patch.Of("Lovelace")}, "ada lovelace", "byron"},
			{org.SelfPatch{Email: patch.Of("countess@x.example")}, "countess", "ada@x"},
		} {
			if _, err := s.SetUser(t.Context(), "ada@x.example", c.change); err != nil {
				t.Fatal(err)
			}
			finds(c.now, 1)
			finds(c.then, 0)
			finds("x.example", 2)
		}
	})
}

// All keys and sessions of a user end when the user is erased, also those that are bound to no organization. If an
// operator gives the user another address, sessions end, since somebody may have begun them at the old one.
func TestWhatEndsWithAUser(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := org.Service{DB: d, Keys: access.NewKeys(d)}
		_, members := newOrg(t, s, "Acme", "ada@x.example", "bea@x.example")
		var keys, sessions []string
		for _, m := range members {
			_, key, err := s.Keys.Create(t.Context(), access.Draft{UserID: m.User.ID, Scope: access.All})
			if err != nil {
				t.Fatal(err)
			}
			session, err := s.Keys.BeginSession(t.Context(), access.SessionDraft{UserID: m.User.ID, Method: access.ByMail})
			if err != nil {
				t.Fatal(err)
			}
			keys, sessions = append(keys, key), append(sessions, session)
		}
		want := func(key, session bool) {
			t.Helper()
			_, keyEnded := s.Keys.Identify(t.Context(), keys[0])
			_, sessionEnded := s.Keys.IdentifySession(t.Context(), sessions[0])
			if (keyEnded == nil) != key || (sessionEnded == nil) != session {
				t.Errorf("the key: %v, the session: %v, want %t, %t", keyEnded, sessionEnded, key, session)
			}
			_, keyEnded = s.Keys.Identify(t.Context(), keys[1])
			_, sessionEnded = s.Keys.IdentifySession(t.Context(), sessions[1])
			if err := errors.Join(keyEnded, sessionEnded); err != nil {
				t.Errorf("another user's: %v", err)
			}
		}
		if _, err := s.SetUser(t.Context(), "ada@x.example", org.SelfPatch{FirstName: patch.Of("Ada")}); err != nil {
			t.Fatal(err)
		}
		want(true, true)
		if _, err := s.SetUser(t.Context(), "ada@x.example", org.SelfPatch{Email: patch.Of("ada@new.example")}); err != nil {
			t.Fatal(err)
		}
		want(true, false)
		var err error
		if sessions[0], err = s.Keys.BeginSession(t.Context(), access.SessionDraft{UserID: members[0].User.ID, Method: access.ByMail}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.EraseUser(t.Context(), "ada@new.example"); err != nil {
			t.Fatal(err)
		}
		want(false, false)
	})
}

// Only admins see the activity, its stream and its head.
func TestActivityIsForAdmins(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := org.Service{DB: d, Keys: access.NewKeys(d)}
		o, _ := newOrg(t, s, "Acme")
		for _, level := range []access.Level{access.Member, access.Admin, access.Owner} {
			for _, scope := range []access.Scope{access.All, access.MemberRead} {
				c := access.Caller{Level: level, Scope: scope, Organization: o.Organization}
				_, listed := s.Activity(t.Context(), c, activity.Filter{}, page.First)
				streamed := s.StreamActivity(t.Context(), c, activity.Filter{}, func([]activity.Stored) error { return nil })
				_, head := s.ActivityHead(t.Context(), c)
				for what, err := range map[string]error{"list": listed, "stream": streamed, "head": head} {
					if may := level >= access.Admin; may && err != nil || !may && !fault.Is(err, fault.Denied) {
						t.Errorf("%s, by %s with %s: %v", what, level, scope, err)
					}
				}
			}
		}
	})
}

// Raising a level needs all scopes: otherwise a key for members alone would lead to one that can do all.
func TestMayGive(t *testing.T) {
	t.Parallel()
	for _, scope := range []access.Scope{access.All, access.MemberWrite} {
		for _, own := range []access.Level{access.Admin, access.Owner} {
			for _, present := range []access.Level{access.Member, access.Admin, access.Owner} {
				for _, wanted := range []access.Level{access.Member, access.Admin, access.Owner} {
					may := wanted <= own && (wanted <= present || scope == access.All)
					if err := org.MayGive(access.Caller{Scope: scope}, own, present, wanted); (err == nil) != may {
						t.Errorf("by an %s with %s, from %s to %s: %v", own, scope, present, wanted, err)
					}
				}
			}
		}
	}
}
