package cli

import (
	"context"
	"iter"
	"slices"
	"strings"

	"foyer/client"
	"foyer/internal/base/address"
	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/cli/admin"
	"foyer/internal/cli/terminal"
)

// remote is the server that a command works on, and the organization there.
type remote struct {
	URL          string `name:"url" placeholder:"URL" help:"The server; its key is in FOYER_KEY, or kept by foyer login. [FOYER_URL]"`
	Profile      string `placeholder:"NAME" help:"The server and key that foyer login has kept under this name."`
	Organization string `placeholder:"ID" help:"The organization, by id or name. Without it, that of the profile or the key."`
}

// adminCommands are the operators' commands.
type adminCommands struct {
	App          under[admin.Target, adminAppCommands] `cmd:"" help:"Apps of an organization."`
	Site         under[admin.Target, siteCommands]     `cmd:"" help:"Sites, and the apps placed on them."`
	Invite       under[admin.Target, inviteCommands]   `cmd:"" help:"Invites to an organization."`
	Organization admin.Organization                    `cmd:"" help:"Organizations: make one, list them, change settings."`
	User         admin.User                            `cmd:"" help:"People."`
	Member       admin.Member                          `cmd:"" help:"Who is in an organization."`
	Key          admin.Key                             `cmd:"" help:"API keys."`
	Activity     admin.Activity                        `cmd:"" help:"Who did what, the newest first, and whether somebody tampered with it."`
	Backup       admin.Backup                          `cmd:"" help:"Copy a SQLite database while servers use it."`
	Restore      admin.Restore                         `cmd:"" help:"Put a backup in the place of a SQLite database."`
	Resume       admin.Resume                          `cmd:"" help:"Let webhooks and mails go on that a restore has held."`
	Migrate      admin.Migrate                         `cmd:"" help:"Bring the schema of the database up to date."`
}

// find returns the id of the item that a person names: a number is an id. is returns the id and the name of an item.
func find[T any](name, kind string, all iter.Seq2[T, error], is func(T) (int64, string)) (int64, error) {
	if id := patch.ID(name); id != 0 {
		return id, nil
	}
	var ids []int64
	for item, err := range all {
		if err != nil {
			return 0, err
		}
		if id, called := is(item); called == name {
			ids = append(ids, id)
		}
	}
	return terminal.TheOne(ids, kind+"s named "+name, missing(kind, name))
}

func missing(kind, id string) error {
	return fault.New(fault.NotFound, "There is no %s %s in this organization.", kind, id)
}

// orMissing names the missing item: the API has the same answer for all.
func orMissing(err error, kind, id string) error {
	if client.IsNotFound(err) {
		return missing(kind, id)
	}
	return err
}

// maxSearch is the longest text in bytes that the API searches for; a name may be longer.
const maxSearch = 400

// searchable returns the part of a name that the API can search for.
func searchable(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxSearch)], "")
}

// stored returns a typed address in the form that the server stores.
func stored(typed string) string {
	if plain, err := address.Parse(typed); err == nil {
		return plain
	}
	return typed
}

// appID returns the id of the app that a person names: among several, the organization's own.
func appID(ctx context.Context, o *client.Organization, name string) (int64, error) {
	if id := patch.ID(name); id != 0 {
		return id, nil
	}
	same, err := appsNamed(ctx, o, name)
	if len(same) > 1 {
		var own []client.App
		if own, err = ownApps(ctx, o, same); len(own) > 0 {
			same = own
		}
	}
	if err != nil {
		return 0, err
	}
	return terminal.TheOne(idsOf(same), "apps named "+name, missing("app", name))
}

// appsNamed returns the apps with a name, including global ones of other organizations.
func appsNamed(ctx context.Context, o *client.Organization, name string) ([]client.App, error) {
	found, err := collect(o.AllApps(ctx, client.AppFilter{Search: searchable(name)}))
	return slices.DeleteFunc(found, func(a client.App) bool { return a.Name != name }), err
}

// ownApps returns the apps that belong to the organization.
func ownApps(ctx context.Context, o *client.Organization, apps []client.App) ([]client.App, error) {
	info, err := o.Get(ctx)
	return slices.DeleteFunc(slices.Clone(apps), func(a client.App) bool { return a.OrganizationID != info.ID }), err
}

func idsOf(apps []client.App) (ids []int64) {
	for _, a := range apps {
		ids = append(ids, a.ID)
	}
	return ids
}

func siteID(ctx context.Context, o *client.Organization, name string) (int64, error) {
	return find(name, "site", o.AllSites(ctx, client.SiteFilter{Search: searchable(name)}), func(s client.Site) (int64, string) { return s.ID, s.Name })
}

func webhookID(ctx context.Context, o *client.Organization, url string) (int64, error) {
	return find(url, "webhook", o.AllWebhooks(ctx), func(w client.Webhook) (int64, string) { return w.ID, w.URL })
}

// organizationID returns the id of the organization that a person names by its id or name.
func organizationID(ctx context.Context, c *client.Client, name string) (string, error) {
	var ids []string
	for o, err := range c.AllOrganizations(ctx) {
		if err != nil {
			return "", err
		}
		if strings.EqualFold(o.ID, name) {
			return o.ID, nil
		}
		if o.Name == name {
			ids = append(ids, o.ID)
		}
	}
	return terminal.TheOne(ids, "organizations named "+name, fault.New(fault.NotFound, "There is no organization %s.", name))
}

// all shows a whole list.
func all[T any](out *terminal.Output, v terminal.View[T], list iter.Seq2[T, error]) error {
	items, err := collect(list)
	if err != nil {
		return err
	}
	return v.All(out, items)
}

// collect reads a whole list.
func collect[T any](list iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}
