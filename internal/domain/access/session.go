package access

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/precondition"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

const (
	// SessionTime is how long a session lives from its beginning.
	SessionTime = 7 * 24 * time.Hour
	// sessionIdle is how long it lives from its last use.
	sessionIdle = 12 * time.Hour
	// sessionNoted is how far the noted last use of a session may be behind.
	sessionNoted = 5 * time.Minute
	// maxSessions is how many sessions of a user may begin with the same key, or with none. A further one ends the
	// least recently used.
	maxSessions = 100
)

// Method is how a session began.
type Method string

// The ways to sign in.
const (
	ByProvider Method = "oidc"
	ByMail     Method = "mail"
	ByKey      Method = "key"
)

// Session is a browser that is signed in. It may do what its user may or, if it began with a key, what the key may.
type Session struct {
	ID         int64
	Method     Method
	CreatedAt  time.Time
	LastUsedAt time.Time // to 5 minutes
	Address    string    // of the browser when it began
	UserAgent  string
	keyExpires time.Time // zero: never
}

// ExpiresAt is when the session ends unless it is used.
func (s Session) ExpiresAt() time.Time { return sessionEnd(s.CreatedAt, s.LastUsedAt, s.keyExpires) }

// sessionEnd is when a session ends unless it is used.
func sessionEnd(began, used, keyExpires time.Time) time.Time {
	end := used.Add(sessionIdle)
	for _, other := range []time.Time{began.Add(SessionTime), keyExpires} {
		if !other.IsZero() && other.Before(end) {
			end = other
		}
	}
	return end
}

// SessionDraft describes a new session.
type SessionDraft struct {
	UserID    int64
	Method    Method
	KeyID     int64 // that it begins with; 0: none
	Address   string
	UserAgent string
	RequestID string // of the request that signs in; "": none
}

// By returns the caller that the activity names for a sign-in; sessionID is 0 before there is a session.
func (k *Keys) By(d SessionDraft, sessionID int64) Caller {
	by := Caller{UserID: d.UserID, KeyID: d.KeyID, SessionID: sessionID, RequestID: d.RequestID}
	if k.KeepAddresses {
		by.Address = d.Address
	}
	return by
}

// maxUserAgent is how much of a browser's User-Agent is kept, in bytes.
const maxUserAgent = 300

// sessionPrefix is what the token of every session begins with.
const sessionPrefix = "fos_"

// newSession makes the token of a session at random: 260 bits.
func newSession() string { return sessionPrefix + rand.Text() + rand.Text() }

// BeginSession makes a session and returns its token.
func (k *Keys) BeginSession(ctx context.Context, d SessionDraft) (token string, err error) {
	err = k.Change(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		token, err = k.InsertSession(ctx, tx, d)
		return err
	})
	return token, err
}

// InsertSession is BeginSession inside Change, which runs one sign-in at a time: it ends the user's least recently used
// sessions beyond maxSessions.
func (k *Keys) InsertSession(ctx context.Context, tx *db.Tx, d SessionDraft) (token string, err error) {
	d.UserAgent = strings.ToValidUTF8(strings.ReplaceAll(d.UserAgent, "\x00", ""), "\uFFFD")
	if len(d.UserAgent) > maxUserAgent {
		d.UserAgent = strings.ToValidUTF8(d.UserAgent[:maxUserAgent], "") + "…"
	}
	old, err := superfluous(ctx, tx, d.UserID, d.KeyID)
	if err != nil {
		return "", err
	}
	token = newSession()
	id, err := insertSession(ctx, tx, d, hashOf(token), k.DB.Now())
	if errors.Is(err, db.ErrReference) {
		return "", errBadKey // revoked since it was looked up
	}
	if err != nil {
		return "", err
	}
	made, err := findBegun(ctx, tx, d.UserID, id)
	if err != nil {
		return "", err
	}
	by := k.By(d, id)
	if err := k.recordSession(ctx, tx, by, made, activity.SignedIn, activity.Changed("method", nil, d.Method)); err != nil {
		return "", err
	}
	return token, k.end(ctx, tx, by, old)
}

var errNoSession = fault.New(fault.NotAuthenticated, "Your session is over: sign in again.")

// IdentifySession returns the identity that the token of a session belongs to. The error is the same for a session that
// is over and for an unknown token.
func (k *Keys) IdentifySession(ctx context.Context, token string) (*Identity, error) {
	if !strings.HasPrefix(token, sessionPrefix) || len(token) != len(sessionPrefix)+2*len(rand.Text()) {
		return nil, errNoSession
	}
	return k.identify(ctx, credential{hashOf(token), true})
}

