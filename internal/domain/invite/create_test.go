package invite_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"foyer/internal/base/dryrun"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/base/precondition"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/invite"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// When two servers change invites for the same few people at the same time, each change succeeds or finds that another
// was quicker, and the count is exact.
func TestInvitesAtTheSameTime(t *testing.T) {
	t.Parallel()
	eachBeside(t, func(r *rig, other invite.Service) {
		r.invites.Limits = invite.Limits{Invites: 10_000, Mails: 10_000}
		other.Limits = r.invites.Limits
		drafts := []invite.Draft{draft("ada@x.example"), draft("ben@x.example"), draft("cem@x.example"), draft("dee@x.example")}
		var all sync.WaitGroup
		for i := range 120 {
			s := []invite.Service{r.invites, other}[i%2]
			all.Go(func() {
				if err := again(func() error { return disturb(r, s, drafts, i/2) }); err != nil && !fault.Is(err, fault.NotFound) {
					r.Error(err)
				}
			})
		}
		all.Wait()
		if _, err := r.invites.CreateBulk(r.Context(), r.owner, drafts); err != nil {
			r.Fatal(err)
		}
		left, err := r.invites.Find(r.Context(), r.owner, invite.Filter{}, page.First)
		if err != nil || left.Count != len(drafts) || len(left.Items) != len(drafts) {
			r.Errorf("%d counted, %d there, want %d, %v", left.Count, len(left.Items), len(drafts), err)
		}
	})
}

// Who invites an address waits for whoever invites it, or deletes its invite, at that moment, also without quotas.
func TestInvitedMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		invited := func(s invite.Service) error {
			_, err := s.Create(r.Context(), r.owner, draft("ada@x.example"))
			return err
		}
		deleted := func(s invite.Service) error {
			id, err := db.One[string](r.Context(), r.db, nil, `SELECT id FROM invites`)
			return cmp.Or(err, s.Delete(r.Context(), r.owner, id))
		}
		for _, change := range []func(invite.Service) error{invited, deleted} {
			start, end := dbtest.Meanwhile(r, r.db, func() error { return invited(r.invites) })
			if err := change(r.recording(start)); err != nil {
				r.Error(err)
			}
			end()
		}
	})
}

// recording returns a service that calls start while it has locked an invite or its address.
func (r *rig) recording(start func()) invite.Service {
	s := r.invites
	s.Shown = func(time.Time) func([]byte, invite.Invite) []byte {
		start()
		return func(b []byte, _ invite.Invite) []byte { return b }
	}
	return s
}

// An invite that is deleted, declined or resent while somebody accepts it is not accepted.
func TestAcceptedTooLate(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		for _, change := range []func(s invite.Service, id, token string) error{
			func(s invite.Service, id, _ string) error { return s.Delete(r.Context(), r.owner, id) },
			func(s invite.Service, _, token string) error { return s.Decline(r.Context(), token, access.Caller{}) },
			func(s invite.Service, id, _ string) error { _, err := s.Resend(r.Context(), r.owner, id); return err },
		} {
			i := r.invite(r.owner, draft("ada@x.example"))
			token := r.mailedToken(i)
			start, end := dbtest.Meanwhile(r, r.db, func() error {
				_, err := r.invites.Accept(r.Context(), token, invite.Names{}, access.Caller{})
				if fault.Is(err, fault.NotFound) {
					return nil
				}
				return cmp.Or(err, errors.New("accepted"))
			})
			if err := change(r.recording(start), i.ID, token); err != nil {
				r.Error(err)
			}
			end()
		}
	})
}

// A resend at the same time as a delete either comes first or finds nothing.
func TestResendBesideDelete(t *testing.T) {
	t.Parallel()
	eachBeside(t, func(r *rig, other invite.Service) {
		for i := range 40 {
			made, err := r.invites.Create(r.Context(), r.owner, draft("ada"+strconv.Itoa(i)+"@x.example"))
			if err != nil {
				r.Fatal(err)
			}
			var both sync.WaitGroup
			both.Go(func() {
				if err := r.invites.Delete(r.Context(), r.owner, made.ID); err != nil {
					r.Error(err)
				}
			})
			both.Go(func() {
				if _, err := other.Resend(r.Context(), r.owner, made.ID); err != nil && !fault.Is(err, fault.NotFound) {
					r.Error(err)
				}
			})
			both.Wait()
			found, err := activity.List(r.Context(), r.db, activity.Filter{
				OrganizationID: r.owner.Organization.ID, Scopes: []activity.Scope{activity.Invite}, ItemID: made.ID,
			}, page.First)
			if told := found.Items; err != nil || len(told) < 2 || told[0].Verb != activity.Deleted {
				r.Fatalf("after it was deleted: %+v, %v", told, err)
			}
		}
	})
}

