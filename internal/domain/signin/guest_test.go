package signin_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/signin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/job"
)

// Somebody who is not a user yet and has invites signs in as a guest: nothing is made before they accept, and they need
// no mailed link.
func TestGuest(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join("ada@x.example", false, false)
		host := access.Caller{UserID: ada.ID, Scope: access.All, Level: access.Member, Organization: r.org.Organization}
		offer := func() string {
			i, err := r.Invites.Create(t.Context(), host, invite.Draft{TargetEmail: patch.Of("eve@x.example"), FirstName: patch.Of("Eve")})
			if err != nil {
				t.Fatal(err)
			}
			return i.ID
		}
		if _, err := r.ByProvider(t.Context(), person("2", "eve@x.example"), access.SessionDraft{}); !fault.Is(err, fault.Denied) {
			t.Errorf("without an invite: %v", err)
		}
		declined := offer()
		in, err := r.ByProvider(t.Context(), person("2", "Eve@x.example"), access.SessionDraft{})
		if err != nil || in.Session != "" || r.count("users") != 1 || r.count("identities") != 0 || r.count("sessions") != 0 {
			t.Fatalf("%+v, %v", in, err)
		}
		if err := r.DeclineAsGuest(t.Context(), in.Guest, declined, access.SessionDraft{RequestID: "request"}); err != nil {
			t.Error(err)
		}
		id := offer()
		if _, open, err := r.GuestInvites(t.Context(), in.Guest); err != nil || len(open) != 1 || open[0].ID != id {
			t.Errorf("%+v, %v", open, err)
		}
		for name, sealed := range map[string]string{"none": "", "a session": "fos_x", "altered": in.Guest[:len(in.Guest)-1] + "."} {
			if _, err := r.AcceptAsGuest(t.Context(), sealed, id, invite.Names{}, access.SessionDraft{}); !fault.Is(err, fault.NotAuthenticated) {
				t.Errorf("%s: %v", name, err)
			}
		}
		late := r.now
		r.now = r.now.Add(signin.GuestTime)
		if _, err := r.Guest(t.Context(), in.Guest); !fault.Is(err, fault.NotAuthenticated) {
			t.Errorf("late: %v", err)
		}
		r.now = late
		session, err := r.AcceptAsGuest(t.Context(), in.Guest, id, invite.Names{}, access.SessionDraft{})
		if err != nil {
			t.Fatal(err)
		}
		eve := r.user(session)
		u, err := r.Organizations.UserByEmail(t.Context(), "eve@x.example")
		if err != nil || u.ID != eve || !u.IsEmailVerified || u.FirstName != "Eve" || r.count("invites") != 0 {
			t.Errorf("%+v, %v, and %d invites are left", u, err, r.count("invites"))
		}
		again, err := r.ByProvider(t.Context(), person("2", "other@x.example"), access.SessionDraft{})
		if err != nil || r.user(again.Session) != eve {
			t.Errorf("by the same account: %v", err)
		}
		if _, err := r.AcceptAsGuest(t.Context(), in.Guest, id, invite.Names{}, access.SessionDraft{}); !fault.Is(err, fault.NotAuthenticated) {
			t.Errorf("who is a user since: %v", err)
		}
	})
}

// A link to somebody who is not a user yet ends as those to users do.
func TestGuestLinkEnds(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		host := access.Caller{UserID: r.join("ada@x.example", false, false).ID, Scope: access.All, Level: access.Owner, Organization: r.org.Organization}
		_, err := r.Invites.Create(t.Context(), host, invite.Draft{TargetEmail: patch.Of("eve@x.example")})
		if err := errors.Join(err, r.Ask(t.Context(), "eve@x.example", "client")); err != nil {
			t.Fatal(err)
		}
		item, err := db.One[string](t.Context(), r.DB, nil, `SELECT id FROM signin_requests`)
		mails, post := r.post()
		if err := errors.Join(err, post.Kind().Do(t.Context(), job.Job{Item: item})); err != nil {
			t.Fatal(err)
		}
		token := inMail.FindStringSubmatch(mails.Mails()[0].Text(t))[1]
		if email, err := r.Open(t.Context(), token); err != nil || email != "eve@x.example" {
			t.Errorf("%s, %v", email, err)
		}
		r.now = r.now.Add(signin.LinkTime)
		if _, err := r.Use(t.Context(), token, access.SessionDraft{}); !fault.Is(err, fault.Expired) {
			t.Errorf("late: %v", err)
		}
	})
}

