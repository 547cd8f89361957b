package org

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"foyer/internal/base/fault"
	"foyer/internal/base/precondition"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
)

// Service manages organizations, users and members.
type Service struct {
	DB           *db.DB
	Keys         *access.Keys
	MaxInviteTTL time.Duration // the server's; the maximum of Organization.InviteTTL

	// Follow is called in each transaction that changes what an organization may do with apps,
	// after the change; nil: no sites follow it.
	Follow func(ctx context.Context, tx *db.Tx, organizationID string) error
	// Withdraw deletes the invite to an address that a member is about to get; nil: there are no invites.
	Withdraw func(ctx context.Context, tx *db.Tx, by access.Caller, organizationID, email string) error
	// Shown appends a member as the API shows one, for events; nil: there are no events.
	Shown func([]byte, Membership) []byte

	// UserErasers remove, in this order, what other domains keep of a person's names and addresses, and
	// OrganizationErasers what they keep for an organization.
	UserErasers         []func(ctx context.Context, tx *db.Tx, p activity.Person) error
	OrganizationErasers []func(ctx context.Context, tx *db.Tx, organizationID string) error
	// Tidy removes, in short transactions, what nothing uses once an organization is erased; nil: nothing is left.
	Tidy func(ctx context.Context) error
}

// Create makes an organization. The first one may share apps with all others.
func (s Service) Create(ctx context.Context, name string) (Organization, error) {
	var o Organization
	err := s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		o, err = s.Insert(ctx, tx, "", name)
		return err
	})
	return o, err
}

// Insert is Create inside Keys.Change; with an empty id it chooses one.
func (s Service) Insert(ctx context.Context, tx *db.Tx, id, name string) (Organization, error) {
	if id == "" {
		id = newUUID()
	}
	if parsed, err := uuid.Parse(id); err != nil || parsed.String() != id {
		return Organization{}, fault.Field(fault.Invalid, "id", "Must be a UUID in lower case.")
	}
	name, err := CheckName(name)
	if err != nil {
		return Organization{}, err
	}
	others, err := Any(ctx, tx)
	if err != nil {
		return Organization{}, err
	}
	o := Organization{CreatedAt: s.DB.Now()}
	o.ID, o.Name, o.MembersCanInvite, o.AppAccess = id, name, true, access.InstallApps
	if !others {
		o.AppAccess = access.RootApps
	}
	if o, err = insertOrganization(ctx, tx, o); err != nil {
		return Organization{}, err
	}
	return o, s.record(ctx, tx, access.Caller{}, o, activity.Created, nil)
}

// List returns all organizations, the oldest first.
func (s Service) List(ctx context.Context) ([]Organization, error) {
	return listOrganizations(ctx, s.DB)
}

// Get returns one organization.
func (s Service) Get(ctx context.Context, id string) (Organization, error) {
	o, err := Find(ctx, s.DB, id)
	return o, notFound(err, "There is no organization %s.", id)
}

// Set changes settings of an organization.
func (s Service) Set(ctx context.Context, by access.Caller, id string, set Settings) (Organization, error) {
	var o Organization
	err := s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		by := by
		if by, err = access.Confirm(ctx, tx, by, s.DB.Now(), MayChangeSettings); err != nil {
			return err
		}
		o, err = s.set(ctx, tx, by, id, set)
		return err
	})
	return o, err
}

// set is Set inside Keys.Change. It records nothing if no setting changes.
func (s Service) set(ctx context.Context, tx *db.Tx, by access.Caller, id string, set Settings) (Organization, error) {
	before, err := Find(ctx, tx, id)
	if err != nil {
		return Organization{}, notFound(err, "There is no organization %s.", id)
	}
	if err := precondition.Check(ctx, before); err != nil {
		return Organization{}, err
	}
	after := before
	if err := set.apply(&after, s.MaxInviteTTL); err != nil {
		return Organization{}, err
	}
	why, err := set.why(before.AppAccess)
	if err != nil {
		return Organization{}, err
	}
	changes := differences(before, after)
	if len(changes) == 0 {
		return before, nil
	}
	changes = append(changes, why...)
	if after, err = updateOrganization(ctx, tx, after); err != nil {
		return Organization{}, err
	}
	if s.Follow != nil && after.AppAccess != before.AppAccess {
		if err := s.Follow(ctx, tx, after.ID); err != nil {
			return Organization{}, err
		}
	}
	if err := access.KeepAnswer(ctx, tx, after); err != nil {
		return Organization{}, err
	}
	return after, s.record(ctx, tx, by, after, activity.Updated, changes)
}

