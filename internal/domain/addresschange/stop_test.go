package addresschange_test

import (
	"slices"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/oidc"
)

// What a user does about a change of their address leaves the changes and accounts of others as they are, and the
// account at the identity provider that was theirs before.
func TestChangesOfOthersStay(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada, bea := r.join(r.org, "ada@x.example"), r.join(r.org, "bea@x.example")
		enter := func(name string) error {
			who := oidc.Claims{Issuer: "https://login.example", Subject: name, Email: name + "@x.example", EmailVerified: true}
			_, err := r.SignIn.ByProvider(t.Context(), who, access.SessionDraft{})
			return err
		}
		check(t, enter("ada"))
		r.now = r.now.Add(time.Second)
		check(t, r.ask(bea, "bea@new.example"))
		beas := r.deliver()
		step := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if c, err := r.Open(t.Context(), beas["bea@new.example"]); err != nil || c.Done {
				t.Errorf("%s: %+v, %v", what, c, err)
			}
		}
		step("asked", r.ask(ada, "typo@new.example"))
		step("asked again", r.ask(ada, "ada@new.example"))
		links := r.deliver()
		check(t, enter("bea"))
		step("confirmed", r.use(links["ada@new.example"]))
		step("undone", r.use(links["ada@x.example"]))
		accounts := must(db.All[string](t.Context(), r.DB, nil, `SELECT subject FROM identities ORDER BY subject`))(t)
		if !slices.Equal(accounts, []string{"ada", "bea"}) {
			t.Errorf("the accounts of %q are left", accounts)
		}
		step("ended", r.EndSessions(t.Context(), access.Caller{UserID: ada.UserID}))
		orgs := r.Organizations
		orgs.UserErasers = append(orgs.UserErasers, r.EraseUser)
		_, err := orgs.EraseUser(t.Context(), "ada@x.example")
		step("erased", err)
	})
}

// The link to the old address also stops a change that is not confirmed yet, but does nothing once an operator has
// changed the address.
func TestChangeOfAddressIsStopped(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		check(t, r.ask(ada, "new@x.example"))
		links := r.deliver()
		r.now = r.now.Add(8*24*time.Hour - time.Second) // as if it had been confirmed at the last moment
		check(t, r.use(links["ada@x.example"]))
		r.want(fault.NotFound, r.use(links["new@x.example"]))
		r.wantEmail(ada, "ada@x.example")

		ada = r.withKey(ada.UserID)
		check(t, r.ask(ada, "new@x.example"))
		links = r.deliver()
		check(t, r.use(links["new@x.example"]))
		must(r.Organizations.SetUser(t.Context(), "new@x.example", org.SelfPatch{Email: patch.Of("set@x.example")}))(t)
		r.want(fault.NotFound, r.use(links["ada@x.example"]))
		r.wantEmail(ada, "set@x.example")
	})
}

// A change that somebody else asked for with a key or in a session ends when the user ends that key or session. A
// change that is done can still be undone.
func TestChangeOfAddressEndsWithItsKey(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		ask := func(by access.Caller) map[string]string {
			t.Helper()
			check(t, r.ask(by, "thief@x.example"))
			return r.deliver()
		}
		wantEnded := func(links map[string]string) {
			t.Helper()
			for _, link := range links {
				r.want(fault.NotFound, r.use(link))
			}
			r.wantEmail(ada, "ada@x.example")
		}
		stolen := r.withKey(ada.UserID)
		links := ask(stolen)
		check(t, r.Keys.Revoke(t.Context(), stolen.KeyID))
		wantEnded(links)
		r.want(fault.Denied, r.ask(stolen, "thief@x.example")) // as on a server that does not know of it yet

		short, _, err := r.Keys.Create(t.Context(), access.Draft{UserID: ada.UserID, Scope: access.All, ExpiresIn: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		links = ask(access.Caller{UserID: ada.UserID, KeyID: short.ID, Scope: access.All})
		r.now = r.now.Add(time.Hour)
		wantEnded(links)

		inSession, other := access.Caller{UserID: ada.UserID, Scope: access.All}, access.Caller{UserID: ada.UserID}
		_, inSession.SessionID = r.begin(ada)
		_, other.SessionID = r.begin(ada)
		links = ask(inSession)
		check(t, r.Keys.EndSession(t.Context(), inSession, other.SessionID))
		if _, err := r.Open(t.Context(), links["thief@x.example"]); err != nil {
			t.Errorf("signing out of another session: %v", err)
		}
		check(t, r.EndSessions(t.Context(), ada))
		wantEnded(links)
		r.want(fault.Denied, r.ask(inSession, "thief@x.example"))

		stolen = r.withKey(ada.UserID)
		links = ask(stolen)
		check(t, r.use(links["thief@x.example"]))
		check(t, r.Keys.Revoke(t.Context(), stolen.KeyID))
		check(t, r.EndSessions(t.Context(), ada))
		check(t, r.use(links["ada@x.example"]))
		r.wantEmail(ada, "ada@x.example")
	})
}

