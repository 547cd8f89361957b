package admin

import (
	"context"
	"errors"

	"foyer/internal/base/patch"
	"foyer/internal/cli/terminal"
	"foyer/internal/domain/org"
	"foyer/internal/server"
)

type organizationDelete struct {
	ID string `arg:"" help:"Its id or name."`
}

func (organizationDelete) Help() string {
	return `Its apps, sites, invites, members and the keys that are bound to it go; the tokens of its sites answer 404. Its activity stays.
Users stay: see foyer admin user delete. After the last organization, the next start makes a first one again.`
}

func (c organizationDelete) Run(ctx context.Context, d *server.Domain, out *terminal.Output, in terminal.Input) error {
	o, err := named(ctx, d, c.ID)
	if err != nil {
		return err
	}
	if err := in.ConfirmName(o.Name, "Organization "+o.ID+" and all that belongs to it will be deleted."); err != nil {
		return err
	}
	if o, err = d.Organizations.EraseOrganization(ctx, o.ID); err != nil {
		return err
	}
	return out.Say(map[string]string{"id": o.ID, "name": o.Name}, "Deleted organization %s, %s.", o.ID, terminal.Printable(o.Name))
}

type userSet struct {
	Address   string  `arg:"" name:"email" help:"The user's address."`
	Email     *string `placeholder:"EMAIL" help:"Their new address. Their sessions end, and it counts as not verified."`
	FirstName *string `help:"Their first name: up to 30 characters."`
	LastName  *string `help:"Their last name: up to 150 characters."`
}

// Validate refuses a command that would change nothing.
func (c userSet) Validate() error {
	if c.Email == nil && c.FirstName == nil && c.LastName == nil {
		return errors.New("give at least one of --email, --first-name and --last-name")
	}
	return nil
}

func (c userSet) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	var p org.SelfPatch
	for field, value := range map[*patch.Field[string]]*string{&p.Email: c.Email, &p.FirstName: c.FirstName, &p.LastName: c.LastName} {
		if value != nil {
			*field = patch.Of(*value)
		}
	}
	u, err := d.Organizations.SetUser(ctx, c.Address, p)
	if err != nil {
		return err
	}
	return users.One(out, u)
}

type userDelete struct {
	Email string `arg:"" help:"The user's address."`
}

func (userDelete) Help() string {
	return `Names and address go from all tables, and with them the user's keys, sessions and memberships, and invites to the address. The user's id
stays, in the activity too, which can still be verified. What was written before keeps the name: backups and logs. The last owner of an organization
cannot be erased: make another member owner first, or delete the organization.`
}

func (c userDelete) Run(ctx context.Context, d *server.Domain, out *terminal.Output, in terminal.Input) error {
	u, err := d.Organizations.UserByEmail(ctx, c.Email)
	if err != nil {
		return err
	}
	if err := in.ConfirmName(u.Email, "User "+terminal.Printable(u.Email)+" will be erased."); err != nil {
		return err
	}
	if u, err = d.Organizations.EraseUser(ctx, u.Email); err != nil {
		return err
	}
	return out.Say(map[string]any{"id": u.ID, "uuid": u.UUID}, "Erased user %d.", u.ID)
}

type userUnlink struct {
	Email string `arg:"" help:"The user's address."`
}

func (userUnlink) Help() string {
	return `For a user whose account at the identity provider was replaced: the next one that has the user's verified address is theirs. Sessions that
began by the provider end.`
}

func (c userUnlink) Run(ctx context.Context, d *server.Domain, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Remove the link between %s and their account at the identity provider?", c.Email); err != nil {
		return err
	}
	n, err := d.SignIn.Unlink(ctx, c.Email)
	if err != nil {
		return err
	}
	return out.Say(map[string]int64{"unlinked": int64(n)}, "Unlinked %s at the identity provider.", terminal.Count(n, "account"))
}
