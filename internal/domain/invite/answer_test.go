package invite_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
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
	"foyer/internal/infra/db"
)

func (r *rig) wantFault(err error, kind fault.Kind) {
	r.Helper()
	if !fault.Is(err, kind) {
		r.Errorf("got %v, want a fault of kind %d", err, kind)
	}
}

func (r *rig) accept(token string) invite.Accepted {
	r.Helper()
	a, err := r.invites.Accept(r.Context(), token, invite.Names{}, access.Caller{})
	if err != nil {
		r.Fatal(err)
	}
	return a
}

// Erasing a user removes the invites they accepted, even if they have another address since and no entry of the
// activity shows the one that was invited. It removes those to their addresses too, whoever accepted them.
func TestEraseAccepted(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.run()
		r.invite(r.owner, draft("ada@former.example"))
		a := r.accept(r.mailed(1))
		r.accept(r.handed(r.invite(r.owner, draft("bob@x.example"))))
		kept := func() int {
			found, err := r.invites.Find(r.Context(), r.owner, invite.Filter{Statuses: []invite.Status{invite.IsAccepted}}, page.First)
			if err != nil {
				r.Fatal(err)
			}
			return found.Count
		}
		r.later(29 * 24 * time.Hour)
		if err := r.invites.Tidy(r.Context()); err != nil || kept() != 2 {
			r.Errorf("%d are left after 29 days, %v", kept(), err)
		}
		for i, p := range []activity.Person{
			{UserID: 1e6, Emails: []string{"ada@new.example"}},
			{UserID: 1e6, Emails: []string{"ada@new.example", "bob@x.example"}},
			{UserID: a.User.ID, Emails: []string{"ada@new.example"}},
		} {
			err := r.invites.DB.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error { return r.invites.EraseUser(ctx, tx, p) })
			if n := kept(); err != nil || n != 2-i {
				r.Errorf("%+v: %d are left, %v", p, n, err)
			}
		}
	})
}

// What is kept of one invite is removed, only in its own organization, and by who may delete the invite.
func TestForgetOne(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		elsewhere := r.join(r.newOrg("Umbrella"), "owner@umbrella.example", access.Owner)
		member := r.join(r.owner.Organization, "member@acme.example", access.Member)
		one, theirs, other := r.invite(r.owner, draft("ada@x.example")), r.invite(member, draft("bob@x.example")), r.invite(r.owner, draft("carl@x.example"))
		for _, i := range []invite.Invite{one, theirs, other} {
			r.accept(r.handed(i))
		}
		r.wantFault(r.invites.Delete(r.Context(), elsewhere, one.ID), fault.NotFound)
		r.wantFault(r.invites.Delete(r.Context(), member, one.ID), fault.Denied)
		r.accepted(one.ID)
		if err := r.invites.Delete(r.Context(), member, theirs.ID); err != nil {
			r.Fatal(err)
		}
		if err := r.invites.Delete(r.Context(), r.owner, one.ID); err != nil {
			r.Fatal(err)
		}
		r.accepted(other.ID)
		r.wantFault(r.invites.Delete(r.Context(), r.owner, one.ID), fault.NotFound)
	})
}

// If several transactions remove what is kept of an invite at once, such as one that erases its organization, one
// removes it and is recorded.
func TestAcceptedIsRemovedOnce(t *testing.T) {
	t.Parallel()
	eachBeside(t, func(r *rig, other invite.Service) {
		for n := range 5 {
			i := r.invite(r.owner, draft(fmt.Sprintf("ada%d@x.example", n)))
			r.accept(r.handed(i))
			results := make(chan error, 8)
			for k := range cap(results) {
				go func() { results <- []invite.Service{r.invites, other}[k%2].Delete(r.Context(), r.owner, i.ID) }()
			}
			done := 0
			for range cap(results) {
				if err := <-results; err == nil {
					done++
				} else {
					r.wantFault(err, fault.NotFound)
				}
			}
			if done != 1 {
				r.Errorf("%d of %d removed it", done, cap(results))
			}
			told, err := activity.List(r.Context(), r.db, activity.Filter{OrganizationID: r.owner.Organization.ID, ItemID: i.ID, Verb: activity.Deleted}, page.First)
			if err != nil || told.Count != 1 {
				r.Errorf("%d entries, %v", told.Count, err)
			}
		}
	})
}

