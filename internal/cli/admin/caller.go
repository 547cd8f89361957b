package admin

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/face/wire"
	"foyer/internal/server"
)

// where is the organization that a command works on.
type where struct {
	Organization string `placeholder:"ID" help:"Its organization. Can be left out if there is only one."`
}

func (w where) find(ctx context.Context, d *server.Domain) (org.Organization, error) {
	if w.Organization != "" {
		return named(ctx, d, w.Organization)
	}
	all, err := d.Organizations.List(ctx)
	switch {
	case err != nil:
		return org.Organization{}, err
	case len(all) == 0:
		return org.Organization{}, fault.New(fault.NotFound, "There is no organization yet: make one with `foyer admin organization create`.")
	case len(all) > 1:
		return org.Organization{}, fault.Field(fault.Required, "organization", "There are %d organizations: choose one with --organization=ID.", len(all))
	}
	return all[0], nil
}

// named finds an organization by its id, or by its name if that is unique.
func named(ctx context.Context, d *server.Domain, name string) (org.Organization, error) {
	all, err := d.Organizations.List(ctx)
	if err != nil {
		return org.Organization{}, err
	}
	var found []org.Organization
	for _, o := range all {
		if strings.EqualFold(o.ID, name) {
			return o, nil
		}
		if o.Name == name {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 0:
		return org.Organization{}, fault.New(fault.NotFound, "There is no organization %s.", name)
	case 1:
		return found[0], nil
	}
	return org.Organization{}, fault.Field(fault.Invalid, "organization", "There are %d organizations named %s: give the id of one.", len(found), name)
}

// Target is the organization on the database that a command works on, and the member that it acts as.
type Target struct {
	where
	As string `placeholder:"EMAIL" help:"Act as this member. Without it, as the owner who joined first."`
}

// NewTarget returns the target that flags name.
func NewTarget(organization, as string) Target { return Target{where{organization}, as} }

// Client returns a client of the API on the database, which acts as the member, and the
// organization.
func (t Target) Client(ctx context.Context, d *server.Domain, baseURL string, log *slog.Logger) (*client.Client, *client.Organization, error) {
	by, err := t.Caller(ctx, d)
	if err != nil {
		return nil, nil, err
	}
	operator := access.Operator(by)
	c, err := client.New("http://foyer.invalid", "", client.WithHTTPClient(&http.Client{Transport: wire.Inside{
		Handler: d.API(baseURL, log).Handler(func(*wire.Mux) {}),
		Context: func(ctx context.Context) context.Context { return access.WithOperator(ctx, operator) },
	}}))
	if err != nil {
		return nil, nil, err
	}
	return c, c.Organization(by.Organization.ID), nil
}

// Caller returns the member that a command acts as.
func (t Target) Caller(ctx context.Context, d *server.Domain) (access.Caller, error) {
	o, err := t.find(ctx, d)
	if err != nil {
		return access.Caller{}, err
	}
	member, err := t.member(ctx, d, o.ID)
	if err != nil {
		return access.Caller{}, err
	}
	return access.Caller{UserID: member.User.ID, Scope: access.All, Level: member.Level, Organization: o.Organization}, nil
}

func (t Target) member(ctx context.Context, d *server.Domain, organizationID string) (org.Membership, error) {
	members, err := d.Organizations.Members(ctx, organizationID)
	if err != nil {
		return org.Membership{}, err
	}
	if t.As == "" {
		for _, m := range members {
			if m.Level == access.Owner {
				return m, nil
			}
		}
		return org.Membership{}, fault.New(fault.NotFound, "The organization has no owner yet: make one with `foyer admin member add --level=owner`.")
	}
	return memberByEmail(members, "as", t.As)
}

// memberByEmail finds a member; field is the field to blame if there is none.
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
