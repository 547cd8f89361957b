package invite_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
)

func TestAddMemberTakesTheInviteBack(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		elsewhere := r.join(r.newOrg("Other"), "owner@other.example", access.Owner)
		theirs := r.invite(elsewhere, draft("ada@x.example"))
		ours, kept := r.invite(r.owner, draft("ada@x.example")), r.invite(r.owner, draft("ben@x.example"))

		m, err := r.invites.AddMember(r.Context(), r.owner.Organization.ID, " Ada@X.example", access.Admin)
		if err != nil || m.User.Email != "ada@x.example" || m.Level != access.Admin {
			r.Fatalf("%+v, %v", m, err)
		}
		left, err := r.invites.Find(r.Context(), r.owner, invite.Filter{}, page.First)
		if err != nil || left.Count != 1 || len(left.Items) != 1 || left.Items[0].ID != kept.ID {
			r.Errorf("left: %+v, %v", left, err)
		}
		if _, err := r.invites.Open(r.Context(), r.mailedToken(ours)); !fault.Is(err, fault.NotFound) {
			r.Errorf("its link: %v", err)
		}
		if _, err := r.invites.Open(r.Context(), r.mailedToken(theirs)); err != nil {
			r.Errorf("the link of another organization: %v", err)
		}
		found, err := activity.List(r.Context(), r.db, activity.Filter{
			OrganizationID: r.owner.Organization.ID, Scopes: []activity.Scope{activity.Invite}, ItemID: ours.ID,
		}, page.First)
		if told := found.Items; err != nil || len(told) != 2 || told[0].Verb != activity.Deleted || told[0].User.ID != 0 || told[0].Name != "ada@x.example" {
			r.Errorf("told: %+v, %v", told, err)
		}
	})
}

func TestAddMemberRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		in := r.owner.Organization.ID
		for _, c := range []struct {
			in, email string
			want      fault.Kind
		}{
			{in, "ada", fault.Invalid},
			{in, "owner@acme.example", fault.AlreadyMember},
			{"01890000-0000-7000-8000-000000000001", "ada@x.example", fault.NotFound},
		} {
			if _, err := r.invites.AddMember(r.Context(), c.in, c.email, access.Member); !fault.Is(err, c.want) {
				r.Errorf("%s in %s: %v", c.email, c.in, err)
			}
		}
	})
}

// Nobody is both a member and invited, whichever comes first.
func TestAddMemberBesideInvite(t *testing.T) {
	t.Parallel()
	eachBeside(t, func(r *rig, other invite.Service) {
		for i := range 20 {
			email := "ada" + strconv.Itoa(i) + "@x.example"
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := r.invites.Create(r.Context(), r.owner, draft(email)); err != nil && !fault.Is(err, fault.AlreadyMember) {
					r.Error(err)
				}
			})
			both.Go(func() {
				if _, err := other.AddMember(r.Context(), r.owner.Organization.ID, email, access.Member); err != nil {
					r.Error(err)
				}
			})
			both.Wait()
		}
		left, err := r.invites.Find(r.Context(), r.owner, invite.Filter{}, page.First)
		if err != nil || left.Count != 0 || len(left.Items) != 0 {
			r.Errorf("left: %+v, %v", left, err)
		}
	})
}

// A user whose address changes while they invite the new address is not both a member and invited, either.
func TestChangeOfAddressBesideInvite(t *testing.T) {
	t.Parallel()
	eachBeside(t, func(r *rig, other invite.Service) {
		orgs := org.Service{DB: other.DB, Keys: other.Keys, Withdraw: other.Withdraw}
		email := "owner@acme.example"
		for i := range 20 {
			next := "ada" + strconv.Itoa(i) + "@x.example"
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := r.invites.Create(r.Context(), r.owner, draft(next)); err != nil && !fault.Is(err, fault.AlreadyMember) {
					r.Error(err)
				}
			})
			both.Go(func() {
				if _, err := orgs.SetUser(r.Context(), email, org.SelfPatch{Email: patch.Of(next)}); err != nil {
					r.Error(err)
				}
			})
			both.Wait()
			email = next
		}
		left, err := r.invites.Find(r.Context(), r.owner, invite.Filter{}, page.First)
		if err != nil || left.Count != 0 || len(left.Items) != 0 {
			r.Errorf("left: %+v, %v", left, err)
		}
	})
}

// Somebody who was removed on another server a moment ago, and is a member elsewhere, invites nobody any more, although
// this server still has their rights in memory.
func TestInviterRemovedOnAnotherServer(t *testing.T) {
	t.Parallel()
	eachBeside(t, func(r *rig, other invite.Service) {
		now := other.DB.Now()
		other.DB.Now = func() time.Time { return now }
		const email = "ada@acme.example"
		here := r.owner.Organization.ID
		m, err := r.invites.AddMember(r.Context(), here, email, access.Admin)
		if err != nil {
			r.Fatal(err)
		}
		r.join(r.newOrg("Umbrella"), email, access.Admin)
		_, key, err := r.invites.Keys.Create(r.Context(), access.Draft{UserID: m.User.ID, Scope: access.All})
		if err != nil {
			r.Fatal(err)
		}
		id, err := other.Keys.Identify(r.Context(), key)
		if err != nil {
			r.Fatal(err)
		}
		ada, err := other.Keys.Enter(r.Context(), id, here)
		if err != nil {
			r.Fatal(err)
		}
		if _, err := other.Create(r.Context(), ada, draft("bob@x.example")); err != nil {
			r.Fatal(err)
		}
		r.leave(email)
		if _, err := other.Create(r.Context(), ada, draft("carl@x.example")); !errors.Is(err, access.ErrChanged) {
			r.Error(err)
		}
	})
}