// OwnSessions returns a page of the sessions of the caller's user that are not over, in the
// order they began.
func (k *Keys) OwnSessions(ctx context.Context, c Caller, p page.Page) (page.Found[Session], error) {
	now := k.DB.Now()
	return queries.Page(ctx, k.DB, p,
		func(ctx context.Context, q db.Querier) (int, error) { return countSessions(ctx, q, c.UserID, now) },
		func(ctx context.Context, q db.Querier) ([]Session, error) {
			return listSessions(ctx, q, c.UserID, now, p)
		})
}

// OwnSession returns one of the sessions that OwnSessions lists.
func (k *Keys) OwnSession(ctx context.Context, c Caller, id int64) (Session, error) {
	s, err := findSession(ctx, k.DB, c.UserID, id, k.DB.Now())
	return s, OrNotFound(err)
}

// EndSession ends one of the caller's sessions: this server refuses it at once, others
// within 2 seconds.
func (k *Keys) EndSession(ctx context.Context, c Caller, id int64) error {
	return k.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := ConfirmSelf(ctx, tx, c, k.DB.Now()); err != nil {
			return err
		}
		if id != c.SessionID || precondition.Given(ctx) { // a caller's own session is not over, even if its last use is not stored yet
			s, err := findSession(ctx, tx, c.UserID, id, k.DB.Now())
			if err != nil {
				return OrNotFound(err)
			}
			if err := precondition.Check(ctx, s); err != nil {
				return err
			}
		}
		s, err := findBegun(ctx, tx, c.UserID, id)
		if err != nil {
			return OrNotFound(err)
		}
		return k.end(ctx, tx, c, []begun{s})
	})
}

// RemoveSessions ends, inside Change, all sessions of a user except one; 0: no exception.
func (k *Keys) RemoveSessions(ctx context.Context, tx *db.Tx, by Caller, userID, except int64) error {
	all, err := lockBegun(ctx, tx, userID)
	if err != nil {
		return err
	}
	return k.end(ctx, tx, by, slices.DeleteFunc(all, func(b begun) bool { return b.id == except }))
}

// RemoveProviderSessions ends, inside Change, the sessions of a user that began at the identity provider.
func (k *Keys) RemoveProviderSessions(ctx context.Context, tx *db.Tx, userID int64) error {
	all, err := lockBegun(ctx, tx, userID)
	if err != nil {
		return err
	}
	return k.end(ctx, tx, Caller{}, slices.DeleteFunc(all, func(b begun) bool { return b.method != ByProvider }))
}

// RevokeAll revokes all keys of a user and ends all their sessions, inside Change.
func (k *Keys) RevokeAll(ctx context.Context, tx *db.Tx, by Caller, userID int64) error {
	if err := lockKeys(ctx, tx, userID); err != nil {
		return err
	}
	if _, err := lockBegun(ctx, tx, userID); err != nil { // also those that began without a key
		return err
	}
	if err := k.revokeWhere(ctx, tx, by, `user_id = $1`, userID); err != nil {
		return err
	}
	return k.RemoveSessions(ctx, tx, by, userID, 0)
}

// end ends sessions, and records that in each organization that they opened. It removes the unconfirmed address change
// that was asked for in a session, unless the user signs out of that session: they may read their mail elsewhere.
func (k *Keys) end(ctx context.Context, tx *db.Tx, by Caller, sessions []begun) error {
	for _, s := range sessions {
		if err := deleteSession(ctx, tx, s.id); err != nil {
			return err
		}
		verb := activity.Ended
		if s.id == by.SessionID {
			verb = activity.SignedOut
		} else if err := deleteAddressChange(ctx, tx, s); err != nil {
			return err
		}
		if err := k.recordSession(ctx, tx, by, s, verb); err != nil {
			return err
		}
	}
	return nil
}

func (k *Keys) recordSession(ctx context.Context, tx *db.Tx, by Caller, s begun, verb activity.Verb, changes ...activity.Change) error {
	return k.Record(ctx, tx, Key{UserID: s.userID, OrganizationID: s.boundTo}, by.Did(activity.Entry{
		Scope: activity.Session, ItemID: strconv.FormatInt(s.id, 10), Verb: verb, Name: s.email, Changes: changes,
	}))
}

// MaySeeSelf reports whether a caller may see what belongs to the person rather than to one organization.
func MaySeeSelf(c Caller) error {
	if c.BoundTo != "" {
		return fault.New(fault.Denied, "This belongs to you, not to one organization: it needs a key or session that is not bound to one.")
	}
	return nil
}

// inSession is the context key of the token of a session, for requests of the console.
type inSession struct{}

// WithSession returns the context of a request that acts as a session. No request that comes
// over the network has one.
func WithSession(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, inSession{}, token)
}

// SessionOf returns the token of the session that a request acts as.
func SessionOf(ctx context.Context) (token string, ok bool) {
	token, ok = ctx.Value(inSession{}).(string)
	return token, ok
}
