package access

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// testClock is the time of a test, which several servers may share.
type testClock struct{ now time.Time }

func (c *testClock) keys(d *db.DB) *Keys {
	d.Now = func() time.Time { return c.now }
	return NewKeys(d)
}

func newClock() *testClock { return &testClock{time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)} }

func begin(t *testing.T, k *Keys, d SessionDraft) string {
	t.Helper()
	token, err := k.BeginSession(t.Context(), d)
	check(t, err)
	return token
}

// signedIn begins a session, and returns whom it identifies.
func signedIn(t *testing.T, k *Keys, d SessionDraft) *Identity {
	t.Helper()
	id, err := k.IdentifySession(t.Context(), begin(t, k, d))
	check(t, err)
	return id
}

func holds(t *testing.T, k *Keys, token string) bool {
	t.Helper()
	_, err := k.IdentifySession(t.Context(), token)
	if err != nil && !fault.Is(err, fault.NotAuthenticated) {
		t.Fatal(err)
	}
	return err == nil
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		userID, _ := withKeys(t, k)
		idle, used := begin(t, k, SessionDraft{UserID: userID, Method: ByMail}), begin(t, k, SessionDraft{UserID: userID, Method: ByProvider})
		start := c.now
		c.now = start.Add(sessionIdle - time.Second)
		if !holds(t, k, used) {
			t.Error("ended before its time")
		}
		c.now = start.Add(sessionIdle)
		if holds(t, k, idle) || !holds(t, k, used) {
			t.Error("12 hours after the last use a session ends, another does not")
		}
		check(t, k.FlushUse(t.Context()))
		if !holds(t, c.keys(d), used) {
			t.Error("another server does not know of the use")
		}
		check(t, k.Tidy(t.Context()))
		found, err := k.OwnSessions(t.Context(), Caller{UserID: userID}, page.Page{Limit: 10})
		if err != nil || found.Count != 1 || found.Items[0].Method != ByProvider || !found.Items[0].ExpiresAt().Equal(start.Add(2*sessionIdle-time.Second)) {
			t.Errorf("%+v, %v", found, err)
		}
		for c.now.Before(start.Add(week - time.Hour)) {
			c.now = c.now.Add(11 * time.Hour)
			if live := c.now.Before(start.Add(week)); holds(t, k, used) != live {
				t.Errorf("after %s it is %t that the session holds", c.now.Sub(start), !live)
			}
		}
		c.now = start.Add(week)
		if holds(t, k, used) {
			t.Error("7 days after it began a session holds")
		}
		check(t, k.FlushUse(t.Context()))
		if found, err := k.OwnSessions(t.Context(), Caller{UserID: userID}, page.First); err != nil || found.Count != 0 {
			t.Errorf("7 days after it began a session is listed: %+v, %v", found, err)
		}
	})
}

// A session that began, or was used, while the clock was ahead does not last until that time comes again.
func TestSessionOfAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		userID, _ := withKeys(t, k)
		used := begin(t, k, SessionDraft{UserID: userID, Method: ByMail})
		right := c.now
		c.now = right.AddDate(1, 0, 0)
		begun := begin(t, k, SessionDraft{UserID: userID, Method: ByMail})
		c.now = right.Add(sessionIdle - time.Hour)
		if !holds(t, k, used) || holds(t, k, begun) {
			t.Error("once the clock is right, only what began before it was wrong holds")
		}
		found, err := k.OwnSessions(t.Context(), Caller{UserID: userID}, page.First)
		if err != nil || found.Count != 1 {
			t.Errorf("%+v, %v", found, err)
		}
		c.now = right.Add(2*sessionIdle - 2*time.Hour)
		if !holds(t, k, used) || k.FlushUse(t.Context()) != nil {
			t.Error("not used")
		}
		c.now = right.Add(time.Hour)
		if holds(t, k, used) || holds(t, c.keys(d), used) {
			t.Error("used at a time still to come, it holds")
		}
		check(t, k.Tidy(t.Context()))
		if n, err := db.One[int](t.Context(), d, nil, `SELECT COUNT(*) FROM sessions`); err != nil || n != 0 {
			t.Errorf("%d are left, %v", n, err)
		}
	})
}

