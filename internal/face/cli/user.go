package cli

import (
	"context"
	"fmt"
	"strings"

	"foyer/client"
	"foyer/internal/face/cli/terminal"
)

type userCommands struct {
	Get userGet `cmd:"" help:"Show who you are."`
	Set userSet `cmd:"" help:"Change your names or your address."`
}

// Help gives examples.
func (userCommands) Help() string {
	return `You are the user of the key in use.

Examples:

    foyer user get
    foyer user set --first-name=Ada --last-name=Lovelace
    foyer user set --email=ada@example.org
`
}

var users = terminal.View[client.User]{
	Columns: "UUID EMAIL VERIFIED FIRST-NAME LAST-NAME",
	Row: func(u client.User) []any {
		return []any{u.UUID, u.Email, u.IsEmailVerified, u.FirstName, u.LastName}
	},
}

type userGet struct{}

// Run shows the user.
func (userGet) Run(ctx context.Context, to *client.Client, out *terminal.Output) error {
	u, err := to.Self(ctx)
	if err != nil {
		return err
	}
	return users.One(out, u)
}

type userSet struct {
	Email     *string `placeholder:"ADDRESS" help:"It is mailed a link, and becomes yours when that is followed. The old address is told."`
	FirstName *string `help:"At most 30 characters."`
	LastName  *string `help:"At most 150 characters."`
}

// Run changes the user.
func (c userSet) Run(ctx context.Context, to *client.Client, out *terminal.Output, log terminal.Log) error {
	u, err := to.ChangeSelf(ctx, client.SelfPatch{Email: c.Email, FirstName: c.FirstName, LastName: c.LastName})
	if err != nil {
		return err
	}
	if c.Email != nil && !strings.EqualFold(strings.TrimSpace(*c.Email), u.Email) {
		fmt.Fprintf(log, "foyer: note: a mail with a link is on its way to %s: your address changes when the link is followed.\n", terminal.Printable(*c.Email))
	}
	return users.One(out, u)
}
