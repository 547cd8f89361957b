package cli

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/cli/terminal"
)

type memberCommands struct {
	List   memberList   `cmd:"" help:"List the members of an organization."`
	Get    memberGet    `cmd:"" help:"Show one member."`
	Set    memberSet    `cmd:"" help:"Change a member's level."`
	Remove memberRemove `cmd:"" help:"End a membership. The keys of the user lose the organization within 2 seconds."`
}

func (memberCommands) Help() string {
	return `Members are named by their address, or by the UUID of the user.

Examples:

    foyer member list
    foyer member list --search=example.com --level=admin
    foyer member set ada@example.com --level=admin
    foyer member remove ada@example.com
`
}

var members = terminal.View[client.Member]{
	Columns: "EMAIL LEVEL USER JOINED LAST-ACTIVE",
	More:    "INVITED-BY FIRST-NAME LAST-NAME",
	Row: func(m client.Member) []any {
		by := ""
		if m.InvitedBy != nil {
			by = m.InvitedBy.Email
		}
		return []any{m.User.Email, levelName(m.Level), m.User.UUID, m.JoinedAt, m.LastActiveAt, by, m.User.FirstName, m.User.LastName}
	},
}

type memberList struct {
	Search string `placeholder:"TEXT" help:"Those with this in the address or the names."`
	Level  string `enum:",member,admin,owner" default:"" placeholder:"LEVEL" help:"Those who are member, admin or owner."`
}

func (c memberList) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return all(out, members, o.AllMembers(ctx, client.MemberFilter{Search: c.Search, Level: levels[c.Level]}))
}

// aMember is the argument that names a member.
type aMember struct {
	Member string `arg:"" help:"The address or UUID of the member."`
}

func (a aMember) find(ctx context.Context, o *client.Organization) (client.Member, error) {
	if id, err := uuid.Parse(a.Member); err == nil {
		m, err := o.GetMember(ctx, id.String())
		if client.IsNotFound(err) {
			err = a.missing()
		}
		return m, err
	}
	email := stored(a.Member)
	for m, err := range o.AllMembers(ctx, client.MemberFilter{Search: email}) {
		if err != nil || strings.EqualFold(m.User.Email, email) {
			return m, err
		}
	}
	return client.Member{}, a.missing()
}

func (a aMember) missing() error {
	return fault.New(fault.NotFound, "%s is not a member of the organization.", a.Member)
}

type memberGet struct {
	aMember
	etag
}

func (c memberGet) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	m, err := c.find(ctx, o)
	if err != nil {
		return err
	}
	var tag string
	if m, err = o.With(client.ETag(&tag)).GetMember(ctx, m.User.UUID); err != nil {
		return err
	}
	return one(out, members, m, c.etag, tag)
}

type memberSet struct {
	aMember
	Level string `required:"" enum:"member,admin,owner" placeholder:"LEVEL" help:"What the member may do: member, admin or owner."`

	ifMatch
	idempotent
	dryRun
}

func (c memberSet) Run(ctx context.Context, all *client.Client, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	m, err := c.find(ctx, o)
	if err != nil {
		return err
	}
	self, err := all.Self(ctx)
	if err == nil && m.User.ID == self.ID && levels[c.Level] < m.Level {
		err = in.Confirm("Lower your own level to %s? You cannot take this back yourself.", c.Level)
	}
	if err != nil {
		return err
	}
	if m, err = o.SetLevel(ctx, m.ID, levels[c.Level]); err != nil {
		return err
	}
	return members.One(out, m)
}

type memberRemove struct {
	aMember
	ifMatch
	dryRun
}

func (c memberRemove) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Remove %s from the organization?", c.Member); err != nil {
		return err
	}
	m, err := c.find(ctx, o)
	if err != nil {
		return err
	}
	if err := o.RemoveMember(ctx, m.ID); err != nil {
		return err
	}
	return members.One(out, m)
}
