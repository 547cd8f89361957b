package signin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// sessions returns the entries about sessions, the oldest first, each with the values of its changes.
func (r *rig) sessions() (all []string) {
	r.t.Helper()
	found, err := activity.List(r.t.Context(), r.DB, activity.Filter{OrganizationID: r.org.ID, Scopes: []activity.Scope{activity.Session}}, page.First)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range slices.Backward(found.Items) {
		var changes []activity.Change
		if err := json.Unmarshal([]byte(e.Changes), &changes); err != nil {
			r.t.Fatal(err)
		}
		line := []string{fmt.Sprintf("%s %s of %s by %d in %q from %q", e.ItemID, e.Verb, e.Name, e.User.ID, e.RequestID, e.Address)}
		for _, c := range changes {
			line = append(line, fmt.Sprintf("%s %v", c.Field, c.After))
		}
		all = append(all, strings.Join(line, ", "))
	}
	return all
}

// wantSessions checks the entries about sessions, without those about links.
func (r *rig) wantSessions(want ...string) {
	r.t.Helper()
	isLink := func(entry string) bool { return strings.HasSuffix(entry, "link for 15 minutes") }
	if got := slices.DeleteFunc(r.sessions(), isLink); !slices.Equal(got, want) {
		r.t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// Changes of how somebody signs in are recorded: a link that an operator prints, and an account at the provider that
// becomes theirs or no longer is.
func TestWaysInAreRecorded(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		u := r.join("ada@x.example", false, false)
		r.link("ada@x.example")
		if _, err := r.ByProvider(t.Context(), person("1", "ada@x.example"), access.SessionDraft{RequestID: "request"}); err != nil {
			t.Fatal(err)
		}
		if n, err := r.Unlink(t.Context(), "ada@x.example"); err != nil || n != 1 {
			t.Errorf("%d, %v", n, err)
		}
		issuer := person("1", "").Issuer
		got := r.sessions()
		for _, want := range []string{
			u.UUID + ` created of ada@x.example by 0 in "" from "", link for 15 minutes`,
			fmt.Sprintf(`%s updated of ada@x.example by %d in "request" from "", identity_provider %s`, u.UUID, u.ID, issuer),
			u.UUID + ` updated of ada@x.example by 0 in "" from "", identity_provider <nil>`,
		} {
			if !slices.Contains(got, want) {
				t.Errorf("%s is not among %q", want, got)
			}
		}
	})
}

// Each sign-in and each end of a session is in the activity of the user's organizations.
func TestSessionsAreRecorded(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.Keys.KeepAddresses = true
		r.join("ada@x.example", false, false)
		d := access.SessionDraft{RequestID: "request", Address: "192.0.2.1"}
		use := func() access.Caller {
			r.now = r.now.Add(time.Second)
			session, err := r.Use(t.Context(), r.link("ada@x.example"), d)
			if err != nil {
				t.Fatal(err)
			}
			id, err := r.Keys.IdentifySession(t.Context(), session.Session)
			if err != nil {
				t.Fatal(err)
			}
			return id.Caller()
		}
		first, second, third := use(), use(), use()
		if err := r.Keys.EndSession(t.Context(), first, second.SessionID); err != nil {
			t.Fatal(err)
		}
		r.now = r.now.Add(time.Second)
		err := r.Keys.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return r.Keys.RemoveSessions(ctx, tx, first, first.UserID, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
		by, from := fmt.Sprintf("of ada@x.example by %d in", first.UserID), `"request" from "192.0.2.1", method mail`
		r.wantSessions(
			fmt.Sprintf("%d signed_in %s %s", first.SessionID, by, from),
			fmt.Sprintf("%d signed_in %s %s", second.SessionID, by, from),
			fmt.Sprintf("%d signed_in %s %s", third.SessionID, by, from),
			fmt.Sprintf(`%d ended %s "" from ""`, second.SessionID, by),
			fmt.Sprintf(`%d signed_out %s "" from ""`, first.SessionID, by),
			fmt.Sprintf(`%d ended %s "" from ""`, third.SessionID, by),
		)
	})
}

