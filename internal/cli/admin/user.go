package admin

import (
	"context"
	"time"

	"foyer/internal/cli/terminal"
	"foyer/internal/domain/org"
	"foyer/internal/face/api"
	"foyer/internal/server"
)

// User has the commands on all users.
type User struct {
	List       userList       `cmd:"" help:"List the users of all organizations."`
	SigninLink userSigninLink `cmd:"" help:"Print a link that signs a user in to the console."`
	Set        userSet        `cmd:"" help:"Change the names or the address of a user."`
	Delete     userDelete     `cmd:"" help:"Erase a user."`
	Unlink     userUnlink     `cmd:"" help:"Remove the link between a user and their account at the identity provider."`
}

type userList struct{}

func (userList) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	all, err := d.Organizations.Users(ctx)
	if err != nil {
		return err
	}
	return users.All(out, all)
}

type userSigninLink struct {
	Email string `arg:"" help:"The user's address."`
}

func (userSigninLink) Help() string {
	return `For a user who has lost their key and has no other way in. The link starts with FOYER_BASE_URL: give it as the server has it.
Whoever has the link can sign in as the user.`
}

func (c userSigninLink) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	link, expires, err := d.SignIn.Link(ctx, c.Email)
	if err != nil {
		return err
	}
	answer := struct {
		URL       string    `json:"url"`
		ExpiresAt time.Time `json:"expires_at"`
	}{link, expires}
	return out.Say(answer, "%s\nIt works once, until %s: whoever opens it can sign in as %s.", link, terminal.Printable(expires), terminal.Printable(c.Email))
}

var users = terminal.View[org.User]{
	Columns: "ID UUID EMAIL VERIFIED NAME CREATED",
	Row: func(u org.User) []any {
		return []any{u.ID, u.UUID, u.Email, u.IsEmailVerified, u.FullName(), u.CreatedAt}
	},
	Object: api.AppendUser,
}