// An invite that was resent or accepted since the caller read it is neither handed on nor removed for them.
func TestInviteIsAsItWasRead(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		read := r.invite(r.owner, draft("ada@x.example"))
		changed := errors.New("changed")
		ctx := precondition.With(r.Context(), func(object any) error {
			if i, ok := object.(invite.Invite); !ok || i.Issue != read.Issue || !i.AcceptedAt.Equal(read.AcceptedAt) {
				return changed
			}
			return nil
		})
		resent := r.resend(read.ID)
		if _, _, err := r.invites.Link(ctx, r.owner, read.ID); !errors.Is(err, changed) {
			r.Errorf("the link of one that was resent: %v", err)
		}
		read = resent
		if _, _, err := r.invites.Link(ctx, r.owner, read.ID); err != nil {
			r.Errorf("its link: %v", err)
		}
		r.accept(r.mailedToken(read))
		if err := r.invites.Delete(ctx, r.owner, read.ID); !errors.Is(err, changed) {
			r.Errorf("deleting one that was accepted: %v", err)
		}
		read = r.accepted(read.ID)
		if err := r.invites.Delete(ctx, r.owner, read.ID); err != nil {
			r.Errorf("deleting it: %v", err)
		}
	})
}

// disturb makes one of several changes to invites, chosen by i.
func disturb(r *rig, s invite.Service, drafts []invite.Draft, i int) error {
	at := i % len(drafts)
	switch i % 3 {
	case 0:
		_, err := s.CreateBulk(r.Context(), r.owner, slices.Concat(drafts[at:], drafts[:at]))
		return err
	case 1:
		_, err := s.Create(r.Context(), r.owner, drafts[at])
		return err
	}
	all, err := s.Find(r.Context(), r.owner, invite.Filter{}, page.First)
	if err != nil || len(all.Items) == 0 {
		return err
	}
	found := all.Items[i%len(all.Items)]
	if i%2 == 0 {
		return s.Delete(r.Context(), r.owner, found.ID)
	}
	_, err = s.Resend(r.Context(), r.owner, found.ID)
	return err
}

// Somebody else's invite no longer stops a member from inviting once it has expired.
func TestReplaceExpired(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.later(0)
		old := r.invite(r.owner, draft("ada@x.example"))
		c := r.join(r.owner.Organization, "member@acme.example", access.Member)
		r.later(r.invites.TTL - time.Second)
		if _, err := r.invites.Create(r.Context(), c, draft("ada@x.example")); !fault.Is(err, fault.Denied) {
			r.Errorf("a second before: %v", err)
		}
		r.later(time.Second)
		made, err := r.invites.CreateBulk(r.Context(), c, []invite.Draft{draft("ben@x.example"), draft("ada@x.example")})
		if err != nil || len(made) != 2 || made[1].ID == old.ID || made[1].CreatedBy.ID != c.UserID {
			r.Errorf("expired: %+v, %v", made, err)
		}
		left, err := r.invites.Find(r.Context(), r.owner, invite.Filter{}, page.First)
		if err != nil || left.Count != 2 || len(left.Items) != 2 {
			r.Errorf("%d counted, %d there, %v", left.Count, len(left.Items), err)
		}
	})
}

// Only callers who may make an invite see its mail.
func TestWhoMayPreview(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		in := r.owner.Organization
		admin, member := r.join(in, "admin@acme.example", access.Admin), r.join(in, "member@acme.example", access.Member)
		member.Organization.MembersCanInvite = false
		bound := r.owner
		bound.Scope = access.MemberWrite
		asOwner := draft("ada@x.example")
		asOwner.Level = patch.Of("15")
		for name, test := range map[string]struct {
			c    access.Caller
			d    invite.Draft
			want bool
		}{
			"an owner": {r.owner, asOwner, true}, "an admin": {admin, draft("ada@x.example"), true}, "above one's own level": {admin, asOwner, false},
			"a member": {member, draft("ada@x.example"), false}, "a key for invites": {bound, asOwner, false},
		} {
			_, created := r.invites.Create(dryrun.With(r.Context()), test.c, test.d)
			_, err := r.invites.Preview(r.Context(), test.c, test.d)
			if fmt.Sprint(err) != fmt.Sprint(created) || (err == nil) != test.want {
				r.Errorf("%s: %v, created: %v", name, err, created)
			}
		}
	})
}

