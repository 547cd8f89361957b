package org

import (
	"context"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/base/precondition"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Mine returns a page of the organizations that a caller's key opens, in the
// order of joining.
func (s Service) Mine(ctx context.Context, c access.Caller, p page.Page) (page.Found[Mine], error) {
	return queries.Page(ctx, s.DB, p,
		func(ctx context.Context, q db.Querier) (int, error) { return countMine(ctx, q, c) },
		func(ctx context.Context, q db.Querier) ([]Mine, error) { return listMine(ctx, q, c, p) })
}

// Here returns the organization that a caller is in.
func (s Service) Here(ctx context.Context, c access.Caller) (Mine, error) {
	o, err := s.Get(ctx, c.Organization.ID)
	return Mine{Organization: o, Level: c.Level}, err
}

// Self returns the caller's user.
func (s Service) Self(ctx context.Context, c access.Caller) (User, error) {
	return UserByID(ctx, s.DB, c.UserID)
}

// Inviters are a user and an organization that invite together.
type Inviters struct {
	User         User
	Organization Organization
}

// Inviters returns the user and the organization of a caller.
func (s Service) Inviters(ctx context.Context, c access.Caller) (Inviters, error) {
	return findInviters(ctx, s.DB, c.UserID, c.Organization.ID)
}

// MemberFilter selects members for a list. A zero field selects all.
type MemberFilter struct {
	Search string // part of the address or the names
	Level  access.Level
}

// FindMembers returns a page of the members that a filter selects, in the order of joining.
func (s Service) FindMembers(ctx context.Context, c access.Caller, f MemberFilter, p page.Page) (page.Found[Membership], error) {
	return queries.Page(ctx, s.DB, p,
		func(ctx context.Context, q db.Querier) (int, error) {
			return countMembers(ctx, q, c.Organization.ID, f)
		},
		func(ctx context.Context, q db.Querier) ([]Membership, error) {
			return pageOfMembers(ctx, q, c.Organization.ID, f, p)
		})
}

// FindMember returns one member of the caller's organization.
func (s Service) FindMember(ctx context.Context, c access.Caller, userUUID string) (Membership, error) {
	m, err := findMemberByUUID(ctx, s.DB, c.Organization.ID, userUUID)
	return m, access.OrNotFound(err)
}

// MayManageMembers reports whether a caller may change members at all.
func MayManageMembers(c access.Caller) error {
	if c.Level < access.Admin {
		return fault.New(fault.Denied, "Only admins and owners may change members.")
	}
	return nil
}

// ChangeLevel is SetLevel for a caller, who may neither give a level above their
// own nor change members above it. An absent level changes nothing.
func (s Service) ChangeLevel(ctx context.Context, c access.Caller, userUUID string, level patch.Field[string]) (Membership, error) {
	if err := level.Check("level"); err != nil {
		return Membership{}, err
	}
	var wanted access.Level
	if level.Set {
		var err error
		if wanted, err = access.ParseLevel("level", level.Value); err != nil {
			return Membership{}, err
		}
	}
	var m Membership
	err := s.onMember(ctx, c, userUUID, func(ctx context.Context, tx *db.Tx, self, member Membership) (err error) {
		m = member
		if err := mayChange(ctx, self, member); err != nil || !level.Set {
			return err
		}
		if err := MayGive(c, self.Level, member.Level, wanted); err != nil {
			return err
		}
		if m, err = s.setLevel(ctx, tx, c, member, wanted); err != nil {
			return err
		}
		return access.KeepAnswer(ctx, tx, m)
	})
	return m, err
}

// MayGive reports whether a caller may give a member another level than the present one.
func MayGive(c access.Caller, own, present, wanted access.Level) error {
	switch {
	case wanted > own:
		return fault.New(fault.Denied, "You may give levels up to your own, %d (%s).", own, own)
	case wanted > present: // otherwise a key for members alone would lead to one that can do all
		return c.Scope.Require(access.All)
	}
	return nil
}

// Expel is RemoveMember for a caller, who may always leave.
func (s Service) Expel(ctx context.Context, c access.Caller, userUUID string) error {
	return s.onMember(ctx, c, userUUID, func(ctx context.Context, tx *db.Tx, self, member Membership) error {
		if err := mayExpel(ctx, self, member); err != nil {
			return err
		}
		return s.remove(ctx, tx, c, member)
	})
}

// Member returns a member of the caller's organization whom the caller may change or, with leave, remove.
func (s Service) Member(ctx context.Context, c access.Caller, userUUID string, leave bool) (Membership, error) {
	m, err := findMemberByUUID(ctx, s.DB, c.Organization.ID, userUUID)
	if err != nil {
		return Membership{}, access.OrNotFound(err)
	}
	self := Membership{Level: c.Level, User: User{ID: c.UserID}}
	if leave {
		return m, mayExpel(ctx, self, m)
	}
	return m, mayChange(ctx, self, m)
}

func mayChange(ctx context.Context, self, member Membership) error {
	if err := MayChange(self.Level, member.Level); err != nil {
		return err
	}
	return precondition.Check(ctx, member)
}

// mayExpel is mayChange, but anyone may leave.
func mayExpel(ctx context.Context, self, member Membership) error {
	if member.User.ID == self.User.ID {
		return precondition.Check(ctx, member)
	}
	return mayChange(ctx, self, member)
}

// MayChange reports whether a member of level own may change one of another level.
func MayChange(own, other access.Level) error {
	if err := MayManageMembers(access.Caller{Level: own}); err != nil {
		return err
	}
	if other > own {
		return fault.New(fault.Denied, "You may change members up to your own level, %d (%s).", own, own)
	}
	return nil
}

// onMember runs fn with the caller's own membership, as it is now, and that of
// the given user.
func (s Service) onMember(ctx context.Context, c access.Caller, userUUID string, fn func(ctx context.Context, tx *db.Tx, self, member Membership) error) error {
	return s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		self, err := findMemberByID(ctx, tx, c.Organization.ID, c.UserID)
		if err != nil {
			return access.OrNotFound(err)
		}
		if err := access.ConfirmSelf(ctx, tx, c, s.DB.Now()); err != nil {
			return err
		}
		member, err := findMemberByUUID(ctx, tx, c.Organization.ID, userUUID)
		if err != nil {
			return access.OrNotFound(err)
		}
		return fn(ctx, tx, self, member)
	})
}
