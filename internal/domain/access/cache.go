package access

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/base/clock"
	"foyer/internal/base/fault"
	"foyer/internal/base/flight"
	"foyer/internal/base/inflight"
	"foyer/internal/base/purpose"
	"foyer/internal/infra/db"
	"foyer/internal/infra/lastuse"
)

const (
	// recheckAfter is the age at which one request asks the database whether the keys in memory are still valid.
	recheckAfter = time.Second
	// maxAge is the age up to which the other requests use them meanwhile, and so how long this server may still admit
	// a key that another server has revoked.
	maxAge = 2 * time.Second
	// maxAsk is how long that query may take, since all requests may have to wait for it: a dead connection must not
	// hold them up when others work.
	maxAsk = 5 * time.Second
	// maxCached bounds the memory that keys take, in bytes.
	maxCached = 28 << 20
)

// Keys knows whom API keys and sessions belong to. It caches what it has looked up until access_version changes.
type Keys struct {
	DB            *db.DB
	KeepAddresses bool // store in the activity where people sign in from

	cache cached
	renew time.Duration // how often leases of requests are renewed; 0: renewEvery
}

// NewKeys returns the Keys of the database d.
func NewKeys(d *db.DB) *Keys {
	return &Keys{DB: d, cache: cached{known: cache.Cache[credential, *Identity]{Max: maxCached, Size: (*Identity).size}}}
}

// Now returns the time by which keys are checked.
func (k *Keys) Now() time.Time { return k.DB.Now() }

// credential identifies a key, or the token of a session, by its hash.
type credential struct {
	hash    hash
	session bool // of a session, not of a key
}

// refusal returns the error for a credential that is not valid.
func (c credential) refusal() error {
	if c.session {
		return errNoSession
	}
	return errBadKey
}

// Identity is the user that a key or session belongs to, and the organizations it opens.
type Identity struct {
	KeyID      int64 // of a session: the key it began with; 0: none
	SessionID  int64 // 0: no session
	UserID     int64
	Person     Person
	Scope      Scope
	boundTo    string // the one organization it opens; "": all of the user's
	expiresAt  time.Time
	began      time.Time      // of a session
	grants     []grant        // in the order of joining
	activeHour []atomic.Int64 // of each grant: hours since 1970 of the last use that was noted
	credential credential
	version    int64        // of Keys, when it was looked up
	usedHour   atomic.Int64 // hours since 1970 of the last use of the key that was noted
	usedAt     atomic.Int64 // microseconds since 1970, of the session
}

// size returns about how many bytes an identity takes.
func (id *Identity) size() int { return 300 + 400*len(id.grants) }

// over reports whether an identity is too old. A session that was last used in the future is, too.
func (id *Identity) over(now time.Time) bool {
	if id.SessionID != 0 {
		used := time.UnixMicro(id.usedAt.Load())
		return used.After(now.Add(clock.Differ)) || !now.Before(sessionEnd(id.began, used, id.expiresAt))
	}
	return !id.expiresAt.IsZero() && !now.Before(id.expiresAt)
}

// Identify returns the identity that a key belongs to. The error is the same for every invalid key.
func (k *Keys) Identify(ctx context.Context, key string) (*Identity, error) {
	if !WellFormed(key) {
		return nil, errBadKey
	}
	return k.identify(ctx, credential{hash: hashOf(key)})
}

func (k *Keys) identify(ctx context.Context, c credential) (*Identity, error) {
	now := k.DB.Now()
	if err := k.verify(ctx, now); err != nil {
		return nil, err
	}
	id, ok := k.cache.known.Get(c, k.Version())
	if !ok || c.session && id.over(now) { // a session may have been used on another server
		var err error
		if id, err = k.load(ctx, c); err != nil {
			return nil, err
		}
	}
	if id.over(now) {
		return nil, c.refusal()
	}
	k.cache.noteUse(id, now)
	return id, nil
}

