package invite_test

import (
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
)

// A signed-in user who accepts by a mailed link has proved their address. A link that was passed on by hand proves
// nothing, and a user who was made by such a link keeps the key that they are signed in with.
func TestMailedLinkVerifiesWhoIsSignedIn(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		other := r.newOrg("Other")
		host := r.join(other, "owner@other.example", access.Owner)
		byOperator := func(email string) access.Caller { return r.join(other, email, access.Member) }
		byHand := func(email string) access.Caller {
			a := r.accept(r.handed(r.invite(r.owner, draft(email))))
			return access.Caller{UserID: a.User.ID, Scope: access.All}
		}
		for email, c := range map[string]struct {
			made             func(email string) access.Caller
			host             access.Caller
			mailed, verifies bool
		}{
			"ada@x.example": {byOperator, r.owner, true, true},
			"ben@x.example": {byOperator, r.owner, false, false},
			"cyd@x.example": {byHand, host, true, false},
		} {
			caller := c.made(email)
			key, secret, err := r.invites.Keys.Create(r.Context(), access.Draft{UserID: caller.UserID, Scope: access.All})
			if err != nil {
				r.Fatal(err)
			}
			caller.KeyID = key.ID
			i := r.invite(c.host, draft(email))
			token := r.mailedToken(i)
			if !c.mailed {
				token = r.handed(i)
			}
			if _, err := r.invites.AcceptMine(r.Context(), caller, i.ID, token); err != nil {
				r.Errorf("%s: %v", email, err)
			}
			if u, err := r.orgs.Self(r.Context(), caller); err != nil || u.IsEmailVerified != c.verifies {
				r.Errorf("%s: %+v, %v", email, u, err)
			}
			if _, err := r.invites.Keys.Identify(r.Context(), secret); err != nil {
				r.Errorf("%s: %v", email, err)
			}
		}
	})
}

func TestMinePages(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		i := r.invite(r.owner, draft("ada@x.example"))
		a := r.accept(r.mailedToken(i)) // it verifies the address
		caller := access.Caller{UserID: a.User.ID, Scope: access.All}
		for _, name := range []string{"Second", "Third"} {
			r.invite(r.join(r.newOrg(name), name+"@x.example", access.Owner), draft("ada@x.example"))
		}
		for offset, more := range []bool{true, false, false} {
			found, err := r.invites.Mine(r.Context(), caller, page.Page{Limit: 1, Offset: offset})
			if err != nil || found.Count != 2 || len(found.Items) != min(1, 2-offset) || found.More != more {
				r.Errorf("from %d: %d items of %d, more: %v, %v", offset, len(found.Items), found.Count, found.More, err)
			}
		}
	})
}

// Neither a key that was revoked since its request was admitted nor one that is bound to an organization answers for its
// user.
func TestWhoMayNotDecline(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		caller := r.join(r.newOrg("Other"), "ada@x.example", access.Member)
		dbtest.Exec(t, r.db, `UPDATE users SET is_email_verified = TRUE WHERE id = $1`, caller.UserID)
		i := r.invite(r.owner, draft("ada@x.example"))
		revoked, bound := caller, caller
		revoked.KeyID, bound.BoundTo = 1<<40, caller.Organization.ID
		for _, c := range []access.Caller{revoked, bound} {
			if err := r.invites.DeclineMine(r.Context(), c, i.ID, ""); !fault.Is(err, fault.Denied) {
				r.Errorf("declined by %+v: %v", c, err)
			}
		}
		if err := r.invites.DeclineMine(r.Context(), caller, i.ID, ""); err != nil {
			r.Error(err)
		}
	})
}
