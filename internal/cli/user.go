package cli

import (
	"context"
	"errors"
	"fmt"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/cli/terminal"
)

type userCommands struct {
	Get userGet `cmd:"" help:"Show who you are."`
	Set userSet `cmd:"" help:"Change your names or your address."`

	Invites userInvites `cmd:"" help:"List the invites to you, if your address is verified."`
	Accept  userAccept  `cmd:"" help:"Accept one of them."`
	Decline userDecline `cmd:"" help:"Decline one of them."`

	Sessions userSessions `cmd:"" help:"List where you are signed in to the console."`
	SignOut  userSignOut  `cmd:"" help:"End a session, or all of yours."`
}

func (userCommands) Help() string {
	return `You are the user of the key in use.

Examples:

    foyer user get
    foyer user set --first-name=Ada --last-name=Lovelace
    foyer user set --email=ada@example.org
    foyer user invites
`
}

var users = terminal.View[client.User]{
	Columns: "UUID EMAIL VERIFIED FIRST-NAME LAST-NAME",
	Row: func(u client.User) []any {
		return []any{u.UUID, u.Email, u.IsEmailVerified, u.FirstName, u.LastName}
	},
}

type userGet struct{ etag }

func (c userGet) Run(ctx context.Context, to *client.Client, out *terminal.Output) error {
	var tag string
	u, err := to.With(client.ETag(&tag)).Self(ctx)
	if err != nil {
		return err
	}
	return one(out, users, u, c.etag, tag)
}

type userSet struct {
	Email     *string `placeholder:"ADDRESS" help:"A link is mailed to it; it becomes yours once the link is confirmed. The old address gets a notice."`
	FirstName *string `help:"At most 30 characters."`
	LastName  *string `help:"At most 150 characters."`

	ifMatch
	idempotent
}

func (c userSet) Run(ctx context.Context, to *client.Client, out *terminal.Output, log terminal.Log) error {
	patch := client.SelfPatch{Email: c.Email, FirstName: c.FirstName, LastName: c.LastName}
	if err := checkSets(patch); err != nil {
		return err
	}
	u, err := to.ChangeSelf(ctx, patch)
	if err != nil {
		return err
	}
	if c.Email != nil && stored(*c.Email) != u.Email {
		fmt.Fprintf(log, "foyer: note: a mail with a link is on its way to %s: your address changes when you follow the link.\n", terminal.Printable(*c.Email))
	}
	return users.One(out, u)
}

var ownInvites = terminal.View[client.OwnInvite]{
	Columns: "ID ORGANIZATION LEVEL INVITED-BY EXPIRES",
	More:    "MESSAGE",
	Row: func(i client.OwnInvite) []any {
		return []any{i.ID, i.OrganizationName, levelName(i.Level), i.InvitedBy.Email, i.ExpiresAt, i.Message}
	},
}

type userInvites struct{}

func (userInvites) Run(ctx context.Context, to *client.Client, out *terminal.Output) error {
	return all(out, ownInvites, to.AllOwnInvites(ctx))
}

type userAccept struct {
	Invite string `arg:"" help:"Its id."`

	idempotent
}

func (c userAccept) Run(ctx context.Context, to *client.Client, out *terminal.Output) error {
	o, err := to.AcceptOwnInvite(ctx, c.Invite, "")
	if err != nil {
		return noInvite(err, c.Invite)
	}
	return organizations.One(out, o)
}

type userDecline struct {
	Invite string `arg:"" help:"Its id."`
}

func (c userDecline) Run(ctx context.Context, to *client.Client, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Decline invite %s?", c.Invite); err != nil {
		return err
	}
	if err := to.DeclineOwnInvite(ctx, c.Invite); err != nil {
		return noInvite(err, c.Invite)
	}
	return out.Say(map[string]any{"id": c.Invite}, "Declined.")
}

// noInvite names what is missing: the API has the same answer for all.
func noInvite(err error, id string) error {
	if client.IsNotFound(err) {
		return fault.New(fault.NotFound, "There is no invite %s to your address, or the address is not verified.", id)
	}
	return err
}

var sessions = terminal.View[client.Session]{
	Columns: "ID METHOD SIGNED-IN LAST-USED EXPIRES ADDRESS BROWSER",
	Row: func(s client.Session) []any {
		return []any{s.ID, s.Method, s.CreatedAt, s.LastUsedAt, s.ExpiresAt, s.Address, s.UserAgent}
	},
}

type userSessions struct{}

func (userSessions) Run(ctx context.Context, to *client.Client, out *terminal.Output) error {
	return all(out, sessions, to.AllSessions(ctx))
}

type userSignOut struct {
	Session int64 `arg:"" optional:"" help:"Its id. Without it, all."`

	ifMatch
}

// Validate refuses an ETag without a session: all sessions together have none.
func (c userSignOut) Validate() error {
	if c.Session == 0 && c.IfMatch != "" {
		return errors.New("--if-match: give the id of a session")
	}
	return nil
}

func (c userSignOut) Run(ctx context.Context, to *client.Client, out *terminal.Output, in terminal.Input) error {
	if c.Session == 0 {
		if err := in.Confirm("Sign out everywhere?"); err != nil {
			return err
		}
		if err := to.DeleteSessions(ctx); err != nil {
			return err
		}
		return out.Say(map[string]any{}, "Signed out everywhere.")
	}
	if err := in.Confirm("Sign out in session %d?", c.Session); err != nil {
		return err
	}
	if err := to.DeleteSession(ctx, c.Session); err != nil {
		if client.IsNotFound(err) {
			return fault.New(fault.NotFound, "You have no session %d.", c.Session)
		}
		return err
	}
	return out.Say(map[string]any{"id": c.Session}, "Signed out in session %d.", c.Session)
}