// Find returns a key, even an expired one, or the zero Key if there is none.
func (k *Keys) Find(ctx context.Context, key string) (Key, error) {
	if !WellFormed(key) {
		return Key{}, nil
	}
	found, err := findKeyByHash(ctx, k.DB, hashOf(key))
	if errors.Is(err, db.ErrNoRow) {
		err = nil
	}
	return found, err
}

var errBadKey = fault.New(fault.AuthenticationFailed, "The API key is not valid: it may be mistyped, expired or revoked.")

// Current stands in place of an organization's id: for the organization that the key is bound to, or else the one its
// user joined first.
const Current = "@current"

// Enter returns the identity as a caller inside an organization.
func (k *Keys) Enter(ctx context.Context, id *Identity, organizationID string) (Caller, error) {
	if c, ok := k.enter(id, organizationID); ok {
		return c, nil
	}
	id, err := k.load(ctx, id.credential) // its user may have joined a moment ago
	if err != nil {
		return Caller{}, err
	}
	if c, ok := k.enter(id, organizationID); ok {
		return c, nil
	}
	return Caller{}, ErrNotFound
}

// ErrNotFound is the answer for everything that does not exist or is not the caller's.
var ErrNotFound = fault.New(fault.NotFound, "Not found.")

// OrNotFound returns err, or ErrNotFound if the database found no row.
func OrNotFound(err error) error {
	if errors.Is(err, db.ErrNoRow) {
		return ErrNotFound
	}
	return err
}

func (k *Keys) enter(id *Identity, organizationID string) (Caller, bool) {
	for i := range id.grants {
		g := &id.grants[i]
		if strings.EqualFold(g.org.ID, organizationID) || organizationID == Current {
			k.cache.noteActive(id, i, k.DB.Now())
			c := id.inside(g)
			c.keys, c.version = k, id.version
			return c, true
		}
	}
	return Caller{}, false
}

// Person is a user's first name and address.
type Person struct{ FirstName, Email string }

// Callers returns the identity as a caller inside each organization that it opens, in the order of joining.
func (id *Identity) Callers() []Caller {
	all := make([]Caller, len(id.grants))
	for i := range id.grants {
		all[i] = id.inside(&id.grants[i])
	}
	return all
}

func (id *Identity) inside(g *grant) Caller {
	c := id.Caller()
	c.Level, c.Organization = g.level, g.org
	return c
}

// Caller returns the identity as a caller outside of organizations.
func (id *Identity) Caller() Caller {
	return Caller{UserID: id.UserID, KeyID: id.KeyID, SessionID: id.SessionID, Scope: id.Scope, BoundTo: id.boundTo, keyExpires: id.expiresAt}
}

// load looks a credential up in the database.
func (k *Keys) load(ctx context.Context, c credential) (*Identity, error) {
	version := k.Version()
	found, err := grants(inflight.Uncounted(ctx), k.DB, c)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, c.refusal()
	}
	key := found[0].key
	id := &Identity{
		KeyID: key.ID, SessionID: found[0].sessionID, UserID: key.UserID, Person: found[0].person, Scope: key.Scope, boundTo: key.OrganizationID,
		expiresAt: key.ExpiresAt, began: key.CreatedAt, credential: c, version: version,
	}
	id.usedAt.Store(key.LastUsedAt.UnixMicro())
	if found[0].org.ID != "" {
		id.grants, id.activeHour = found, make([]atomic.Int64, len(found))
	}
	k.cache.known.Put(c, version, id)
	return id, nil
}

// Change runs fn in a transaction that changes who may do what: keys, sessions, memberships, users or organizations. This
// server applies it at once, others as soon as they see that access_version has changed. Only one such transaction is
// under way at a time, so fn can rely on what it reads.
func (k *Keys) Change(ctx context.Context, fn func(context.Context, *db.Tx) error) error {
	k.cache.changing.Add(1)
	defer k.cache.changing.Add(-1)
	err := k.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := countChange(ctx, tx); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	if err == nil || fault.Is(err, fault.Internal) { // an error of our own: the change may have been committed
		k.cache.version.Add(1)
	}
	return err
}