// A session that is over can be neither ended nor listed. Signing out works even if the last use of the session is not
// stored yet.
func TestEndSessionThatIsOver(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		userID, _ := withKeys(t, k)
		id := signedIn(t, k, SessionDraft{UserID: userID, Method: ByMail})
		c.now = c.now.Add(sessionIdle)
		if err := k.EndSession(t.Context(), Caller{UserID: userID}, id.SessionID); !fault.Is(err, fault.NotFound) {
			t.Errorf("a session was ended that was over: %v", err)
		}
		if err := k.EndSession(t.Context(), id.Caller(), id.SessionID); err != nil {
			t.Errorf("signing out: %v", err)
		}
	})
}

// A use that another server has noted is found before a session is refused.
func TestSessionUsedElsewhere(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		c := newClock()
		here, there := c.keys(dbtest.Open(t, url)), c.keys(dbtest.Open(t, url))
		userID, _ := withKeys(t, here)
		token := begin(t, here, SessionDraft{UserID: userID, Method: ByMail})
		if !holds(t, here, token) {
			t.Fatal("not begun")
		}
		c.now = c.now.Add(sessionIdle - time.Minute)
		if !holds(t, there, token) {
			t.Fatal("not known there")
		}
		check(t, there.FlushUse(t.Context()))
		c.now = c.now.Add(time.Hour)
		if !holds(t, here, token) {
			t.Error("refused here, though used there")
		}
	})
}

func TestSessionOfAKey(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		c := newClock()
		here, there := c.keys(dbtest.Open(t, url)), c.keys(dbtest.Open(t, url))
		userID, ids := withKeys(t, here, time.Hour, 0)
		brief, long := begin(t, here, SessionDraft{UserID: userID, Method: ByKey, KeyID: ids[0]}), begin(t, here, SessionDraft{UserID: userID, Method: ByKey, KeyID: ids[1]})
		id, err := there.IdentifySession(t.Context(), brief)
		if err != nil || id.Scope != All || id.KeyID != ids[0] || id.SessionID == 0 || !id.Caller().keyExpires.Equal(c.now.Add(time.Hour)) {
			t.Fatalf("%+v, %v", id, err)
		}
		if found, err := there.OwnSessions(t.Context(), Caller{UserID: userID}, page.First); !holds(t, there, long) || err != nil || found.Count != 2 {
			t.Errorf("not known there: %+v, %v", found, err)
		}
		check(t, here.Revoke(t.Context(), ids[1]))
		if holds(t, here, long) {
			t.Error("the session of a revoked key holds")
		}
		c.now = c.now.Add(maxAge)
		if holds(t, there, long) {
			t.Error("the session of a revoked key holds there after 2 seconds")
		}
		c.now = c.now.Add(time.Hour)
		if holds(t, here, brief) || holds(t, there, brief) {
			t.Error("the session of an expired key holds")
		}
		if found, err := here.OwnSessions(t.Context(), Caller{UserID: userID}, page.First); err != nil || found.Count != 0 {
			t.Errorf("the session of an expired key is listed: %+v, %v", found, err)
		}
		if _, err := here.BeginSession(t.Context(), SessionDraft{UserID: userID, Method: ByKey, KeyID: ids[1]}); !fault.Is(err, fault.AuthenticationFailed) {
			t.Errorf("a session begins with a revoked key: %v", err)
		}
	})
}

// beginBeside returns a function whose first call begins n sessions, each in its own goroutine; later calls do nothing,
// since a transaction may run more than once. The results are sent to begun.
func beginBeside(t *testing.T, k *Keys, n int, d SessionDraft) (start func(), begun chan error) {
	t.Helper()
	begun = make(chan error, n)
	return sync.OnceFunc(func() {
		for range n {
			go func() {
				_, err := k.BeginSession(t.Context(), d)
				begun <- err
			}()
		}
	}), begun
}