func TestAcceptMakesAMember(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.run()
		r.invite(r.owner, invite.Draft{TargetEmail: patch.Of("ada@x.example"), FirstName: patch.Of("Ada"), Level: patch.Of("admin")})
		token := r.mailed(1)
		a, err := r.invites.Accept(r.Context(), token, invite.Names{LastName: patch.Of("Lovelace")}, access.Caller{RequestID: "req"})
		if err != nil {
			r.Fatal(err)
		}
		u := a.User
		if u.Email != "ada@x.example" || u.FirstName != "Ada" || u.LastName != "Lovelace" || !u.IsEmailVerified || a.Level != access.Admin || a.Scope != access.All {
			r.Errorf("%+v", a)
		}
		id, err := r.invites.Keys.Identify(r.Context(), a.APIKey)
		if err != nil {
			r.Fatal(err)
		}
		if c, err := r.invites.Keys.Enter(r.Context(), id, access.Current); err != nil || c.Level != access.Admin || c.BoundTo != a.Organization.ID {
			r.Errorf("%+v, %v", c, err)
		}
		if left, err := r.invites.Find(r.Context(), r.owner, invite.Filter{}, page.First); left.Count != 0 || err != nil {
			r.Errorf("%d invites are left, %v", left.Count, err)
		}
		by := activity.Filter{OrganizationID: a.Organization.ID, Scopes: []activity.Scope{activity.Membership}, UserID: u.ID}
		if joined, err := activity.List(r.Context(), r.db, by, page.First); err != nil || joined.Count != 1 {
			r.Errorf("they have joined %d times by themselves, %v", joined.Count, err)
		}
		_, err = r.invites.Accept(r.Context(), token, invite.Names{}, access.Caller{})
		r.wantFault(err, fault.NotFound)
		r.wantFault(r.invites.Decline(r.Context(), token, access.Caller{}), fault.NotFound)
	})
}

// The entry about a new member's first key names no key as its maker, not even that of a transaction that was rolled
// back and run again.
func TestAcceptInBrowserWithNoKey(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		token := r.handed(r.invite(r.owner, draft("ada@x.example")))
		a, err := r.invites.AcceptInBrowser(r.Context(), token, invite.Names{}, access.SessionDraft{}, invite.SignInMethods{Key: true})
		if err != nil || a.APIKey == "" || a.Session == "" {
			r.Fatalf("%+v, %v", a, err)
		}
		f := activity.Filter{OrganizationID: a.Organization.ID, Scopes: []activity.Scope{activity.Key}}
		found, err := activity.List(r.Context(), r.db, f, page.First)
		if err != nil || found.Count != 1 || found.Items[0].KeyID != 0 || found.Items[0].User.ID != a.User.ID {
			r.Errorf("%+v, %v", found, err)
		}
	})
}

func TestHandedLinkDoesNotVerify(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		token := r.handed(r.invite(r.owner, draft("ada@x.example")))
		if a := r.accept(token); a.User.IsEmailVerified || a.Level != access.Member || !a.Scope.Includes(access.PluginRead|access.MemberWrite) || a.Scope.Includes(access.PluginWrite) {
			r.Errorf("%+v", a)
		}
	})
}

// The holder of a link that was passed on by hand must not become an existing user.
func TestHandedLinkIsNoKeyToAUser(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		i := r.invite(r.owner, draft("ada@x.example"))
		token := r.handed(i)
		r.join(r.newOrg("Other"), "ada@x.example", access.Owner)
		_, err := r.invites.Accept(r.Context(), token, invite.Names{}, access.Caller{})
		r.wantFault(err, fault.Denied)
		if r.handed(i) != token {
			r.Error("the link tells that the address belongs to a user")
		}
	})
}

