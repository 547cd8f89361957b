package access

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"foyer/internal/db"
	"foyer/internal/fault"
	"foyer/internal/flight"
	"foyer/internal/lastuse"
)

const (
	// recheckAfter is how old what is in memory may be before one request asks the
	// database whether it still holds.
	recheckAfter = time.Second
	// MaxAge is how old it may be for the other requests meanwhile, and so how long a
	// key that was revoked on another server may still be admitted.
	MaxAge = 2 * time.Second
	// maxAsk is how long the question may take, since all may have to wait for it: a
	// dead connection must not hold them up when others would do.
	maxAsk = 5 * time.Second
	// maxCached bounds the memory that keys take, at about 500 bytes each.
	maxCached = 50_000
)

// Keys knows whom API keys belong to. It keeps what it has looked up in memory for
// as long as access_version does not change.
type Keys struct {
	DB *db.DB

	cache cache
}

// Now is the time that keys are checked by.
func (k *Keys) Now() time.Time { return k.DB.Now() }

// Identity is whom a key belongs to, and the organizations it opens.
type Identity struct {
	KeyID     int64
	UserID    int64
	Scope     Scope
	boundTo   string // the one organization it opens; "": all of the user's
	expiresAt time.Time
	grants    []grant // in the order of joining
	hash      hash
	usedHour  atomic.Int64 // hours since 1970 of the last use noted
}

// Identify returns whose key it is; whatever is wrong with it, the answer is the same.
func (k *Keys) Identify(ctx context.Context, key string) (*Identity, error) {
	if !WellFormed(key) {
		return nil, errBadKey
	}
	h, now := hashOf(key), k.DB.Now()
	if err := k.verify(ctx, now); err != nil {
		return nil, err
	}
	id := k.cache.get(h)
	if id == nil {
		var err error
		if id, err = k.load(ctx, h); err != nil {
			return nil, err
		}
	}
	if !id.expiresAt.IsZero() && !now.Before(id.expiresAt) {
		return nil, errBadKey
	}
	k.cache.noteUse(id, now)
	return id, nil
}

var errBadKey = fault.New(fault.AuthenticationFailed, "The API key is not valid: it may be mistyped, expired or revoked.")

// Current is given in place of an organization's id: it stands for the key's, or
// the one its user joined first.
const Current = "@current"

// Enter returns the caller that the identity is inside an organization.
func (k *Keys) Enter(ctx context.Context, id *Identity, organizationID string) (Caller, error) {
	if c, ok := id.enter(organizationID); ok {
		return c, nil
	}
	id, err := k.load(ctx, id.hash) // its user may have joined a moment ago
	if err != nil {
		return Caller{}, err
	}
	if c, ok := id.enter(organizationID); ok {
		return c, nil
	}
	return Caller{}, ErrNotFound
}

// ErrNotFound is the one answer for all that does not exist or is not the caller's.
var ErrNotFound = fault.New(fault.NotFound, "Not found.")

// OrNotFound is an error of the database, ErrNotFound if there was no row.
func OrNotFound(err error) error {
	if errors.Is(err, db.ErrNoRow) {
		return ErrNotFound
	}
	return err
}

func (id *Identity) enter(organizationID string) (Caller, bool) {
	for i := range id.grants {
		g := &id.grants[i]
		if strings.EqualFold(g.org.ID, organizationID) || organizationID == Current {
			c := id.Caller()
			c.Level, c.Organization = g.level, g.org
			return c, true
		}
	}
	return Caller{}, false
}

// Caller returns the caller that the identity is outside of organizations.
func (id *Identity) Caller() Caller {
	return Caller{UserID: id.UserID, KeyID: id.KeyID, Scope: id.Scope, BoundTo: id.boundTo, KeyExpires: id.expiresAt}
}

// load looks a key up in the database.
func (k *Keys) load(ctx context.Context, h hash) (*Identity, error) {
	generation := k.cache.generation.Load()
	found, err := grants(ctx, k.DB, h)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errBadKey
	}
	key := found[0].key
	id := &Identity{KeyID: key.ID, UserID: key.UserID, Scope: key.Scope, boundTo: key.OrganizationID, expiresAt: key.ExpiresAt, hash: h}
	if found[0].org.ID != "" {
		id.grants = found
	}
	k.cache.put(id, generation)
	return id, nil
}

// Change runs fn in a transaction that changes who may do what: keys,
// memberships or organizations. This server heeds it at once, others as soon as
// they see that access_version has changed. Only one such transaction is under way
// at a time, so fn can rely on what it reads.
func (k *Keys) Change(ctx context.Context, fn func(*db.Tx) error) error {
	err := k.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := countChange(ctx, tx); err != nil {
			return err
		}
		return fn(tx)
	})
	if err == nil || fault.Is(err, fault.Internal) { // an error of our own: the change may have been committed
		k.cache.drop()
	}
	return err
}

// Version changes with each change to keys, memberships, organizations or users that
// this server has heard of. What is read after asking for it holds until it changes.
func (k *Keys) Version() int64 { return k.cache.generation.Load() }

// verify makes sure that what is in memory is at most MaxAge behind the database.
func (k *Keys) verify(ctx context.Context, now time.Time) error {
	c := &k.cache
	for {
		age := now.Sub(time.UnixMicro(c.checkedAt.Load()))
		if age > -MaxAge && (age < recheckAfter || age < MaxAge && c.asking.Load()) {
			return nil
		}
		recheck := func(ctx context.Context) (struct{}, error) { return struct{}{}, k.recheck(ctx, now) }
		if _, err := c.flight.Do(ctx, "", recheck); err != nil {
			return err
		}
		// Another request may have begun this question long ago.
	}
}

// recheck asks the database whether what is in memory still holds.
func (k *Keys) recheck(ctx context.Context, now time.Time) error {
	c := &k.cache
	c.asking.Store(true)
	defer c.asking.Store(false)
	ctx, cancel := context.WithTimeout(ctx, maxAsk)
	defer cancel()
	v, err := version(ctx, k.DB)
	if err != nil {
		return err
	}
	if c.version != v {
		c.version = v
		c.drop()
	}
	c.checkedAt.Store(now.UnixMicro())
	return nil
}

type cache struct {
	flight    flight.Group[struct{}] // of recheck, shared by all who must wait for it
	asking    atomic.Bool            // a recheck is under way
	checkedAt atomic.Int64
	version   int64 // guarded by flight

	mu         sync.RWMutex
	generation atomic.Int64 // counts drops, so that nothing read before one is kept after it
	byHash     map[hash]*Identity

	uses lastuse.Notes // of keys
}

func (c *cache) get(h hash) *Identity {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.byHash[h]
}

func (c *cache) put(id *Identity, generation int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation.Load() != generation {
		return
	}
	if c.byHash == nil || len(c.byHash) >= maxCached {
		c.byHash = map[hash]*Identity{}
	}
	c.byHash[id.hash] = id
}

func (c *cache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generation.Add(1)
	c.byHash = nil
}

// noteUse remembers the use of a key, to the hour.
func (c *cache) noteUse(id *Identity, now time.Time) {
	hour := now.Unix() / 3600
	if id.usedHour.Swap(hour) == hour {
		return
	}
	c.uses.Note(id.KeyID, now.Truncate(time.Hour))
}
