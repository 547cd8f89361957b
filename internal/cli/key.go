package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/cli/admin"
	"foyer/internal/cli/terminal"
)

type keyCommands struct {
	Create   keyCreate         `cmd:"" help:"Make a key and show it; it is not shown again."`
	List     keyList           `cmd:"" help:"List your keys, without the keys themselves."`
	Revoke   keyRevoke         `cmd:"" help:"Revoke a key: servers refuse it within 2 seconds."`
	Generate admin.KeyGenerate `cmd:"" help:"Generate a key that is not valid until the first start registers it, for FOYER_BOOTSTRAP_KEY_FILE."`
}

func (keyCommands) Help() string {
	return `Keys are named by their ids or names.

Examples:

    foyer key create --name=ci --scope=plugin:write --expires-in=30d
    foyer key revoke ci
    foyer key list --members
`
}

var keys = terminal.View[client.Key]{
	Columns: "ID NAME PREFIX SCOPES ORGANIZATION CREATED EXPIRES LAST-USED",
	Row: func(k client.Key) []any {
		return []any{k.ID, k.Name, k.Prefix, strings.Join(k.Scopes, ","), k.OrganizationID, k.CreatedAt, k.ExpiresAt, k.LastUsedAt}
	},
}

var memberKeys = terminal.View[client.MemberKey]{
	Columns: "ID NAME PREFIX EMAIL SCOPES ORGANIZATION CREATED EXPIRES LAST-USED",
	Row: func(k client.MemberKey) []any {
		return []any{k.ID, k.Name, k.Prefix, k.User.Email, strings.Join(k.Scopes, ","), k.OrganizationID, k.CreatedAt, k.ExpiresAt, k.LastUsedAt}
	},
}

type keyCreate struct {
	Scope     []string          `required:"" placeholder:"SCOPE" help:"What the key may do: plugin:read, plugin:write, organization_member:read, organization_member:write, or * for everything. Can be repeated."`
	Name      string            `placeholder:"TEXT" help:"By what you will know it. Without it, key N."`
	ExpiresIn terminal.Lifetime `placeholder:"D" help:"How long the key works, like 30d or 720h. Without it, as long as the one in use."`
	Bind      bool              `help:"Bind the key to the organization."`

	idempotent
}

func (c keyCreate) Run(ctx context.Context, to *client.Client, o *client.Organization, out *terminal.Output) error {
	if c.ExpiresIn > 0 && c.IdempotencyKey != "" {
		return terminal.Misused(errors.New("--expires-in and --idempotency-key do not go together: a second run would ask for a later end"))
	}
	draft := client.KeyDraft{Scopes: c.Scope, Name: c.Name}
	if c.ExpiresIn > 0 {
		draft.ExpiresAt = new(time.Now().Add(time.Duration(c.ExpiresIn)).UTC()) //nolint:forbidigo // the server, which has a clock of its own, refuses what has passed
	}
	if c.Bind {
		info, err := o.Get(ctx)
		if err != nil {
			return err
		}
		draft.OrganizationID = info.ID
	}
	made, err := to.CreateKey(ctx, draft)
	if err != nil {
		return err
	}
	if err := out.SayOnce(made, "Key %d, shown only now: keep it.\n\n  %s", made.ID, made.APIKey); err != nil {
		return fmt.Errorf("key %d was made, but cannot be shown: %w; revoke it with `foyer key revoke %d`", made.ID, err, made.ID)
	}
	return nil
}

type keyList struct {
	Members bool `help:"The keys of all members that open the organization, for admins."`
}

func (c keyList) Run(ctx context.Context, to *client.Client, o *client.Organization, out *terminal.Output) error {
	if !c.Members {
		return all(out, keys, to.AllKeys(ctx))
	}
	return all(out, memberKeys, o.AllKeys(ctx))
}

func memberKeyID(ctx context.Context, o *client.Organization, name string) (int64, error) {
	return find(name, "key", o.AllKeys(ctx), func(k client.MemberKey) (int64, string) { return k.ID, k.Name })
}

type keyRevoke struct {
	Key    string `arg:"" help:"Its id or name."`
	Member bool   `help:"It is a member's key that is bound to the organization, for admins."`
}

func (c keyRevoke) Run(ctx context.Context, to *client.Client, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Revoke key %s?", c.Key); err != nil {
		return err
	}
	var id int64
	var err error
	revoke := to.DeleteKey
	if c.Member {
		revoke = o.DeleteKey
		id, err = memberKeyID(ctx, o, c.Key)
	} else {
		id, err = find(c.Key, "key", to.AllKeys(ctx), func(k client.Key) (int64, string) { return k.ID, k.Name })
	}
	if err == nil {
		err = orMissing(revoke(ctx, id), "key", c.Key)
	}
	if !c.Member && fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "You have no key %s: --member revokes another member's key.", c.Key)
	}
	if err != nil {
		return err
	}
	return out.Say(map[string]any{"id": id}, "Revoked key %d. Running servers refuse it within 2 seconds.", id)
}
