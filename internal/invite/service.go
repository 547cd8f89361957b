package invite

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/google/uuid"

	"foyer/internal/access"
	"foyer/internal/activity"
	"foyer/internal/cache"
	"foyer/internal/db"
	"foyer/internal/fault"
	"foyer/internal/org"
	"foyer/internal/page"
)

// Service is everything that can be done to invites.
type Service struct {
	DB     *db.DB
	TTL    time.Duration // how long an invite lives
	Memory *Memory
}

// Memory keeps pages that were read. The database is asked each time whether they
// still hold, which takes a fraction of reading them.
type Memory = cache.Cache[pageOf, []Invite]

type pageOf struct {
	organizationID string
	page           page.Page
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	const (
		maxBytes = 8 << 20
		fixed    = 600 // bytes an invite takes beside its texts
	)
	return &Memory{MaxBytes: maxBytes, Size: func(invites []Invite) int {
		total := 0
		for _, i := range invites {
			total += fixed + len(i.TargetEmail) + len(i.FirstName) + len(i.Message)
		}
		return total
	}}
}

// List returns a page of an organization's invites, the newest first, and how
// many there are.
func (s Service) List(ctx context.Context, c access.Caller, p page.Page) ([]Invite, int, error) {
	now, err := countPending(ctx, s.DB, c.Organization.ID)
	if err != nil || now.count <= p.Offset {
		return nil, now.count, err
	}
	key := pageOf{c.Organization.ID, p}
	if invites, ok := s.Memory.Get(key, now.version); ok {
		return invites, now.count, nil
	}
	invites, err := list(ctx, s.DB, c.Organization.ID, p)
	if err != nil {
		return nil, 0, err
	}
	s.Memory.Put(key, now.version, invites)
	return invites, now.count, nil
}

// Create makes one invite. It replaces a pending one for the same address.
func (s Service) Create(ctx context.Context, c access.Caller, d Draft) (Invite, error) {
	o, faults := d.check()
	if err := faults.Err(); err != nil {
		return Invite{}, err
	}
	invites, err := s.create(ctx, c, []order{o}, func(_ int, err error) error { return err })
	if err != nil {
		return Invite{}, err
	}
	return invites[0], nil
}

// CreateBulk makes all of the invites or none. Faults name the item they are in.
func (s Service) CreateBulk(ctx context.Context, c access.Caller, drafts []Draft) ([]Invite, error) {
	orders := make([]order, len(drafts))
	seen := map[string]bool{}
	var faults fault.List
	for i, d := range drafts {
		o, wrong := d.check()
		if o.email != "" && seen[o.email] {
			faults.Add(atItem(i, fault.Field(fault.NotUnique, "target_email", "Is there twice in this request.")))
		}
		seen[o.email] = true
		faults.Add(atItem(i, wrong.Err()))
		orders[i] = o
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if len(orders) == 0 {
		return nil, MayInvite(c)
	}
	return s.create(ctx, c, orders, atItem)
}

// atItem says of faults that they are in an item of a list.
func atItem(i int, err error) error {
	if err == nil || fault.Is(err, fault.Internal) {
		return err
	}
	var faults fault.List
	for _, f := range fault.Of(err) {
		at := *f
		if at.Field != "" {
			at.Field = strconv.Itoa(i) + "." + at.Field
		}
		faults = append(faults, &at)
	}
	return faults
}

// create carries out all orders or none; blame says of a fault whose it is.
func (s Service) create(ctx context.Context, c access.Caller, orders []order, blame func(int, error) error) ([]Invite, error) {
	if err := MayInvite(c); err != nil {
		return nil, err
	}
	for i, o := range orders {
		if o.level > c.Level {
			return nil, blame(i, fault.New(fault.Denied, "You may invite people up to your own level, %d (%s).", c.Level, c.Level))
		}
	}
	invites := make([]Invite, len(orders))
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := addCount(ctx, tx, c.Organization.ID, len(orders)); err != nil {
			return err
		}
		by, err := user(ctx, tx, c.UserID)
		if err != nil {
			return err
		}
		for i, o := range orders {
			if invites[i], err = s.place(ctx, tx, c, by, o); err != nil {
				return blame(i, err)
			}
		}
		return nil
	})
	return invites, err
}

// place makes one invite, in place of a pending one for the same address.
func (s Service) place(ctx context.Context, tx *db.Tx, c access.Caller, by org.User, o order) (Invite, error) {
	switch member, err := isMember(ctx, tx, c.Organization.ID, o.email); {
	case err != nil:
		return Invite{}, err
	case member:
		return Invite{}, fault.Field(fault.Invalid, "target_email", "%s is a member of this organization already.", o.email)
	}
	switch old, err := findByEmail(ctx, tx, c.Organization.ID, o.email); {
	case err == nil:
		if err := s.replace(ctx, tx, c, old); err != nil {
			return Invite{}, err
		}
	case !errors.Is(err, db.ErrNoRow):
		return Invite{}, err
	}
	now := s.DB.Now()
	i := Invite{
		ID: uuid.Must(uuid.NewV7()).String(), OrganizationID: c.Organization.ID, TargetEmail: o.email, FirstName: o.firstName,
		Level: o.level, Message: o.message, CreatedBy: by, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(s.TTL),
	}
	if err := insert(ctx, tx, i); err != nil {
		return Invite{}, err
	}
	return i, record(ctx, tx, c, i, activity.Created, now)
}

func (s Service) replace(ctx context.Context, tx *db.Tx, c access.Caller, old Invite) error {
	if mayDelete(c, old) != nil {
		return fault.New(fault.Denied, "%s has been invited by somebody else: ask them or an admin.", old.TargetEmail)
	}
	return s.remove(ctx, tx, c, old)
}

// Delete takes an invite back.
func (s Service) Delete(ctx context.Context, c access.Caller, id string) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		i, err := find(ctx, tx, c.Organization.ID, id)
		if errors.Is(err, db.ErrNoRow) {
			return access.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := mayDelete(c, i); err != nil {
			return err
		}
		return s.remove(ctx, tx, c, i)
	})
}

func (s Service) remove(ctx context.Context, tx *db.Tx, c access.Caller, i Invite) error {
	if err := addCount(ctx, tx, i.OrganizationID, -1); err != nil {
		return err
	}
	n, err := remove(ctx, tx, i.OrganizationID, i.ID)
	if err != nil {
		return err
	}
	if n == 0 {
		return access.ErrNotFound // another request was quicker
	}
	return record(ctx, tx, c, i, activity.Deleted, s.DB.Now())
}

func record(ctx context.Context, tx *db.Tx, c access.Caller, i Invite, verb activity.Verb, at time.Time) error {
	return activity.Record(ctx, tx, activity.Entry{
		OrganizationID: i.OrganizationID, Scope: activity.Invite, ItemID: i.ID, Verb: verb,
		User: activity.User{ID: c.UserID}, Name: i.TargetEmail, RequestID: c.RequestID,
	}, at)
}