// An unconfirmed change ends when its session is ended from elsewhere, and not when the user signs out of that session.
// Then it still ends with all sessions of the user, and by the link to the old address. A change that is done can be
// undone after its session has ended.
func TestChangeOfAddressEndsWithItsSession(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		var stop string
		ask := func(session string) (by access.Caller, link string) {
			t.Helper()
			by = must(r.Keys.IdentifySession(t.Context(), session))(t).Caller()
			check(t, r.ask(by, "new@x.example"))
			links := r.deliver()
			stop = links["ada@x.example"]
			return by, links["new@x.example"]
		}
		session, _ := r.begin(ada)
		lost, link := ask(session)
		check(t, r.Keys.EndSession(t.Context(), ada, lost.SessionID))
		r.want(fault.NotFound, r.use(link))

		in := must(r.SignIn.ByProvider(t.Context(), oidc.Claims{
			Issuer: "https://login.example", Subject: "thief", Email: "ada@x.example", EmailVerified: true,
		}, access.SessionDraft{}))(t)
		_, link = ask(in.Session)
		must(r.SignIn.Unlink(t.Context(), "ada@x.example"))(t)
		r.want(fault.NotFound, r.use(link))
		r.wantEmail(ada, "ada@x.example")

		askAndSignOut := func() (link string) {
			t.Helper()
			session, _ := r.begin(ada)
			asking, link := ask(session)
			check(t, r.Keys.EndSession(t.Context(), asking, asking.SessionID))
			return link
		}
		link = askAndSignOut()
		check(t, r.EndSessions(t.Context(), ada))
		r.want(fault.NotFound, r.use(link))
		link = askAndSignOut()
		check(t, r.use(stop))
		r.want(fault.NotFound, r.use(link))
		r.wantEmail(ada, "ada@x.example")

		link = askAndSignOut()
		if err := r.use(link); err != nil {
			t.Error(err)
		}
		r.wantEmail(ada, "new@x.example")

		check(t, r.use(stop))
		ada = r.withKey(ada.UserID)
		r.now = r.now.Add(time.Hour) // five changes were asked for
		session, _ = r.begin(ada)
		lost, link = ask(session)
		check(t, r.use(link))
		check(t, r.Keys.EndSession(t.Context(), ada, lost.SessionID))
		check(t, r.use(stop))
		r.wantEmail(ada, "ada@x.example")
	})
}

// Undoing a later change leaves an earlier one to be undone. The link of a change does nothing once the address comes
// from elsewhere.
func TestChangesAreUndoneOneByOne(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		change := func(from, to string) (undo string) {
			t.Helper()
			check(t, r.ask(r.withKey(ada.UserID), to))
			links := r.deliver()
			check(t, r.use(links[to]))
			r.now = r.now.Add(time.Minute)
			return links[from]
		}
		first, second := change("ada@x.example", "one@x.example"), change("one@x.example", "two@x.example")
		check(t, r.use(second))
		r.wantEmail(ada, "one@x.example")

		second = change("one@x.example", "two@x.example")
		must(r.Organizations.SetUser(t.Context(), "two@x.example", org.SelfPatch{Email: patch.Of("one@x.example")}))(t)
		r.want(fault.NotFound, r.use(second))
		check(t, r.use(first))
		r.wantEmail(ada, "ada@x.example")
	})
}

// Erasing a person also removes their addresses from the changes of others: of somebody who had one of them before, or
// wants one.
func TestErasingRemovesChangesOfOthers(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const email = "desk@x.example"
		bea := r.join(r.org, email)
		check(t, r.ask(bea, "bea@x.example"))
		check(t, r.use(r.deliver()["bea@x.example"]))
		r.now = r.now.Add(org.AddressHeld)
		r.join(r.org, email)
		carl := r.join(must(r.Organizations.Create(t.Context(), "Other"))(t), "carl@x.example")
		check(t, r.ask(carl, email))
		orgs := r.Organizations
		orgs.UserErasers = append(orgs.UserErasers, r.EraseUser)
		must(orgs.EraseUser(t.Context(), email))(t)
		if n := must(db.One[int](t.Context(), r.DB, nil, `SELECT COUNT(*) FROM address_changes`))(t); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// A key that was revoked after its request was admitted signs nobody out.
func TestSignOutWithARevokedKey(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join(r.org, "ada@x.example")
		session, _ := r.begin(ada)
		check(t, r.Keys.Revoke(t.Context(), ada.KeyID))
		if err := r.EndSessions(t.Context(), ada); err == nil {
			t.Error("it is not refused")
		}
		if _, err := r.Keys.IdentifySession(t.Context(), session); err != nil {
			t.Error(err)
		}
	})
}