func TestLinkIsForLevelsUpToOnesOwn(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		d := draft("boss@x.example")
		d.Level = patch.Of("owner")
		i := r.invite(r.owner, d)
		admin := r.join(r.owner.Organization, "admin@acme.example", access.Admin)
		_, _, err := r.invites.Link(r.Context(), admin, i.ID)
		r.wantFault(err, fault.Denied)
		d.TargetEmail, d.Level = patch.Of("second@x.example"), patch.Of("admin")
		if _, _, err := r.invites.Link(r.Context(), admin, r.invite(r.owner, d).ID); err != nil {
			r.Error(err)
		}
	})
}

// Links to pass on by hand are for admins, and only by a key that may do all.
func TestMaySeeLinks(t *testing.T) {
	t.Parallel()
	for _, level := range []access.Level{access.Member, access.Admin, access.Owner} {
		for _, scope := range []access.Scope{access.All, access.MemberWrite | access.PluginWrite} {
			err := invite.MaySeeLinks(access.Caller{Level: level, Scope: scope})
			if may := level >= access.Admin && scope == access.All; (err == nil) != may || err != nil && !fault.Is(err, fault.Denied) {
				t.Errorf("%s with %s: %v", level, scope, err)
			}
		}
	}
}

// The activity records who got the link of which invite, but neither the link itself nor refused requests.
func TestLinkIsRecorded(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		i := r.invite(r.owner, draft("ada@x.example"))
		token := r.handed(i)
		member := r.owner
		member.Level = access.Member
		_, _, err := r.invites.Link(r.Context(), member, i.ID)
		r.wantFault(err, fault.Denied)
		r.later(8 * 24 * time.Hour)
		_, _, err = r.invites.Link(r.Context(), r.owner, i.ID)
		r.wantFault(err, fault.Expired)
		found, err := activity.List(r.Context(), r.invites.DB, activity.Filter{OrganizationID: r.owner.Organization.ID, ItemID: i.ID}, page.First)
		if err != nil || len(found.Items) != 2 {
			r.Fatalf("%+v, %v", found, err)
		}
		e := found.Items[0]
		if e.Scope != activity.Invite || e.Verb != activity.Updated || e.User.ID != r.owner.UserID || e.Name != "ada@x.example" ||
			!strings.Contains(e.Changes, "passed on by hand") || strings.Contains(e.Changes, token) {
			r.Errorf("%+v", e)
		}
	})
}

// The link of an invite that nobody could answer is not handed out.
func TestLinkOfWhoeverLeft(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.join(r.newOrg("Other"), "gone@acme.example", access.Owner)
		gone := r.join(r.owner.Organization, "gone@acme.example", access.Admin)
		i := r.invite(gone, draft("ada@x.example"))
		r.leave("gone@acme.example")
		_, _, err := r.invites.Link(r.Context(), r.owner, i.ID)
		r.wantFault(err, fault.Denied)
		if !strings.Contains(err.Error(), "resend the invite first") {
			r.Errorf("an owner is told: %v", err)
		}
		r.resend(i.ID)
		r.handed(i)
	})
}

// A caller who asks for a link is told what they can do if it does not work, which is more than its holder can.
func TestLinkSaysWhatToDo(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		i := r.invite(r.owner, draft("ada@x.example"))
		want := func(kind fault.Kind, says string) {
			r.Helper()
			_, _, err := r.invites.Link(r.Context(), r.owner, i.ID)
			if !fault.Is(err, kind) || !strings.Contains(err.Error(), says) {
				r.Errorf("got %v", err)
			}
		}
		r.later(time.Hour)
		want(fault.Expired, "resend it first")
	})
}

