package admin

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"foyer/internal/cli/terminal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/face/wire"
	"foyer/internal/server"
)

// Organization has the commands on organizations.
type Organization struct {
	Create organizationCreate `cmd:"" help:"Make an organization."`
	List   organizationList   `cmd:"" help:"List all organizations."`
	Set    organizationSet    `cmd:"" help:"Change settings of an organization."`
	Delete organizationDelete `cmd:"" help:"Delete an organization and all that belongs to it."`
}

// Help gives examples.
func (Organization) Help() string {
	return `Examples:

    foyer admin organization create --name "Acme"
    foyer admin organization set 0190… --name "Acme"
    foyer admin organization set 0190… --members-can-invite=false --access-level=3
    foyer admin organization set 0190… --access-level=0 --reason="Its apps hide the cart."
    foyer admin organization set 0190… --allowed-domains=example.com,example.org
`
}

type organizationCreate struct {
	Name string `required:"" help:"Its name: 1 to 200 characters."`
}

func (c organizationCreate) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	o, err := d.Organizations.Create(ctx, c.Name)
	if err != nil {
		return err
	}
	return organizations.One(out, o)
}

type organizationList struct{}

func (organizationList) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	all, err := d.Organizations.List(ctx)
	if err != nil {
		return err
	}
	return organizations.All(out, all)
}

type organizationSet struct {
	ID string `arg:"" help:"Its id or name."`

	Name                 *string             `help:"Its name, which mails and pages show: 1 to 200 characters."`
	MembersCanInvite     *bool               `help:"Let members invite; =false: only admins and owners."`
	MembersCanManageApps *bool               `help:"Let members change apps; =false: only admins and owners."`
	AccessLevel          *int                `placeholder:"LEVEL" help:"What it may do with apps: 0 nothing, 3 read, 6 install, 9 share with all organizations too."`
	Reason               string              `help:"Why its access level is lowered, for the activity: 1 to 500 characters."`
	InviteTTL            *terminal.InviteTTL `placeholder:"D" help:"How long its invites live, like 12h or 2d, never longer than FOYER_INVITE_TTL; 0: as long as that. An inviter may choose another time, 30 days at most."`
	AllowedDomains       *[]string           `placeholder:"D,…" help:"Whose addresses may join; empty for any."`
}

// Validate refuses a command that would change nothing.
func (c organizationSet) Validate() error {
	if c.Name == nil && c.MembersCanInvite == nil && c.MembersCanManageApps == nil && c.AccessLevel == nil && c.AllowedDomains == nil && c.InviteTTL == nil {
		return errors.New("give at least one setting to change")
	}
	return nil
}

func (c organizationSet) Run(ctx context.Context, d *server.Domain, out *terminal.Output, in terminal.Input) error {
	set := org.Settings{
		Name: c.Name, MembersCanInvite: c.MembersCanInvite, MembersCanManageApps: c.MembersCanManageApps,
		AllowedDomains: c.AllowedDomains, InviteTTL: (*int64)(c.InviteTTL), Reason: c.Reason,
	}
	if c.AccessLevel != nil {
		level, err := access.ParseAppAccess(*c.AccessLevel)
		if err != nil {
			return err
		}
		if level == access.NoApps {
			if err := in.Confirm("Stop all apps on the sites of organization %s?", c.ID); err != nil {
				return err
			}
		}
		set.AppAccess = &level
	}
	o, err := named(ctx, d, c.ID)
	if err == nil {
		o, err = d.Organizations.Set(ctx, access.Caller{}, o.ID, set)
	}
	if err != nil {
		return err
	}
	return organizations.One(out, o)
}

var organizations = terminal.View[org.Organization]{
	Columns: "ID NAME ACCESS MEMBERS-INVITE MEMBERS-MANAGE DOMAINS CREATED",
	More:    "INVITE-TTL",
	Row: func(o org.Organization) []any {
		return []any{
			o.ID, o.Name, int(o.AppAccess), o.MembersCanInvite, o.MembersCanManageApps,
			strings.Join(o.AllowedDomains, ","), o.CreatedAt, inviteTTL(o),
		}
	},
	Object: func(b []byte, o org.Organization) []byte {
		b = wire.AppendField(append(b, '{'), "id", o.ID)
		b = wire.AppendField(b, "name", o.Name)
		b = wire.AppendInt(b, "access_level", int64(o.AppAccess))
		b = wire.AppendBool(b, "members_can_invite", o.MembersCanInvite)
		b = wire.AppendBool(b, "members_can_manage_apps", o.MembersCanManageApps)
		b = wire.AppendStrings(b, "allowed_domains", o.AllowedDomains)
		b = wire.AppendTime(b, "created_at", o.CreatedAt)
		return append(wire.AppendJSON(b, "invite_ttl", inviteTTL(o)), '}')
	},
}

// inviteTTL is how long the invites of an organization live, in seconds; "": the server's default.
func inviteTTL(o org.Organization) string {
	if o.InviteTTL == 0 {
		return ""
	}
	return strconv.FormatInt(o.InviteTTL, 10)
}
