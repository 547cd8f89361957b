package addresschange_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// change changes the address of a caller by its link.
func (r *rig) change(c access.Caller, email string) {
	r.t.Helper()
	check(r.t, r.ask(c, email))
	check(r.t, r.use(r.deliver()[email]))
}

// Once a user can no longer take an address back, another user may change to it.
func TestAddressIsFreeAfterAWeek(t *testing.T) {
	each(t, func(_ *testing.T, r *rig) {
		ada, bea := r.join(r.org, "ada@x.example"), r.join(r.org, "bea@x.example")
		r.change(ada, "ada@new.example")
		r.now = r.now.Add(org.AddressHeld)
		r.change(bea, "ada@x.example")
		r.wantEmail(bea, "ada@x.example")
	})
}

// Whoever is refused an address that nobody has by now is told why.
func TestAddressThatMayBeTakenBack(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		r.join(r.org, "bea@x.example")
		r.change(ada, "ada@new.example")
		_, err := r.Organizations.SetUser(t.Context(), "bea@x.example", org.SelfPatch{Email: patch.Of("ada@x.example")})
		if !fault.Is(err, fault.NotUnique) || !strings.Contains(err.Error(), "take it back") {
			t.Error(err)
		}
	})
}

// The domains of an organization that a user is not in do not matter to them.
func TestDomainsOfOtherOrganizations(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		other := must(r.Organizations.Create(t.Context(), "Other"))(t)
		r.join(other, "bea@y.example")
		must(r.Organizations.Set(t.Context(), access.Caller{}, other.ID, org.Settings{AllowedDomains: &[]string{"y.example"}}))(t)
		r.change(ada, "ada@new.example")
		r.wantEmail(ada, "ada@new.example")
	})
}

// Erasing a user erases the addresses that they had and have: neither one that they asked for and never confirmed, nor
// those of others.
func TestErasedAddresses(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada, bea := r.join(r.org, "ada@x.example"), r.join(r.org, "bea@x.example")
		r.change(ada, "ada@new.example")
		r.change(bea, "bea@new.example")
		r.change(bea, "bea@newer.example")
		r.now = r.now.Add(org.AddressHeld)
		_, session := r.begin(ada)
		in := access.Caller{UserID: ada.UserID, SessionID: session, Scope: access.All}
		check(t, errors.Join(r.ask(in, "cid@x.example"), r.Keys.EndSession(t.Context(), in, session)))
		var erased []string
		orgs := r.Organizations
		orgs.UserErasers = append(orgs.UserErasers, func(_ context.Context, _ *db.Tx, p activity.Person) error {
			erased = p.Emails
			return nil
		})
		must(orgs.EraseUser(t.Context(), "ada@new.example"))(t)
		if want := []string{"ada@new.example", "ada@x.example"}; !slices.Equal(erased, want) {
			t.Errorf("erased %q, want %q", erased, want)
		}
	})
}
