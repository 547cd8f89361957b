package org_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// If the server's maximum for invites is below an organization's minimum, the error names no range of seconds.
func TestInvitesThatLiveForSeconds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := org.Service{DB: d, Keys: access.NewKeys(d), MaxInviteTTL: 30 * time.Second}
		o, err := s.Create(t.Context(), "Acme")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Set(t.Context(), access.Caller{}, o.ID, org.Settings{InviteTTL: new(int64(60))})
		if want := "Must be null: invites live as long as the server says, 30 seconds."; !fault.Is(err, fault.Invalid) || fault.Of(err)[0].Detail != want {
			t.Error(err)
		}
		if _, err := s.Set(t.Context(), access.Caller{}, o.ID, org.Settings{InviteTTL: new(int64(0))}); err != nil {
			t.Error(err)
		}
	})
}

// The activity shows that an organization was made and its settings changed; a request that changes no setting is not
// recorded.
func TestSettingsAreRecorded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := org.Service{DB: d, Keys: access.NewKeys(d), MaxInviteTTL: time.Hour}
		o, err := s.Create(t.Context(), "Acme")
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range []org.Settings{
			{},
			{Name: new("Acme"), MembersCanInvite: new(true)},
			{Name: new("Renamed"), MembersCanInvite: new(false), MembersCanManageApps: new(true)},
			{AppAccess: new(access.ReadApps), AllowedDomains: &[]string{"x.example"}},
			{AppAccess: new(access.NoApps), Reason: " It leaks. "},
			{AppAccess: new(access.NoApps), Reason: "It is sent again."}, // which changes nothing
			{AppAccess: new(access.NoApps), Reason: "Too late.", MembersCanInvite: new(true)},
			{AllowedDomains: &[]string{"x.example", " X.Example"}}, // one domain, as before
			{InviteTTL: new(int64(60))},
			{InviteTTL: new(int64(0))},
		} {
			if _, err := s.Set(t.Context(), access.Caller{}, o.ID, set); err != nil {
				t.Fatal(err)
			}
		}
		found, err := activity.List(t.Context(), d, activity.Filter{OrganizationID: o.ID}, page.First)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range slices.Backward(found.Items) {
			got = append(got, fmt.Sprintln(e.Scope, e.ItemID == o.ID, e.Verb, e.Name, e.Changes))
		}
		want := []string{
			"Organization true created Acme []\n",
			`Organization true updated Renamed [{"action":"changed","field":"name","before":"Acme","after":"Renamed"},` +
				`{"action":"changed","field":"members_can_invite","before":true,"after":false},` +
				`{"action":"changed","field":"members_can_manage_apps","before":false,"after":true}]` + "\n",
			`Organization true updated Renamed [{"action":"changed","field":"access_level","before":9,"after":3},` +
				`{"action":"changed","field":"allowed_domains","before":[],"after":["x.example"]}]` + "\n",
			`Organization true updated Renamed [{"action":"changed","field":"access_level","before":3,"after":0},` +
				`{"action":"changed","field":"reason","before":null,"after":"It leaks."}]` + "\n",
			`Organization true updated Renamed [{"action":"changed","field":"members_can_invite","before":false,"after":true}]` + "\n",
			`Organization true updated Renamed [{"action":"changed","field":"invite_ttl","before":null,"after":60}]` + "\n",
			`Organization true updated Renamed [{"action":"changed","field":"invite_ttl","before":60,"after":null}]` + "\n",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A reason can be given for a lower access level, and for nothing else.
func TestReasonOfAnAccessLevel(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := org.Service{DB: d, Keys: access.NewKeys(d)}
		o, err := s.Create(t.Context(), "Acme")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Set(t.Context(), access.Caller{}, o.ID, org.Settings{AppAccess: new(access.ReadApps)}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			set  org.Settings
			want fault.Kind
		}{
			{org.Settings{Name: new("Renamed"), Reason: "why"}, fault.Invalid},
			{org.Settings{AppAccess: new(access.InstallApps), Reason: "why"}, fault.Invalid},
			{org.Settings{AppAccess: new(access.NoApps), Reason: " "}, fault.Blank},
			{org.Settings{AppAccess: new(access.NoApps), Reason: strings.Repeat("x", 501)}, fault.TooLong},
		} {
			if _, err := s.Set(t.Context(), access.Caller{}, o.ID, c.set); !fault.Is(err, c.want) || fault.Of(err)[0].Field != "reason" {
				t.Errorf("%+v: %v", c.set, err)
			}
		}
		if got, err := s.Get(t.Context(), o.ID); err != nil || got.Name != "Acme" || got.AppAccess != access.ReadApps {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// The activity shows the keys and sessions that a removed member loses with their membership, and who removed them.
func TestKeysOfARemovedMemberAreRecorded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := org.Service{DB: d, Keys: access.NewKeys(d)}
		o, _ := newOrg(t, s, "Acme")
		owner, ada := join(t, s, o.ID, "eve@x.example", access.Owner), join(t, s, o.ID, "ada@x.example", access.Member)
		err := s.Keys.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			key, err := s.Keys.Insert(ctx, tx, access.Caller{}, access.Draft{UserID: ada.User.ID, OrganizationID: o.ID, Scope: access.All}, access.NewKey())
			if err != nil {
				return err
			}
			_, err = s.Keys.InsertSession(ctx, tx, access.SessionDraft{UserID: ada.User.ID, Method: access.ByKey, KeyID: key.ID})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		by := access.Caller{UserID: owner.User.ID, Scope: access.All, Level: access.Owner, Organization: o.Organization}
		if err := s.Expel(t.Context(), by, ada.User.UUID); err != nil {
			t.Fatal(err)
		}
		for _, verb := range []activity.Verb{activity.Revoked, activity.Ended} {
			f := activity.Filter{OrganizationID: o.ID, Scopes: []activity.Scope{activity.Key, activity.Session}, Verb: verb}
			found, err := activity.List(t.Context(), d, f, page.First)
			if err != nil || found.Count != 1 || found.Items[0].Name != "ada@x.example" || found.Items[0].User.ID != owner.User.ID {
				t.Errorf("%s: %+v, %v", verb, found, err)
			}
		}
	})
}