func TestUserKeepsTheirNames(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.run()
		other := r.newOrg("Other")
		c := r.join(other, "other@x.example", access.Owner)
		r.accept(r.handed(r.invite(r.owner, invite.Draft{TargetEmail: patch.Of("ada@x.example"), FirstName: patch.Of("Ada"), SendEmail: patch.Of(false)})))
		r.invite(c, invite.Draft{TargetEmail: patch.Of("ada@x.example"), FirstName: patch.Of("Eve")})
		a, err := r.invites.Accept(r.Context(), r.mailed(1), invite.Names{LastName: patch.Of("Evil")}, access.Caller{})
		if err != nil || a.User.FirstName != "Ada" || a.User.LastName != "" || !a.User.IsEmailVerified {
			r.Errorf("%v, %+v", err, a.User)
		}
	})
}

// A cached list must not show outdated data of an inviter, even of an organization that they have left.
func TestVerifiedInviterIsSeen(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.run()
		in := r.newOrg("Other")
		boss := r.join(in, "boss@x.example", access.Owner)
		inviter := r.join(r.owner.Organization, "ada@x.example", access.Member)
		d := draft("b@x.example")
		d.SendEmail = patch.Of(false)
		r.invite(inviter, d)
		verified := func(i invite.Invite) bool { return i.CreatedBy.IsEmailVerified }
		r.leave("ada@x.example")
		r.until(func(i invite.Invite) bool { return !verified(i) })
		r.invite(boss, draft("ada@x.example"))
		r.accept(r.mailed(1))
		r.until(verified)
		if u, err := r.orgs.UserByEmail(r.Context(), "boss@x.example"); err != nil || u.IsEmailVerified {
			r.Errorf("who has opened no mail: %+v, %v", u, err)
		}
	})
}

func TestAcceptsAtTheSameTime(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		const tries = 200
		token := r.handed(r.invite(r.owner, draft("ada@x.example")))
		errs := make([]error, tries)
		var all sync.WaitGroup
		for i := range tries {
			all.Go(func() {
				errs[i] = again(func() error {
					_, err := r.invites.Accept(r.Context(), token, invite.Names{}, access.Caller{})
					return err
				})
			})
		}
		all.Wait()
		done := 0
		for _, err := range errs {
			switch {
			case err == nil:
				done++
			case !errors.Is(err, access.ErrNotFound):
				r.Error(err)
			}
		}
		members, err := r.orgs.Members(r.Context(), r.owner.Organization.ID)
		if err != nil {
			r.Fatal(err)
		}
		entries, err := activity.List(r.Context(), r.db, activity.Filter{
			OrganizationID: r.owner.Organization.ID, Scopes: []activity.Scope{activity.Membership}, ItemID: members[len(members)-1].User.UUID,
		}, page.First)
		if done != 1 || len(members) != 2 || entries.Count != 1 || err != nil {
			r.Errorf("%d accepted, %d members, %d entries, %v", done, len(members), entries.Count, err)
		}
	})
}

func TestDecline(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		token := r.handed(r.invite(r.owner, draft("ada@x.example")))
		if err := r.invites.Decline(r.Context(), token, access.Caller{}); err != nil {
			r.Fatal(err)
		}
		_, err := r.invites.Open(r.Context(), token)
		r.wantFault(err, fault.NotFound)
		if members, err := r.orgs.Members(r.Context(), r.owner.Organization.ID); len(members) != 1 || err != nil {
			r.Errorf("%d members, %v", len(members), err)
		}
	})
}

