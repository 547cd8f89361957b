package admin

import (
	"context"

	"foyer/internal/cli/terminal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/server"
)

// Member has the commands on the members of an organization.
type Member struct {
	Add    memberAdd    `cmd:"" help:"Make somebody a member; whoever is new becomes a user."`
	List   memberList   `cmd:"" help:"List the members of an organization."`
	Set    memberSet    `cmd:"" help:"Change a member's level."`
	Remove memberRemove `cmd:"" help:"End a membership. The keys of the user lose the organization within 2 seconds."`
}

// Help gives examples.
func (Member) Help() string {
	return `Examples:

    foyer admin member add --email=ada@example.com --level=admin
    foyer admin member remove --email=ada@example.com
`
}

type memberAdd struct {
	where
	Email string `required:"" placeholder:"EMAIL" help:"Address of the new member."`
	level
}

// level is the flag that names a level.
type level struct {
	Level string `required:"" enum:"member,admin,owner" placeholder:"LEVEL" help:"What the member may do: member, admin or owner."`
}

func (c memberAdd) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	o, level, err := c.check(ctx, d, c.level)
	if err != nil {
		return err
	}
	m, err := d.Invites.AddMember(ctx, o.ID, c.Email, level)
	if err != nil {
		return err
	}
	return members.One(out, m)
}

func (w where) check(ctx context.Context, d *server.Domain, l level) (org.Organization, access.Level, error) {
	parsed, err := access.ParseLevel("level", l.Level)
	if err != nil {
		return org.Organization{}, 0, err
	}
	o, err := w.find(ctx, d)
	return o, parsed, err
}

type memberList struct{ where }

func (c memberList) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	o, err := c.find(ctx, d)
	if err != nil {
		return err
	}
	all, err := d.Organizations.Members(ctx, o.ID)
	if err != nil {
		return err
	}
	return members.All(out, all)
}

type memberSet struct {
	where
	Email string `required:"" placeholder:"EMAIL" help:"Address of the member."`
	level
}

func (c memberSet) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	o, level, err := c.check(ctx, d, c.level)
	if err != nil {
		return err
	}
	m, err := d.Organizations.SetLevel(ctx, o.ID, c.Email, level)
	if err != nil {
		return err
	}
	return members.One(out, m)
}

type memberRemove struct {
	where
	Email string `required:"" placeholder:"EMAIL" help:"Address of the member."`
}

func (c memberRemove) Run(ctx context.Context, d *server.Domain, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Remove %s from the organization?", c.Email); err != nil {
		return err
	}
	o, err := c.find(ctx, d)
	if err != nil {
		return err
	}
	m, err := d.Organizations.RemoveMember(ctx, o.ID, c.Email)
	if err != nil {
		return err
	}
	return members.One(out, m)
}

var members = terminal.View[org.Membership]{
	Columns: "EMAIL LEVEL USER JOINED",
	Row: func(m org.Membership) []any {
		return []any{m.User.Email, m.Level, m.User.UUID, m.JoinedAt}
	},
	Object: func(b []byte, m org.Membership) []byte {
		b = api.AppendUser(wire.AppendName(append(b, '{'), "user"), m.User)
		b = wire.AppendInt(b, "level", int64(m.Level))
		b = wire.AppendField(b, "organization_id", m.OrganizationID)
		b = wire.AppendTime(b, "joined_at", m.JoinedAt)
		return append(wire.AppendTime(b, "updated_at", m.UpdatedAt), '}')
	},
}