// The answer to a request with an Idempotency-Key is kept as soon as the invites exist.
func TestAnswersAreKept(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		drafts := []invite.Draft{draft("owner@acme.example"), draft("a@x.example")}
		for name, make := range map[string]func(context.Context) (any, error){
			"one":    func(ctx context.Context) (any, error) { return r.invites.Create(ctx, r.owner, drafts[1]) },
			"all":    func(ctx context.Context) (any, error) { return r.invites.CreateBulk(ctx, r.owner, drafts[1:]) },
			"partly": func(ctx context.Context) (any, error) { return r.invites.CreatePartly(ctx, r.owner, drafts) },
		} {
			answer := func(object any) access.Answer { return access.Answer{Status: 200, Body: fmt.Sprintf("%+v", object)} }
			claim, kept, err := r.invites.Keys.Claim(r.Context(), r.owner, name, "", answer)
			if err != nil || kept != nil {
				r.Fatal(kept, err)
			}
			made, err := make(claim.With(r.Context()))
			if err != nil {
				r.Fatal(name, err)
			}
			_, kept, err = r.invites.Keys.Claim(r.Context(), r.owner, name, "", answer)
			if err != nil || kept == nil || kept.Body != answer(made).Body {
				r.Errorf("%s: kept %+v of %+v, %v", name, kept, made, err)
			}
		}
	})
}

// If only some people can be invited, the others do not count: neither as invites nor, in other organizations, as
// mails.
func TestWhoIsNotInvitedDoesNotCount(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.invites.Limits = invite.Limits{Invites: 2, Mails: 1}
		r.later(0)
		refused := func(kind fault.Kind, emails ...string) {
			r.Helper()
			var drafts []invite.Draft
			for _, email := range emails {
				drafts = append(drafts, draft(email))
			}
			for range 3 {
				outcomes, err := r.invites.CreatePartly(r.Context(), r.owner, drafts)
				if err != nil || slices.ContainsFunc(outcomes, func(o invite.Outcome) bool { return !fault.Is(o.Err, kind) }) {
					r.Errorf("%+v, %v", outcomes, err)
				}
			}
		}
		member := r.join(r.owner.Organization, "member@acme.example", access.Member)
		refused(fault.AlreadyMember, "owner@acme.example", "member@acme.example")
		other := r.join(r.newOrg("Other"), "owner@other.example", access.Owner)
		r.invite(other, draft("owner@acme.example"))
		r.later(time.Hour)
		r.invite(member, draft("ada@x.example"))
		refused(fault.QuotaExceeded, "ada@x.example")
		made, err := r.invites.CreatePartly(r.Context(), r.owner, []invite.Draft{draft("ada@x.example"), draft("ben@x.example"), draft("owner@acme.example")})
		if err != nil || !fault.Is(made[0].Err, fault.QuotaExceeded) || made[1].Err != nil || !fault.Is(made[2].Err, fault.AlreadyMember) {
			r.Errorf("%+v, %v", made, err)
		}
		_, err = r.invites.Create(r.Context(), r.owner, draft("cem@x.example"))
		if !fault.Is(err, fault.QuotaExceeded) || fault.Of(err)[0].RetryAfter != 24*time.Hour {
			r.Errorf("%+v, want 24 hours from the first invite", err)
		}
	})
}

// A request that is done whole or not at all is refused by a quota before what its addresses are is looked at, and then
// because of each address that cannot be invited.
func TestWhyAllAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.invites.Limits = invite.Limits{Invites: 4}
		r.join(r.owner.Organization, "member@acme.example", access.Member)
		drafts := []invite.Draft{draft("owner@acme.example"), draft("ada@x.example"), draft("member@acme.example")}
		var fields []string
		_, err := r.invites.CreateBulk(r.Context(), r.owner, drafts)
		for _, f := range fault.Of(err) {
			fields = append(fields, f.Field)
		}
		if !fault.Is(err, fault.AlreadyMember) || !slices.Equal(fields, []string{"0.target_email", "2.target_email"}) {
			r.Errorf("members: %v in %q", err, fields)
		}
		for _, email := range []string{"a@x.example", "b@x.example", "c@x.example", "d@x.example"} { // the request before has not counted
			r.invite(r.owner, draft(email))
		}
		if _, err := r.invites.Create(r.Context(), r.owner, drafts[0]); !fault.Is(err, fault.QuotaExceeded) {
			r.Errorf("a member, over the quota: %v", err)
		}
		if _, err := r.invites.CreateBulk(r.Context(), r.owner, drafts); !fault.Is(err, fault.QuotaExceeded) {
			r.Errorf("members, over the quota: %v", err)
		}
	})
}

// Members can be invited by any key that may invite, higher levels only by one that may do all: otherwise a key for
// invites alone would lead to one that can do all.
func TestMayGive(t *testing.T) {
	t.Parallel()
	for _, scope := range []access.Scope{access.All, access.MemberWrite} {
		for _, own := range []access.Level{access.Member, access.Admin, access.Owner} {
			for _, wanted := range []access.Level{access.Member, access.Admin, access.Owner} {
				may := wanted <= own && (wanted == access.Member || scope == access.All)
				if err := invite.MayGive(access.Caller{Level: own, Scope: scope}, wanted); (err == nil) != may {
					t.Errorf("%s by %s with %s: %v", wanted, own, scope, err)
				}
			}
		}
	}
}