func TestLinksThatDoNotWork(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		i := r.invite(r.owner, draft("ada@x.example"))
		token := r.handed(i)
		eve := r.invite(r.owner, draft("eve@x.example"))
		other := r.handed(eve)
		wrong := map[string]string{
			"empty": "", "short": token[:63], "long": token + "A", "line break": token[:32] + "\n" + token[32:], "line breaks": strings.Repeat("\n", 64),
			"trailing line break": token + "\n", "padded": token + "=", "standard alphabet": strings.Repeat("+", 64), "another's code": token[:22] + other[22:],
			"nul": strings.Repeat("\x00", 64), "no code": base64.RawURLEncoding.EncodeToString(make([]byte, 48)),
		}
		for at := range token { // each character counts
			c := byte('A')
			if token[at] == c {
				c = 'B'
			}
			wrong["altered at "+string(rune('0'+at))] = token[:at] + string(c) + token[at+1:]
		}
		for name, text := range wrong {
			if _, err := r.invites.Open(r.Context(), text); !errors.Is(err, access.ErrNotFound) {
				r.Errorf("%s: %v", name, err)
			}
		}
		again := r.resend(i.ID)
		_, err := r.invites.Open(r.Context(), token)
		r.wantFault(err, fault.NotFound)
		deleted := r.handed(again)
		if err := r.invites.Delete(r.Context(), r.owner, i.ID); err != nil {
			r.Fatal(err)
		}
		_, err = r.invites.Open(r.Context(), deleted)
		r.wantFault(err, fault.NotFound)
		stranger, err := invite.NewLinks("another secret", baseURL)
		if err != nil {
			r.Fatal(err)
		}
		r.invites.Links = stranger
		_, err = r.invites.Open(r.Context(), other)
		r.wantFault(err, fault.NotFound)
		if r.invites.Links, err = invite.NewLinks("", baseURL); err != nil {
			r.Fatal(err)
		}
		_, err = r.invites.Open(r.Context(), tokenOf(nil, eve))
		r.wantFault(err, fault.NotFound)
		if url, _, err := r.invites.Link(r.Context(), r.owner, eve.ID); err == nil {
			r.Errorf("without a secret, %s", url)
		}
	})
}

func TestInvitesThatCannotBeAccepted(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		in := r.owner.Organization
		admin := r.join(in, "admin@acme.example", access.Admin)
		d := draft("ada@x.example")
		d.Level = patch.Of("admin")
		token := r.handed(r.invite(admin, d))
		try := func(want fault.Kind) {
			r.Helper()
			_, err := r.invites.Accept(r.Context(), token, invite.Names{}, access.Caller{})
			r.wantFault(err, want)
			o, err := r.invites.Open(r.Context(), token)
			r.wantFault(err, want)
			if o.Organization.Name != "Acme" || o.CreatedBy.Email != "admin@acme.example" {
				r.Errorf("%+v does not say whom to ask", o)
			}
			if left, _ := r.invites.Find(r.Context(), r.owner, invite.Filter{}, page.First); left.Count != 1 {
				r.Error("the invite is gone")
			}
		}
		level := func(l access.Level) {
			if _, err := r.orgs.SetLevel(r.Context(), in.ID, "admin@acme.example", l); err != nil {
				r.Fatal(err)
			}
		}
		allow := func(domains ...string) {
			r.set(org.Settings{AllowedDomains: &domains})
		}
		level(access.Member)
		try(fault.Denied)
		level(access.Admin)
		allow("acme.example")
		try(fault.Denied)
		allow("x.example")
		r.leave("admin@acme.example")
		try(fault.Denied)
		r.join(in, "admin@acme.example", access.Admin)
		r.later(time.Hour)
		try(fault.Expired)
	})
}

// Somebody who is a member already cannot accept an invite that was left when they were added.
func TestMemberMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		i := r.invite(r.owner, draft("ada@x.example"))
		token := r.mailedToken(i)
		err := r.invites.Keys.Change(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := r.orgs.InsertMember(r.Context(), tx, access.Caller{}, org.Joining{OrganizationID: r.owner.Organization.ID, User: org.User{Email: "ada@x.example"}, Level: access.Member})
			return err
		})
		if err != nil {
			r.Fatal(err)
		}
		_, err = r.invites.Open(r.Context(), token)
		r.wantFault(err, fault.Denied)
		_, err = r.invites.Accept(r.Context(), token, invite.Names{}, access.Caller{})
		r.wantFault(err, fault.Denied)
		_, err = r.invites.Resend(r.Context(), r.owner, i.ID)
		r.wantFault(err, fault.Denied)
	})
}