// Version changes with each change to keys, memberships, organizations or users that this server knows of. What is read
// after a call of Version is valid until the version changes.
func (k *Keys) Version() int64 { return k.cache.version.Load() }

// holds reports whether what was in memory at a version is still what the database says, except for changes that
// another server made in the last maxAge.
func (k *Keys) holds(version int64, now time.Time) bool {
	age := now.Sub(time.UnixMicro(k.cache.checkedAt.Load()))
	return k.cache.changing.Load() == 0 && k.Version() == version && age > -maxAge && age < maxAge
}

// verify returns once what is in memory is at most maxAge behind the database.
func (k *Keys) verify(ctx context.Context, now time.Time) error {
	c := &k.cache
	for {
		age := now.Sub(time.UnixMicro(c.checkedAt.Load()))
		if age > -maxAge && (age < recheckAfter || age < maxAge && c.asking.Load()) {
			return nil
		}
		recheck := func(ctx context.Context) (struct{}, error) { return struct{}{}, k.recheck(ctx, now) }
		if _, err := c.flight.Do(ctx, "", recheck); err != nil {
			return err
		}
		// Another request may have begun this query long ago.
	}
}

// recheck asks the database whether what is in memory is still valid.
func (k *Keys) recheck(ctx context.Context, now time.Time) error {
	c := &k.cache
	c.asking.Store(true)
	defer c.asking.Store(false)
	ctx, cancel := context.WithTimeout(purpose.With(inflight.Uncounted(ctx), "keys"), maxAsk)
	defer cancel()
	v, err := storedVersion(ctx, k.DB)
	if err != nil {
		return err
	}
	if c.stored != v {
		c.stored = v
		c.version.Add(1)
	}
	c.checkedAt.Store(now.UnixMicro())
	return nil
}

type cached struct {
	flight    flight.Group[struct{}] // of recheck, shared by all requests that wait for it
	asking    atomic.Bool            // a recheck is under way
	checkedAt atomic.Int64
	stored    int64 // access_version as it was last read; guarded by flight

	version  atomic.Int64 // the version of what is in known: nothing read before a change is used after it
	known    cache.Cache[credential, *Identity]
	changing atomic.Int64 // transactions under way that change who may do what

	keyUses             lastuse.Notes // of keys
	sessionUses         lastuse.Notes
	memberUses          lastuse.Notes // of users, in organizations
	keyOrganizationUses lastuse.Notes // of keys, in organizations
}

// noteUse remembers the use of a key, to the hour, and of a session, to 5 minutes.
func (c *cached) noteUse(id *Identity, now time.Time) {
	if last := id.usedAt.Load(); id.SessionID != 0 && now.Sub(time.UnixMicro(last)) >= sessionNoted && id.usedAt.CompareAndSwap(last, now.UnixMicro()) {
		c.sessionUses.Note(lastuse.Used{ID: id.SessionID}, now)
	}
	if id.KeyID != 0 && isNewHour(&id.usedHour, now) {
		c.keyUses.Note(lastuse.Used{ID: id.KeyID}, now.Truncate(time.Hour))
	}
}

// isNewHour reports whether a use is in another hour than the last one that was noted, and notes that hour.
func isNewHour(noted *atomic.Int64, now time.Time) bool {
	hour := now.Unix() / 3600
	return noted.Swap(hour) != hour
}

// noteActive remembers, to the hour, that a member has used a grant, and with which key. An operator who acts as a
// member leaves no note.
func (c *cached) noteActive(id *Identity, i int, now time.Time) {
	if id.activeHour != nil && isNewHour(&id.activeHour[i], now) {
		c.memberUses.Note(lastuse.Used{ID: id.UserID, OrganizationID: id.grants[i].org.ID}, now.Truncate(time.Hour))
		if id.KeyID != 0 && id.boundTo == "" {
			c.keyOrganizationUses.Note(lastuse.Used{ID: id.KeyID, OrganizationID: id.grants[i].org.ID}, now.Truncate(time.Hour))
		}
	}
}
