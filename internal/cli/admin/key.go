package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/cli/terminal"
	"foyer/internal/domain/access"
	"foyer/internal/face/wire"
	"foyer/internal/server"
)

// Key has the commands on everybody's keys.
type Key struct {
	Create   keyCreate   `cmd:"" help:"Make a key and show it; it is not shown again."`
	Generate KeyGenerate `cmd:"" help:"Generate a key that is not valid until the first start registers it, for FOYER_BOOTSTRAP_KEY_FILE."`
	List     keyList     `cmd:"" help:"List all keys, without the keys themselves."`
	Revoke   keyRevoke   `cmd:"" help:"Revoke a key: running servers refuse it within 2 seconds."`
}

// Help gives examples.
func (Key) Help() string {
	return `Examples:

    foyer admin key create --email=ada@example.com --scope="*"
    foyer admin key create --email=ci@example.com --scope=plugin:write --scope=organization_member:read --expires-in=30d
    foyer admin key revoke 7
    foyer key generate > first-key
`
}

type keyCreate struct {
	Email        string            `required:"" placeholder:"EMAIL" help:"Whose key it is."`
	Organization string            `placeholder:"ID" help:"Bind the key to this organization, by its id or name. Without it, the key opens all of the user's."`
	Scope        []string          `required:"" placeholder:"SCOPE" help:"What the key may do: plugin:read, plugin:write, organization_member:read, organization_member:write, or * for everything. Can be repeated."`
	Name         string            `placeholder:"TEXT" help:"By what its user will know it. Without it, key N."`
	ExpiresIn    terminal.Lifetime `placeholder:"D" help:"How long the key works, like 30d or 720h. Without it, for ever."`
}

func (c keyCreate) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	scope, err := access.ParseScopes(c.Scope)
	if err != nil {
		return terminal.Misused(err)
	}
	user, err := d.Organizations.UserByEmail(ctx, c.Email)
	if err != nil {
		return err
	}
	if c.Organization != "" {
		o, err := named(ctx, d, c.Organization)
		if err != nil {
			return err
		}
		c.Organization = o.ID
		members, err := d.Organizations.Members(ctx, o.ID)
		if err != nil {
			return err
		}
		if _, err := memberByEmail(members, "email", user.Email); err != nil {
			return err
		}
	}
	made, key, err := d.Keys.Create(ctx, access.Draft{
		UserID: user.ID, OrganizationID: c.Organization, Name: c.Name, Scope: scope, ExpiresIn: time.Duration(c.ExpiresIn),
	})
	if err != nil {
		return err
	}
	err = out.SayOnce(json.RawMessage(appendKey(nil, made, key)),
		"Key %d of %s, shown only now: keep it.\n\n  %s", made.ID, made.UserEmail, key)
	if err != nil {
		return fmt.Errorf("key %d was made, but cannot be shown: %w; revoke it with `foyer admin key revoke %d`", made.ID, err, made.ID)
	}
	return nil
}

// KeyGenerate is the command that makes a key unknown to any database.
type KeyGenerate struct{}

// Run prints such a key.
func (KeyGenerate) Run(out *terminal.Output) error {
	key := access.NewKey()
	return out.Say(map[string]string{"key": key}, "%s", key)
}

type keyList struct{}

func (keyList) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	all, err := d.Keys.List(ctx)
	if err != nil {
		return err
	}
	return keys.All(out, all)
}

type keyRevoke struct {
	Key string `arg:"" help:"Its id or name."`
}

func (c keyRevoke) Run(ctx context.Context, d *server.Domain, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Revoke key %s?", c.Key); err != nil {
		return err
	}
	id, err := c.id(ctx, d)
	if err != nil {
		return err
	}
	if err := d.Keys.Revoke(ctx, id); err != nil {
		return err
	}
	return out.Say(map[string]any{"id": id}, "Revoked key %d. Running servers refuse it within 2 seconds.", id)
}

// id returns the id of the key: a number is an id.
func (c keyRevoke) id(ctx context.Context, d *server.Domain) (int64, error) {
	if id := patch.ID(c.Key); id != 0 {
		return id, nil
	}
	all, err := d.Keys.List(ctx)
	if err != nil {
		return 0, err
	}
	var ids []int64
	for _, k := range all {
		if k.Name == c.Key {
			ids = append(ids, k.ID)
		}
	}
	return terminal.TheOne(ids, "keys named "+c.Key, fault.New(fault.NotFound, "There is no key %s.", c.Key))
}

var keys = terminal.View[access.Key]{
	Columns: "ID NAME PREFIX EMAIL SCOPES ORGANIZATION CREATED EXPIRES LAST-USED",
	Row: func(k access.Key) []any {
		return []any{k.ID, k.Name, k.Prefix, k.UserEmail, k.Scope, k.OrganizationID, k.CreatedAt, k.ExpiresAt, k.LastUsedAt}
	},
	Object: func(b []byte, k access.Key) []byte { return appendKey(b, k, "") },
}

// appendKey appends the stored fields of a key, and its text, which is "" once it has been shown.
func appendKey(b []byte, k access.Key, text string) []byte {
	b = wire.AppendInt(append(b, '{'), "id", k.ID)
	if text != "" {
		b = wire.AppendField(b, "key", text)
	}
	b = wire.AppendStrings(b, "scopes", k.Scope.Names())
	b = wire.AppendField(b, "email", k.UserEmail)
	b = wire.AppendField(b, "organization_id", k.OrganizationID)
	b = wire.AppendTime(b, "created_at", k.CreatedAt)
	b = wire.AppendTime(b, "expires_at", k.ExpiresAt)
	b = wire.AppendTime(b, "last_used_at", k.LastUsedAt)
	b = wire.AppendField(b, "name", k.Name)
	return append(wire.AppendField(b, "prefix", k.Prefix), '}')
}
