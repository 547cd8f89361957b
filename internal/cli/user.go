package cli

import (
	"context"

	"foyer/internal/api"
	"foyer/internal/org"
	"foyer/internal/server"
)

type userCommands struct {
	List userList `cmd:"" help:"List everybody, in whatever organization."`
}

type userList struct{}

// Run lists all users.
func (userList) Run(ctx context.Context, d *server.Domain, out *output) error {
	all, err := d.Organizations.Users(ctx)
	if err != nil {
		return err
	}
	return users.all(out, all)
}

var users = view[org.User]{
	columns: "ID UUID EMAIL VERIFIED NAME CREATED",
	row: func(u org.User) []any {
		return []any{u.ID, u.UUID, u.Email, u.IsEmailVerified, u.FullName(), u.CreatedAt}
	},
	object: api.AppendUser,
}