// differences lists the settings that differ, as the API names them.
func differences(before, after Organization) []activity.Change {
	var changes []activity.Change
	add := func(same bool, field string, before, after any) {
		if !same {
			changes = append(changes, activity.Changed(field, before, after))
		}
	}
	add(before.Name == after.Name, "name", before.Name, after.Name)
	add(before.AppAccess == after.AppAccess, "access_level", before.AppAccess, after.AppAccess)
	add(before.MembersCanInvite == after.MembersCanInvite, "members_can_invite", before.MembersCanInvite, after.MembersCanInvite)
	add(before.MembersCanManageApps == after.MembersCanManageApps, "members_can_manage_apps", before.MembersCanManageApps, after.MembersCanManageApps)
	add(slices.Equal(before.AllowedDomains, after.AllowedDomains), "allowed_domains", listed(before.AllowedDomains), listed(after.AllowedDomains))
	add(before.InviteTTL == after.InviteTTL, "invite_ttl", activity.Number(before.InviteTTL), activity.Number(after.InviteTTL))
	return changes
}

// listed returns a list that is empty in JSON, not null, if it has no items.
func listed(all []string) []string { return append([]string{}, all...) }

func (s Service) record(ctx context.Context, tx *db.Tx, by access.Caller, o Organization, verb activity.Verb, changes []activity.Change) error {
	return activity.Record(ctx, tx, by.Did(activity.Entry{
		OrganizationID: o.ID, Scope: activity.Organization, ItemID: o.ID, Verb: verb, Name: o.Name, Changes: changes,
	}), s.DB.Now())
}

// CheckSettings returns what is wrong with settings for an organization.
func (s Service) CheckSettings(o Organization, set Settings) error {
	return set.apply(&o, s.MaxInviteTTL)
}

func (set Settings) apply(o *Organization, maxTTL time.Duration) error {
	var faults fault.List
	var err error
	if set.Name != nil {
		o.Name, err = CheckName(*set.Name)
		faults.Add(err)
	}
	if set.MembersCanInvite != nil {
		o.MembersCanInvite = *set.MembersCanInvite
	}
	if set.MembersCanManageApps != nil {
		o.MembersCanManageApps = *set.MembersCanManageApps
	}
	if set.AppAccess != nil {
		o.AppAccess = *set.AppAccess
	}
	if set.InviteTTL != nil && *set.InviteTTL != o.InviteTTL { // the stored one may be over a limit that was lowered since
		o.InviteTTL, err = checkInviteTTL(*set.InviteTTL, maxTTL)
		faults.Add(err)
	}
	if set.AllowedDomains != nil {
		o.AllowedDomains, err = parseDomains(*set.AllowedDomains)
		faults.Add(err)
	}
	return faults.Err()
}

// Users returns all users, in the order they were made.
func (s Service) Users(ctx context.Context) ([]User, error) { return listUsers(ctx, s.DB) }

// UserByEmail returns the user who has an address.
func (s Service) UserByEmail(ctx context.Context, email string) (User, error) {
	email, err := ParseEmail("email", email)
	if err != nil {
		return User{}, err
	}
	return s.FindUser(ctx, s.DB, email)
}

// FindUser is UserByEmail with an address as it is stored, read with q.
func (s Service) FindUser(ctx context.Context, q db.Querier, email string) (User, error) {
	u, err := findUser(ctx, q, email)
	return u, notFound(err, "There is no user %s.", email)
}

// Members returns everybody in an organization, in the order of joining.
func (s Service) Members(ctx context.Context, organizationID string) ([]Membership, error) {
	o, err := s.Get(ctx, organizationID)
	if err != nil {
		return nil, err
	}
	return listMembers(ctx, s.DB, o.ID)
}

// InsertMember makes a user a member inside Keys.Change, and the user too if the
// address is new: the draft's names are those of a new user.
func (s Service) InsertMember(ctx context.Context, tx *db.Tx, by access.Caller, j Joining) (m Membership, err error) {
	if j.User, err = s.ensureUser(ctx, tx, j.User); err != nil {
		return Membership{}, err
	}
	return s.join(ctx, tx, by, j)
}

// Join is InsertMember for somebody who joins by themselves; by need not name them. If the draft's address is verified,
// the address of an existing user becomes so, too.
func (s Service) Join(ctx context.Context, tx *db.Tx, by access.Caller, j Joining) (Membership, error) {
	user, err := s.ensureUser(ctx, tx, j.User)
	if err != nil {
		return Membership{}, err
	}
	by.UserID = user.ID
	if j.User.IsEmailVerified {
		err = s.VerifyEmail(ctx, tx, by, user.ID)
	} else { // they were made by a link that was passed on by hand
		err = markByHandedLink(ctx, tx, user)
	}
	if err != nil {
		return Membership{}, err
	}
	j.User = user
	return s.join(ctx, tx, by, j)
}

