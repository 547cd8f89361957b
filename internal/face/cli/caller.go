package cli

import (
	"context"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/server"
)

// where is the organization that a command works on.
type where struct {
	Organization string `placeholder:"ID" help:"Its organization. Can be left out if there is only one."`
}

func (w where) find(ctx context.Context, d *server.Domain) (org.Organization, error) {
	if w.Organization != "" {
		return d.Organizations.Get(ctx, w.Organization)
	}
	all, err := d.Organizations.List(ctx)
	switch {
	case err != nil:
		return org.Organization{}, err
	case len(all) == 0:
		return org.Organization{}, fault.New(fault.NotFound, "There is no organization yet: make one with `foyer organization create`.")
	case len(all) > 1:
		return org.Organization{}, fault.Field(fault.Required, "organization", "There are %d organizations: choose one with --organization=ID.", len(all))
	}
	return all[0], nil
}

// actor is the member that a command acts as, in an organization.
type actor struct {
	where
	As string `placeholder:"EMAIL" help:"Act as this member. Without it, as the owner who joined first."`
}

func (a actor) caller(ctx context.Context, d *server.Domain) (access.Caller, error) {
	o, err := a.find(ctx, d)
	if err != nil {
		return access.Caller{}, err
	}
	member, err := a.member(ctx, d, o.ID)
	if err != nil {
		return access.Caller{}, err
	}
	return access.Caller{UserID: member.User.ID, Scope: access.All, Level: member.Level, Organization: o.Organization}, nil
}

func (a actor) member(ctx context.Context, d *server.Domain, organizationID string) (org.Membership, error) {
	members, err := d.Organizations.Members(ctx, organizationID)
	if err != nil {
		return org.Membership{}, err
	}
	if a.As == "" {
		for _, m := range members {
			if m.Level == access.Owner {
				return m, nil
			}
		}
		return org.Membership{}, fault.New(fault.NotFound, "The organization has no owner yet: make one with `foyer member add --level=owner`.")
	}
	return memberByEmail(members, "as", a.As)
}

// memberByEmail finds a member; field is what is blamed if there is none.
func memberByEmail(members []org.Membership, field, email string) (org.Membership, error) {
	email, err := org.ParseEmail(field, email)
	if err != nil {
		return org.Membership{}, err
	}
	for _, m := range members {
		if m.User.Email == email {
			return m, nil
		}
	}
	return org.Membership{}, fault.Field(fault.NotFound, field, "%s is not a member of the organization.", email)
}

// named says what is not there, where the API has one answer for everything: whoever
// works on the database may know.
func named(err error, kind string, id any) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "There is no %s %v in this organization.", kind, id)
	}
	return err
}