func TestAllowedDomainsHoldAtCreate(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.invite(r.owner, draft("a@x.example"))
		for _, domains := range [][]string{{"x.example"}, {"Acme.example", "bücher.example"}} {
			r.set(org.Settings{AllowedDomains: &domains})
		}
		r.invite(r.owner, draft("a@acme.example"))
		r.invite(r.owner, draft("a@BÜCHER.example"))
		for _, email := range []string{"a@x.example", "a@sub.acme.example", "a@notacme.example"} {
			_, err := r.invites.Create(r.Context(), r.owner, draft(email))
			r.wantFault(err, fault.Invalid)
		}
	})
}

// A bulk request may have a hundred refused addresses: each error names only the first domains.
func TestRefusalNamesTheFirstDomains(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		var domains []string
		for i := range 1000 {
			domains = append(domains, fmt.Sprintf("d%03d.example", i))
		}
		for n, want := range map[int]string{
			2:    "Must be at a domain that this organization takes: d000.example, d001.example.",
			20:   "d018.example, d019.example.",
			1000: "d018.example, d019.example and others.",
		} {
			some := domains[:n]
			r.set(org.Settings{AllowedDomains: &some})
			_, err := r.invites.Create(r.Context(), r.owner, draft("a@x.example"))
			if !fault.Is(err, fault.Invalid) || !strings.HasSuffix(err.Error(), want) {
				r.Errorf("of %d: %v", n, err)
			}
		}
	})
}

func TestNamesOfWhoAccepts(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		token := r.handed(r.invite(r.owner, draft("ada@x.example")))
		for _, names := range []invite.Names{
			{FirstName: patch.Of(strings.Repeat("a", 31))},
			{LastName: patch.Of(strings.Repeat("a", 151))},
		} {
			if _, err := r.invites.Accept(r.Context(), token, names, access.Caller{}); err == nil {
				r.Errorf("%+v was taken", names)
			}
		}
		for _, name := range []string{
			"a\x00", "a\u202eb", "a\u2066b", "a\u200fb", "a\u2028b", "https://evil.example", "//evil", "evil.example", "Www.x", "J.Robert.example",
			"evil。example", "evil．example", "evil\u200b.example", "1.2.3.4", "mailto:x@evil", "x@evil", "tel:112", "mailto：x", "t.co", "x\u00ad@evil",
			"T.Co/x", "Ada T.Co/x", "A.T.Co?x", "T.Co:80", "T.Co#x", "T.Co\u200b/x", "T.Co／x", "T.Co1",
		} {
			_, err := r.invites.Accept(r.Context(), token, invite.Names{FirstName: patch.Of(name)}, access.Caller{})
			if !fault.Is(err, fault.Invalid) || fault.Of(err)[0].Field != "first_name" {
				r.Errorf("%q: %v", name, err)
			}
		}
		r.accept(token)
	})
}

func TestOrdinaryNamesAreTaken(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		for _, name := range []string{
			"J.Robert", "J.R.R.Tolkien", "J.R.Robert J.Smith", "J.Robert-Smith", "J.Robert's", "J.Robert, Jr.", "J.McDonald", "X.Com", "St. John", "O'Neil", "Jean-Luc", "Dr. J. Doe", "M.A. Özgür", "李小龍", "می\u200cخواهم", "Nº 1.2", "Ada (she/her)", "王。",
		} {
			d := draft("ada@x.example")
			d.FirstName = patch.Of(name)
			if i := r.invite(r.owner, d); i.FirstName != name {
				r.Errorf("%q became %q", name, i.FirstName)
			}
			d.FirstName = patch.Of(" " + name + "\u00a0")
			if i := r.invite(r.owner, d); i.FirstName != name {
				r.Errorf("%q kept its spaces", i.FirstName)
			}
		}
	})
}