// The first failure of an hour is recorded at once, the others as one more entry when the hour is over.
func TestFailuresAreRecorded(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join("ada@x.example", false, false)
		d := access.SessionDraft{RequestID: "request", Address: "192.0.2.1"}
		unverified := person("1", "ada@x.example")
		unverified.EmailVerified = false
		fail := func(times int) {
			t.Helper()
			for range times {
				if _, err := r.ByProvider(t.Context(), unverified, d); err == nil {
					t.Fatal("signed in")
				}
			}
		}
		report := func() {
			t.Helper()
			if err := r.ReportFailures(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		failed := func(in, what string) string {
			return fmt.Sprintf(` sign_in_failed of ada@x.example by %d in %q from "", %s`, ada.ID, in, what)
		}
		want := []string{failed("request", "method oidc, reason the identity provider has not verified the address")}
		fail(5)
		report()
		r.wantSessions(want...)
		r.now = r.now.Add(time.Hour)
		report()
		report()
		want = append(want, failed("", "count 4"))
		r.wantSessions(want...)

		bea := r.join("bea@x.example", false, false)
		if _, _, err := r.Keys.Create(t.Context(), access.Draft{UserID: bea.ID, Scope: access.All}); err != nil {
			t.Fatal(err)
		}
		_, key, err := r.Keys.Create(t.Context(), access.Draft{UserID: ada.ID, Scope: access.All, ExpiresIn: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		token := r.link("ada@x.example")
		r.now = r.now.Add(time.Hour)
		if _, err := r.ByKey(t.Context(), key, d); err == nil {
			t.Error("an expired key signs in")
		}
		want = append(want, failed("request", "method key, reason the key has expired"))
		for range 2 { // looking does not count as a try
			if _, err := r.Open(t.Context(), token); err == nil {
				t.Error("a link past its time opens")
			}
		}
		if _, err := r.Use(t.Context(), token, d); err == nil {
			t.Error("a link past its time signs in")
		}
		r.now = r.now.Add(2 * time.Hour) // no server has reported meanwhile
		fail(1)
		want = append(want, failed("", "count 1"), want[0])
		r.wantSessions(want...)

		r.now = r.now.Add(time.Hour)
		report()
		for _, nobody := range []string{"eve@x.example", ""} {
			unverified.Email = nobody
			fail(1)
		}
		if _, err := r.ByKey(t.Context(), access.NewKey(), d); err == nil {
			t.Error("an unknown key signs in")
		}
		r.wantSessions(want...)
		if n := r.count("signin_failures"); n != 0 {
			t.Errorf("%d counts are left", n)
		}
	})
}

// Failures are counted for each user, even if the same account of the provider is behind those of several.
func TestFailuresOfOthers(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var first, counts []string
		for i, times := range []int{3, 2} {
			u := r.join("user"+strconv.Itoa(i)+"@x.example", false, false)
			p := person("1", u.Email)
			p.EmailVerified = false
			for range times {
				if _, err := r.ByProvider(t.Context(), p, access.SessionDraft{}); err == nil {
					t.Fatal("signed in")
				}
			}
			failed := fmt.Sprintf(` sign_in_failed of %s by %d in "" from "", `, u.Email, u.ID)
			first = append(first, failed+"method oidc, reason the identity provider has not verified the address")
			counts = append(counts, failed+"count "+strconv.Itoa(times-1))
			r.now = r.now.Add(time.Second)
		}
		r.now = r.now.Add(time.Hour)
		if err := r.ReportFailures(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.wantSessions(append(first, counts...)...)
	})
}

// Failures that were counted before the clock was set back do not make later ones wait until that time comes again.
func TestFailuresWhenTheClockStepsBack(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		ada := r.join("ada@x.example", false, false)
		unverified := person("1", "ada@x.example")
		unverified.EmailVerified = false
		fail := func() {
			t.Helper()
			if _, err := r.ByProvider(t.Context(), unverified, access.SessionDraft{}); err == nil {
				t.Fatal("signed in")
			}
		}
		failed := func(what string) string {
			return fmt.Sprintf(` sign_in_failed of ada@x.example by %d in "" from "", %s`, ada.ID, what)
		}
		first := failed("method oidc, reason the identity provider has not verified the address")
		fail()
		fail()
		r.now = r.now.Add(-2 * time.Hour)
		fail()
		r.wantSessions(failed("count 1"), first, first) // in the order of their time
		fail()
		r.now = r.now.Add(-2 * time.Hour)
		if err := r.ReportFailures(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.wantSessions(failed("count 1"), failed("count 1"), first, first)
	})
}

// A malformed key is refused without a look-up.
func TestMalformedKeyIsNotLookedUp(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		before := dbtest.Statements(r.DB)
		for _, key := range []string{"", "foy_", access.NewKey() + "0"} {
			if _, err := r.ByKey(t.Context(), key, access.SessionDraft{}); !fault.Is(err, fault.AuthenticationFailed) {
				t.Errorf("%q: %v", key, err)
			}
		}
		if n := dbtest.Statements(r.DB) - before; n != 0 {
			t.Errorf("%d statements", n)
		}
	})
}

// A failure is recorded in each organization of the user, and in no other; a failure with a bound key only in the
// key's.
func TestFailuresAreRecordedWhereTheUserIs(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.join("ada@x.example", false, false)
		other, err := r.Organizations.Create(t.Context(), "Other")
		if err != nil {
			t.Fatal(err)
		}
		p := person("1", "ada@x.example")
		p.EmailVerified = false
		if _, err := r.ByProvider(t.Context(), p, access.SessionDraft{}); err == nil {
			t.Fatal("signed in")
		}
		if n := len(r.sessions()); n != 1 {
			t.Errorf("%d entries", n)
		}
		in := r.org
		r.org = other
		if n := len(r.sessions()); n != 0 {
			t.Errorf("%d entries elsewhere", n)
		}

		ada := r.join("ada@x.example", false, false)
		_, bound, err := r.Keys.Create(t.Context(), access.Draft{UserID: ada.ID, OrganizationID: other.ID, Scope: access.All, ExpiresIn: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		r.now = r.now.Add(time.Hour)
		for range 3 {
			if _, err := r.ByKey(t.Context(), bound, access.SessionDraft{}); err == nil {
				t.Fatal("signed in")
			}
		}
		if _, err := r.ByProvider(t.Context(), p, access.SessionDraft{}); err == nil {
			t.Fatal("signed in")
		}
		r.now = r.now.Add(time.Hour)
		if err := r.ReportFailures(t.Context()); err != nil {
			t.Fatal(err)
		}
		failed := fmt.Sprintf(` sign_in_failed of ada@x.example by %d in "" from "", `, ada.ID)
		byKey, count := failed+"method key, reason the key has expired", failed+"count 2"
		byProvider := failed + "method oidc, reason the identity provider has not verified the address"
		r.wantSessions(byKey, byProvider, count)
		r.org = in
		r.wantSessions(byProvider, byProvider)
	})
}