// ensureUser returns the user who has the draft's address; if there is none, it makes
// one of the draft.
func (s Service) ensureUser(ctx context.Context, tx *db.Tx, draft User) (User, error) {
	email, err := ParseEmail("email", draft.Email)
	if err != nil {
		return User{}, err
	}
	draft.Email, draft.UUID, draft.DistinctID, draft.CreatedAt = email, newUUID(), newUUID(), s.DB.Now()
	u, err := ensureUser(ctx, tx, draft)
	if errors.Is(err, db.ErrNoRow) {
		return User{}, fault.Field(fault.NotUnique, "email", "This address is not available now: another user had it until a few days ago and may take it back within a week, or it stands for an erased user.")
	}
	return u, err
}

func (s Service) join(ctx context.Context, tx *db.Tx, by access.Caller, j Joining) (Membership, error) {
	now := s.DB.Now()
	if err := insertMember(ctx, tx, j, now); err != nil {
		if errors.Is(err, db.ErrUnique) {
			return Membership{}, fault.Field(fault.AlreadyMember, "email", "%s is a member already.", j.User.Email)
		}
		return Membership{}, err
	}
	m, err := findMemberByID(ctx, tx, j.OrganizationID, j.User.ID)
	if err != nil {
		return Membership{}, err
	}
	return m, activity.Record(ctx, tx, s.entry(m, by, activity.Added, nil), now)
}

// SetLevel changes what a member may do, for an operator. The last owner stays owner.
func (s Service) SetLevel(ctx context.Context, organizationID, email string, level access.Level) (Membership, error) {
	var m Membership
	err := s.change(ctx, organizationID, email, func(ctx context.Context, tx *db.Tx, found Membership) (err error) {
		m, err = s.setLevel(ctx, tx, access.Caller{}, found, level)
		return err
	})
	return m, err
}

func (s Service) setLevel(ctx context.Context, tx *db.Tx, by access.Caller, m Membership, level access.Level) (Membership, error) {
	if m.Level == level {
		return m, nil
	}
	if err := keepOwner(ctx, tx, m); err != nil {
		return m, err
	}
	changes := []activity.Change{activity.Changed("level", m.Level, level)}
	m.Level, m.UpdatedAt = level, s.DB.Now()
	if err := updateMember(ctx, tx, m); err != nil {
		return m, err
	}
	return m, activity.Record(ctx, tx, s.entry(m, by, activity.Updated, changes), m.UpdatedAt)
}

// RemoveMember ends a membership, for an operator. Keys of the user lose the organization at once, and those bound to it
// are revoked.
func (s Service) RemoveMember(ctx context.Context, organizationID, email string) (Membership, error) {
	var m Membership
	err := s.change(ctx, organizationID, email, func(ctx context.Context, tx *db.Tx, found Membership) error {
		m = found
		return s.remove(ctx, tx, access.Caller{}, m)
	})
	return m, err
}

func (s Service) remove(ctx context.Context, tx *db.Tx, by access.Caller, m Membership) error {
	if err := keepOwner(ctx, tx, m); err != nil {
		return err
	}
	if err := s.Keys.RevokeBound(ctx, tx, by, m.OrganizationID, m.User.ID); err != nil {
		return err
	}
	if err := deleteMember(ctx, tx, m); err != nil {
		return err
	}
	return activity.Record(ctx, tx, s.entry(m, by, activity.Removed, nil), s.DB.Now())
}

// change finds a member and runs fn on them.
func (s Service) change(ctx context.Context, organizationID, email string, fn func(ctx context.Context, tx *db.Tx, m Membership) error) error {
	email, err := ParseEmail("email", email)
	if err != nil {
		return err
	}
	return s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		o, err := Find(ctx, tx, organizationID)
		if err != nil {
			return notFound(err, "There is no organization %s.", organizationID)
		}
		m, err := findMember(ctx, tx, o.ID, email)
		if err != nil {
			return notFound(err, "%s is not a member.", email)
		}
		return fn(ctx, tx, m)
	})
}

// keepOwner refuses to take the level from a member who is the only owner.
func keepOwner(ctx context.Context, tx *db.Tx, m Membership) error {
	if m.Level < access.Owner {
		return nil
	}
	owners, err := countOwners(ctx, tx, m.OrganizationID)
	if err == nil && owners == 1 {
		return fault.New(fault.Denied, "The last owner must stay: make another member owner first.")
	}
	return err
}

func (s Service) entry(m Membership, by access.Caller, verb activity.Verb, changes []activity.Change) activity.Entry {
	e := activity.Entry{
		OrganizationID: m.OrganizationID, Scope: activity.Membership, ItemID: m.User.UUID, Verb: verb,
		Name: m.User.Email, Changes: changes,
	}
	if s.Shown != nil {
		e.Data = string(s.Shown(nil, m))
	}
	return by.Did(e)
}

func notFound(err error, format string, args ...any) error {
	if errors.Is(err, db.ErrNoRow) {
		return fault.New(fault.NotFound, format, args...)
	}
	return err
}

func newUUID() string { return uuid.Must(uuid.NewV7()).String() }