// A guest who has signed out is no longer one, even if somebody has kept the cookie.
func TestGuestSignsOut(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		host := access.Caller{UserID: r.join("ada@x.example", false, false).ID, Scope: access.All, Level: access.Owner, Organization: r.org.Organization}
		i, err := r.Invites.Create(t.Context(), host, invite.Draft{TargetEmail: patch.Of("eve@x.example")})
		if err != nil {
			t.Fatal(err)
		}
		in, err := r.ByProvider(t.Context(), person("2", "eve@x.example"), access.SessionDraft{})
		if err != nil {
			t.Fatal(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.EndGuest(gone, in.Guest); !errors.Is(err, context.Canceled) {
			t.Errorf("who has hung up: %v", err)
		}
		if _, err := r.Guest(t.Context(), in.Guest); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		for _, sealed := range []string{in.Guest, in.Guest, "nobody"} {
			if err := r.EndGuest(t.Context(), sealed); err != nil {
				t.Errorf("%.10s: %v", sealed, err)
			}
		}
		if _, _, err := r.GuestInvites(t.Context(), in.Guest); !fault.Is(err, fault.NotAuthenticated) {
			t.Errorf("sees invites: %v", err)
		}
		if _, err := r.AcceptAsGuest(t.Context(), in.Guest, i.ID, invite.Names{}, access.SessionDraft{}); !fault.Is(err, fault.NotAuthenticated) {
			t.Errorf("accepts: %v", err)
		}
		if err := r.DeclineAsGuest(t.Context(), in.Guest, i.ID, access.SessionDraft{}); !fault.Is(err, fault.NotAuthenticated) {
			t.Errorf("declines: %v", err)
		}
	})
}

// A second click on "Sign out" finds nothing left to do.
func TestGuestSignsOutTwiceAtOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		host := access.Caller{UserID: r.join("ada@x.example", false, false).ID, Scope: access.All, Level: access.Owner, Organization: r.org.Organization}
		if _, err := r.Invites.Create(t.Context(), host, invite.Draft{TargetEmail: patch.Of("eve@x.example")}); err != nil {
			t.Fatal(err)
		}
		in, err := r.ByProvider(t.Context(), person("2", "eve@x.example"), access.SessionDraft{})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := r.EndGuest(t.Context(), in.Guest); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if _, err := r.Guest(t.Context(), in.Guest); !fault.Is(err, fault.NotAuthenticated) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// A guest whose account at the provider has become a user's meanwhile, under another address, signs in as that user.
func TestGuestTwice(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		host := access.Caller{UserID: r.join("ada@x.example", false, false).ID, Scope: access.All, Level: access.Owner, Organization: r.org.Organization}
		accept := func(email string) func() error {
			t.Helper()
			i, err := r.Invites.Create(t.Context(), host, invite.Draft{TargetEmail: patch.Of(email)})
			if err != nil {
				t.Fatal(err)
			}
			in, err := r.ByProvider(t.Context(), person("2", email), access.SessionDraft{})
			if err != nil {
				t.Fatal(err)
			}
			return func() error {
				_, err := r.AcceptAsGuest(t.Context(), in.Guest, i.ID, invite.Names{}, access.SessionDraft{})
				return err
			}
		}
		first, second := accept("eve@x.example"), accept("eve@married.example")
		if err := first(); err != nil {
			t.Fatal(err)
		}
		if err := second(); !fault.Is(err, fault.NotAuthenticated) {
			t.Error(err)
		}
	})
}

// A user answers the invites to their verified address, and no others.
func TestOwnInvites(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join("ada@x.example", false, false)
		verified, unverified := r.join("bea@x.example", true, true), r.join("cyd@x.example", true, false)
		other, err := r.Organizations.Create(t.Context(), "Other")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Invites.AddMember(t.Context(), other.ID, ada.Email, access.Owner); err != nil {
			t.Fatal(err)
		}
		host := access.Caller{UserID: ada.ID, Scope: access.All, Level: access.Owner, Organization: other.Organization}
		offer := func(u org.User) string {
			i, err := r.Invites.Create(t.Context(), host, invite.Draft{TargetEmail: patch.Of(u.Email)})
			if err != nil {
				t.Fatal(err)
			}
			return i.ID
		}
		mine, theirs := offer(verified), offer(unverified)
		c := access.Caller{UserID: verified.ID, Scope: access.All}
		if _, err := r.Invites.AcceptMine(t.Context(), c, theirs, ""); !fault.Is(err, fault.NotFound) {
			t.Errorf("an invite of another: %v", err)
		}
		if _, err := r.Invites.AcceptMine(t.Context(), access.Caller{UserID: unverified.ID, Scope: access.All}, theirs, ""); !fault.Is(err, fault.NotFound) {
			t.Errorf("an address that is not verified: %v", err)
		}
		bound := c
		bound.BoundTo = r.org.ID
		if _, err := r.Invites.AcceptMine(t.Context(), bound, mine, ""); !fault.Is(err, fault.Denied) {
			t.Errorf("a key that is bound: %v", err)
		}
		if o, err := r.Invites.AcceptMine(t.Context(), c, mine, ""); err != nil || o.ID != other.ID || o.Level != access.Member {
			t.Errorf("%+v, %v", o, err)
		}
		if err := r.Invites.DeclineMine(t.Context(), c, mine, ""); !fault.Is(err, fault.NotFound) {
			t.Errorf("accepted, then declined: %v", err)
		}
	})
}