// No session begins with a key that is being revoked.
func TestSessionOfAKeyThatIsRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		k := NewKeys(dbtest.Open(t, url))
		userID, ids := withKeys(t, k, 0)
		start, begun := beginBeside(t, k, 1, SessionDraft{UserID: userID, Method: ByKey, KeyID: ids[0]})
		err := k.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			if err := k.RevokeAll(ctx, tx, Caller{}, userID); err != nil {
				return err
			}
			start()
			return dbtest.AwaitWaiting(t.Context(), k.DB, 1, begun)
		})
		if refused := <-begun; err != nil || !fault.Is(refused, fault.AuthenticationFailed) {
			t.Errorf("%v, %v", err, refused)
		}
	})
}

// A sign-in that ends the least recently used session and the revocation of its key take their locks in the same order.
func TestSessionsGiveWayWhileTheirKeyIsRevoked(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		k := NewKeys(dbtest.Open(t, url))
		userID, ids := withKeys(t, k, 0)
		for range maxSessions {
			begin(t, k, SessionDraft{UserID: userID, Method: ByKey, KeyID: ids[0]})
		}
		start, begun := beginBeside(t, k, 1, SessionDraft{UserID: userID, Method: ByKey, KeyID: ids[0]})
		err := k.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			start()
			if err := dbtest.AwaitWaiting(t.Context(), k.DB, 1, begun); err != nil {
				return err
			}
			return k.revokeWhere(ctx, tx, Caller{}, `id = $1`, ids[0])
		})
		if refused := <-begun; err != nil || !fault.Is(refused, fault.AuthenticationFailed) {
			t.Errorf("%v, %v", err, refused)
		}
		if n, err := k.OwnSessions(t.Context(), Caller{UserID: userID}, page.Page{Limit: 1}); err != nil || n.Count != 0 {
			t.Errorf("%d sessions, %v", n.Count, err)
		}
	})
}

// If several sessions begin at once, each one past the limit ends one other, even if there was room for the first.
func TestSessionsGiveWayOnce(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		k := NewKeys(dbtest.Open(t, url))
		userID, _ := withKeys(t, k)
		join(t, k, userID, acme)
		const room, atOnce = 1, 3
		for range maxSessions - room {
			begin(t, k, SessionDraft{UserID: userID, Method: ByMail})
		}
		start, begun := beginBeside(t, k, atOnce, SessionDraft{UserID: userID, Method: ByMail})
		err := k.Change(t.Context(), func(context.Context, *db.Tx) error {
			start()
			return dbtest.AwaitWaiting(t.Context(), k.DB, atOnce, begun)
		})
		for range atOnce {
			err = errors.Join(err, <-begun)
		}
		sessions, failed := k.OwnSessions(t.Context(), Caller{UserID: userID}, page.Page{Limit: 1})
		ended, listed := activity.List(t.Context(), k.DB, activity.Filter{OrganizationID: acme, Verb: activity.Ended, UserID: userID}, page.First)
		if err := errors.Join(err, failed, listed); err != nil || sessions.Count != maxSessions || ended.Count != atOnce-room {
			t.Errorf("%d sessions, %d have ended, %v", sessions.Count, ended.Count, err)
		}
	})
}

