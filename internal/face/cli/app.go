package cli

import (
	"context"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/plugin"
	"foyer/internal/face/api"
	"foyer/internal/server"
)

type appCommands struct {
	List        appList        `cmd:"" help:"List the apps that an organization sees, global ones of others among them."`
	Get         appGet         `cmd:"" help:"Show one app."`
	Create      appCreate      `cmd:"" help:"Register an app."`
	Credentials appCredentials `cmd:"" help:"Give an installed app other credentials for its git host."`
	Disable     appDisable     `cmd:"" help:"Stop an app on all pages of all organizations."`
	Enable      appEnable      `cmd:"" help:"Let an app that was disabled run again."`
	Withdraw    appWithdraw    `cmd:"" help:"Stop a version of an app on all pages."`
	Restore     appRestore     `cmd:"" help:"Let a version that was withdrawn run again."`
	Health      appHealth      `cmd:"" help:"Show what pages reported of an app."`
	Delete      appDelete      `cmd:"" help:"Delete an app."`
}

// Help gives examples.
func (appCommands) Help() string {
	return `Examples:

    foyer app create --name="Banner" --description="A line on top of every page"
    foyer app create --type=custom --url=https://git.example.com/acme/banner --tag=v1.2.0
    foyer app credentials 7 --url=- < url-with-credentials
    foyer app list --json

With --url=-, the url is a line of standard input. Others on the machine see what is on a command line: give a url with credentials so.
`
}

type appList struct {
	actor
	Search string `placeholder:"TEXT" help:"Those with this in the name or the description."`
	Type   string `placeholder:"TYPE" help:"Those of a type: local, custom, repository, source or inline."`
	Global *bool  `help:"Those that all organizations see, or those that only their own does."`
	Update bool   `help:"Those for which a newer tag is known."`
	State  string `placeholder:"STATE" help:"Those that are disabled, broken or edited."`
	Site   int64  `placeholder:"ID" help:"Those on a site."`
	Order  string `name:"ordering" placeholder:"FIELD" help:"By name, created_at or updated_at, with - before it for the other way round. Without it, by id."`
}

// Run lists apps.
func (c appList) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	f, err := c.filter()
	if err != nil {
		return err
	}
	all, err := everyPage(func(p page.Page) (page.Found[plugin.Plugin], error) { return d.Plugins.Find(ctx, by, f, p) })
	if err != nil {
		return err
	}
	return apps.all(out, all)
}

func (c appList) filter() (f plugin.Filter, err error) {
	f = plugin.Filter{Search: c.Search, Global: given(c.Global), Update: c.Update, SiteID: c.Site}
	var faults fault.List
	if c.Type != "" {
		f.Type, err = plugin.ParseType(c.Type)
		faults.Add(err)
	}
	if c.State != "" {
		f.State, err = plugin.ParseState(c.State)
		faults.Add(err)
	}
	if c.Order != "" {
		f.Order, err = page.ParseOrder(c.Order)
		faults.Add(err)
	}
	return f, faults.Err()
}

// everyPage collects a list from its pages.
func everyPage[T any](list func(page.Page) (page.Found[T], error)) ([]T, error) {
	var all []T
	p := page.Page{Limit: page.MaxLimit}
	for {
		found, err := list(p)
		if err != nil {
			return nil, err
		}
		all = append(all, found.Items...)
		if !found.More {
			return all, nil
		}
		p.Offset, p.After = len(all), found.Last
	}
}

type appGet struct {
	actor
	ID int64 `arg:"" help:"Its id."`
}

// Run shows one app.
func (c appGet) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	p, err := d.Plugins.Get(ctx, by, c.ID)
	if err != nil {
		return named(err, "app", c.ID)
	}
	return apps.one(out, p)
}

type appCreate struct {
	actor
	Name        *string `help:"Its name: 1 to 200 characters."`
	Type        *string `help:"Where it comes from: local (the default), source, inline, custom (--url) or repository (--name or --url, as in the catalog)."`
	URL         *string `name:"url" help:"Git repository to install it from; - reads it from standard input."`
	Description *string `help:"What it is for."`
	Icon        *string `help:"Address of its icon."`
	Tag         *string `help:"Its version."`
	Global      *bool   `help:"Share it with all organizations."`
}

// Run registers an app.
func (c appCreate) Run(ctx context.Context, d *server.Domain, out *output, in input) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	if c.URL != nil {
		if *c.URL, err = in.or(*c.URL); err != nil {
			return err
		}
	}
	p, err := d.Plugins.Create(ctx, by, plugin.Draft{
		Type: given(c.Type), URL: given(c.URL), Name: given(c.Name), Description: given(c.Description), Icon: given(c.Icon),
		Tag: given(c.Tag), IsGlobal: given(c.Global),
	})
	if err != nil {
		return err
	}
	return apps.one(out, p)
}

// given is the value of a flag, if the flag was there.
func given[T any](v *T) patch.Field[T] {
	if v == nil {
		return patch.Field[T]{}
	}
	return patch.Of(*v)
}

type appCredentials struct {
	actor
	ID  int64  `arg:"" help:"Its id."`
	URL string `name:"url" required:"" placeholder:"URL" help:"The url it was installed from, with the credentials to ask with from now on; - reads it from standard input."`
}

// Run replaces an app's credentials.
func (c appCredentials) Run(ctx context.Context, d *server.Domain, out *output, in input) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	url, err := in.or(c.URL)
	if err != nil {
		return err
	}
	p, err := d.Plugins.SetCredentials(ctx, by, c.ID, url)
	if err != nil {
		return named(err, "app", c.ID)
	}
	return apps.one(out, p)
}

type appDelete struct {
	actor
	ID int64 `arg:"" help:"Its id."`
}

// Run deletes an app.
func (c appDelete) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	if err := d.Plugins.Delete(ctx, by, c.ID); err != nil {
		return named(err, "app", c.ID)
	}
	return out.say(map[string]any{"id": c.ID}, "Deleted app %d.", c.ID)
}

var apps = view[plugin.Plugin]{
	columns: "ID NAME TYPE TAG LATEST GLOBAL ORGANIZATION URL",
	row: func(p plugin.Plugin) []any {
		return []any{p.ID, p.Name, p.Type, p.Tag, p.LatestTag, p.IsGlobal, p.OrganizationName, p.URL}
	},
	object: api.AppendPlugin,
}
