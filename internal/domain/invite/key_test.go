package invite_test

import (
	"testing"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
)

// The first key of a member can do all that their level can use.
func TestScopeOfTheFirstKey(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		for _, c := range []struct {
			level      string
			manageApps bool
			want       access.Scope
		}{
			{"member", false, access.PluginRead | access.MemberWrite},
			{"member", true, access.PluginWrite | access.MemberWrite},
			{"admin", false, access.All},
			{"owner", true, access.All},
		} {
			r.set(org.Settings{MembersCanManageApps: &c.manageApps})
			d := draft("ada@x.example")
			d.Level = patch.Of(c.level)
			a := r.accept(r.handed(r.invite(r.owner, d)))
			id, err := r.invites.Keys.Identify(r.Context(), a.APIKey)
			if err != nil || a.Scope != c.want || id.Scope != c.want {
				r.Errorf("%s: %s, %v, want %s", c.level, a.Scope, err, c.want)
			}
			r.mustErase("ada@x.example")
		}
	})
}

func (r *rig) mustErase(email string) {
	r.Helper()
	if _, err := r.orgs.EraseUser(r.Context(), email); err != nil {
		r.Fatal(err)
	}
}

// Who accepts in a browser gets a key if there is no other way for them to sign in: a link that was passed on by hand
// does not prove the address that the others need.
func TestWhoNeedsAKey(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		for _, c := range []struct {
			mailed       bool
			methods      invite.SignInMethods
			key, session bool
		}{
			{true, invite.SignInMethods{Key: true}, true, true},
			{true, invite.SignInMethods{Key: true, Mail: true}, false, true},
			{true, invite.SignInMethods{Key: true, Provider: true}, false, false},
			{false, invite.SignInMethods{Key: true, Mail: true, Provider: true}, true, true},
			{false, invite.SignInMethods{Mail: true, Provider: true}, true, false},
		} {
			i := r.invite(r.owner, draft("ada@x.example"))
			token := r.mailedToken(i)
			if !c.mailed {
				token = r.handed(i)
			}
			a, err := r.invites.AcceptInBrowser(r.Context(), token, invite.Names{}, access.SessionDraft{}, c.methods)
			if err != nil || (a.APIKey != "") != c.key || (a.Session != "") != c.session {
				r.Errorf("%+v: key %t, session %t, %v", c, a.APIKey != "", a.Session != "", err)
			}
			r.mustErase("ada@x.example")
		}
	})
}