func TestEndSessionsOnTwoServers(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		c := newClock()
		here, there := c.keys(dbtest.Open(t, url)), c.keys(dbtest.Open(t, url))
		userID, _ := withKeys(t, here)
		var tokens []string
		for range 3 {
			tokens = append(tokens, begin(t, here, SessionDraft{UserID: userID, Method: ByMail}))
		}
		for _, token := range tokens {
			if !holds(t, here, token) || !holds(t, there, token) {
				t.Fatal("not begun")
			}
		}
		id, err := here.IdentifySession(t.Context(), tokens[0])
		check(t, err)
		if err := here.EndSession(t.Context(), Caller{UserID: userID + 1}, id.SessionID); !fault.Is(err, fault.NotFound) {
			t.Errorf("another user's session: %v", err)
		}
		check(t, here.EndSession(t.Context(), id.Caller(), id.SessionID))
		if holds(t, here, tokens[0]) || !holds(t, here, tokens[1]) {
			t.Error("the one session shall have ended here, and no other")
		}
		c.now = c.now.Add(maxAge)
		if holds(t, there, tokens[0]) || !holds(t, there, tokens[1]) {
			t.Error("the one session shall have ended there, and no other")
		}
		if _, _, err := here.CreateOwn(t.Context(), id.Caller(), OwnDraft{Scope: All}); !fault.Is(err, fault.AuthenticationFailed) {
			t.Errorf("an ended session makes a key: %v", err)
		}
		if id, err = here.IdentifySession(t.Context(), tokens[1]); err != nil {
			t.Fatal(err)
		}
		err = here.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			return here.RemoveSessions(ctx, tx, id.Caller(), userID, 0)
		})
		check(t, err)
		c.now = c.now.Add(maxAge)
		for _, token := range tokens {
			if holds(t, here, token) || holds(t, there, token) {
				t.Error("a session holds after all were ended")
			}
		}
	})
}

func TestSessionsOfAUserAreLimited(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		c := newClock()
		k := c.keys(d)
		userID, _ := withKeys(t, k)
		others := begin(t, k, SessionDraft{UserID: newUser(t, k, "bea"), Method: ByMail})
		first := begin(t, k, SessionDraft{UserID: userID, Method: ByMail, UserAgent: strings.Repeat("é\x00", 200) + "\xff"})
		if !holds(t, k, first) {
			t.Fatal("not begun")
		}
		for range maxSessions {
			c.now = c.now.Add(time.Second)
			begin(t, k, SessionDraft{UserID: userID, Method: ByMail})
		}
		c.now = c.now.Add(maxAge)
		found, err := k.OwnSessions(t.Context(), Caller{UserID: userID}, page.Page{Limit: 1})
		if err != nil || found.Count != maxSessions || holds(t, k, first) {
			t.Errorf("%d sessions, %v", found.Count, err)
		}
		if !holds(t, k, others) {
			t.Error("a session of another user has ended")
		}
	})
}

// Signing in with a key many times ends no session that began without that key.
func TestSessionsGiveWayToTheirKeyAlone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		userID, ids := withKeys(t, k, 0, 0)
		var others []string
		for _, draft := range []SessionDraft{{Method: ByMail}, {Method: ByProvider}, {Method: ByKey, KeyID: ids[1]}} {
			draft.UserID = userID
			others = append(others, begin(t, k, draft))
		}
		first := begin(t, k, SessionDraft{UserID: userID, Method: ByKey, KeyID: ids[0]})
		for range maxSessions {
			begin(t, k, SessionDraft{UserID: userID, Method: ByKey, KeyID: ids[0]})
		}
		for i, other := range others {
			if !holds(t, k, other) {
				t.Errorf("session %d has ended", i)
			}
		}
		if holds(t, k, first) {
			t.Error("the first one of the key has not ended")
		}
	})
}

// A key is not accepted as a session, nor a session as a key.
func TestSessionsAreNoKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		k := NewKeys(d)
		userID, _ := withKeys(t, k)
		_, key := create(t, k, Draft{UserID: userID, Scope: All})
		session := begin(t, k, SessionDraft{UserID: userID, Method: ByMail})
		if _, err := k.Identify(t.Context(), key); err != nil || !holds(t, k, session) {
			t.Error("neither works", err)
		}
		if _, err := k.Identify(t.Context(), session); !fault.Is(err, fault.AuthenticationFailed) {
			t.Errorf("a session is taken for a key: %v", err)
		}
		for _, wrong := range []string{key, "", session[1:], session + "A", sessionPrefix, newSession()} {
			if holds(t, k, wrong) {
				t.Errorf("%q is taken for a session", wrong)
			}
		}
	})
}
