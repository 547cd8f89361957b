package cli

import (
	"context"
	"strings"

	"foyer/client"
	"foyer/internal/cli/terminal"
)

type organizationCommands struct {
	List organizationList `cmd:"" help:"List the organizations that your key opens."`
	Get  organizationGet  `cmd:"" help:"Show the organization."`
	Set  organizationSet  `cmd:"" help:"Change its name or settings."`
}

var organizations = terminal.View[client.OrganizationInfo]{
	Columns: "ID NAME LEVEL ACCESS MEMBERS-INVITE MEMBERS-MANAGE DOMAINS CREATED",
	More:    "INVITE-TTL",
	Row: func(o client.OrganizationInfo) []any {
		return []any{
			o.ID, o.Name, levelName(o.Level), o.AccessLevel, o.MembersCanInvite, o.MembersCanManageApps,
			strings.Join(o.AllowedDomains, ","), o.CreatedAt, o.InviteTTL,
		}
	},
}

type organizationList struct{}

func (organizationList) Run(ctx context.Context, to *client.Client, out *terminal.Output) error {
	return all(out, organizations, to.AllOrganizations(ctx))
}

type organizationGet struct{ etag }

func (c organizationGet) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	var tag string
	info, err := o.With(client.ETag(&tag)).Get(ctx)
	if err != nil {
		return err
	}
	return one(out, organizations, info, c.etag, tag)
}

type organizationSet struct {
	Name                 *string             `help:"Its name, which mails and pages show: 1 to 200 characters."`
	MembersCanInvite     *bool               `help:"Let members invite; =false: only admins and owners."`
	MembersCanManageApps *bool               `help:"Let members change apps; =false: only admins and owners."`
	AllowedDomains       *[]string           `placeholder:"D,…" help:"Whose addresses may join; empty for any."`
	InviteTTL            *terminal.InviteTTL `placeholder:"D" help:"How long its invites live, like 12h or 2d, never longer than the server says; 0: as long as that. An inviter may choose another time, 30 days at most."`

	ifMatch
	idempotent
}

func (c organizationSet) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	patch := client.OrganizationPatch{
		Name: c.Name, MembersCanInvite: c.MembersCanInvite, MembersCanManageApps: c.MembersCanManageApps,
		AllowedDomains: c.AllowedDomains, InviteTTL: (*int64)(c.InviteTTL),
	}
	if err := checkSets(patch); err != nil {
		return err
	}
	info, err := o.Change(ctx, patch)
	if err != nil {
		return err
	}
	return organizations.One(out, info)
}
