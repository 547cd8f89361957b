package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/cli/admin"
	"foyer/internal/cli/terminal"
	"foyer/internal/server"
)

type appCommands struct {
	Create appCreate `cmd:"" help:"Register an app."`
	appShared
}

// adminAppCommands are the commands on the database. Their --url is an app's.
type adminAppCommands struct {
	Create      adminAppCreate      `cmd:"" help:"Register or install an app."`
	Credentials adminAppCredentials `cmd:"" help:"Give an installed app other credentials for its git host."`
	appShared
}

type appShared struct {
	List     appList     `cmd:"" help:"List the apps that an organization sees, global ones of others among them."`
	Get      appGet      `cmd:"" help:"Show one app."`
	Catalog  appCatalog  `cmd:"" help:"List the apps that can be installed by name."`
	Unused   appUnused   `cmd:"" help:"List the apps that are on no enabled placement, and that no page has loaded in the last 30 days."`
	Install  appInstall  `cmd:"" help:"Install an app from a git repository, or by its name from the catalog."`
	Set      appSet      `cmd:"" help:"Change an app."`
	Push     appPush     `cmd:"" help:"Send a folder as one version of an app: exit status 1 if something does not compile."`
	Pull     appPull     `cmd:"" help:"Write the files of an app into a folder."`
	Source   appSource   `cmd:"" help:"Show the files of an app, and what does not compile."`
	Check    appCheck    `cmd:"" help:"Ask an app's upstream for a newer version."`
	Review   appReview   `cmd:"" help:"Show what an upgrade would do, without doing it."`
	Upgrade  appUpgrade  `cmd:"" help:"Move an app to another version."`
	Versions appVersions `cmd:"" help:"List the versions of an app, the newest first."`
	Version  appVersion  `cmd:"" help:"Show one version of an app, with -o json its config_schema, too."`
	Diff     appDiff     `cmd:"" help:"Show what a version changes."`
	Sites    appSites    `cmd:"" help:"List the sites that an app is on."`
	Disable  appDisable  `cmd:"" help:"Stop an app on all pages of all organizations."`
	Enable   appEnable   `cmd:"" help:"Let an app that was disabled run again."`
	Withdraw appWithdraw `cmd:"" help:"Stop a version of an app on all pages."`
	Restore  appRestore  `cmd:"" help:"Let a version that was withdrawn run again."`
	Health   appHealth   `cmd:"" help:"Show what pages reported of an app."`
	Delete   appDelete   `cmd:"" help:"Delete an app."`
}

func (appShared) Help() string {
	return `Apps are named by their ids or names.

Examples:

    foyer app install https://git.example.com/team/banner.git
    foyer app push ./banner --app=Banner
    foyer app upgrade Banner --tag=v1.2.0
    foyer app list -o csv

On the database, it is foyer admin app in place of foyer app.
`
}

var apps = terminal.View[client.App]{
	Columns: "ID NAME TYPE TAG LATEST GLOBAL ORGANIZATION URL",
	More:    "ICON DESCRIPTION",
	Row: func(a client.App) []any {
		return []any{a.ID, a.Name, a.PluginType, a.Tag, a.LatestTag, a.IsGlobal, a.OrganizationName, a.URL, a.Icon, a.Description}
	},
}

type appList struct {
	Search string `placeholder:"TEXT" help:"Those with this in the name or the description."`
	Type   string `enum:",local,custom,repository,source,inline" default:"" placeholder:"TYPE" help:"Those of a type: local, custom, repository, source or inline."`
	Global *bool  `help:"Those that all organizations see, or those that only their own does."`
	Update bool   `help:"Those that are not at the newest tag known, which may be a lower one."`
	State  string `enum:",disabled,broken,edited,failing" default:"" placeholder:"STATE" help:"Those that are disabled, broken, edited or failing."`
	Site   string `placeholder:"ID" help:"Those on a site, by its id or name."`
	Order  string `name:"ordering" placeholder:"FIELD" help:"By name, created_at or updated_at, with - before it to reverse the order. Without it, by id."`
}

func (c appList) Run(ctx context.Context, o *client.Organization, out *terminal.Output) (err error) {
	f := client.AppFilter{Search: c.Search, PluginType: c.Type, IsGlobal: c.Global, State: c.State, Ordering: c.Order}
	if c.Update {
		f.Update = "available"
	}
	if c.Site != "" {
		if f.Site, err = siteID(ctx, o, c.Site); err != nil {
			return err
		}
	}
	return all(out, apps, o.AllApps(ctx, f))
}

// anApp is the argument that names an app.
type anApp struct {
	App string `arg:"" help:"Its id or name."`
}

func (a anApp) app() thing[client.App] { return thing[client.App]{"app", a.App, appID, apps} }

type appGet struct {
	anApp
	etag
}

func (c appGet) Run(ctx context.Context, o *client.Organization, out *terminal.Output, to terminal.Log) error {
	return c.app().show(ctx, o, out, c.etag, func(tagged *client.Organization, id int64) (client.App, error) {
		app, err := tagged.GetApp(ctx, id)
		if err != nil {
			return app, err
		}
		return app, tellDisabled(ctx, o, to, id)
	})
}

// tellDisabled reports that an app is disabled, which its object does not show.
func tellDisabled(ctx context.Context, o *client.Organization, to terminal.Log, id int64) error {
	found, err := o.ListApps(ctx, client.AppFilter{State: "disabled", IDs: []int64{id}}, client.Range{Limit: 1})
	if err != nil || found.Count == 0 {
		return err
	}
	source, err := o.GetSource(ctx, id)
	if err == nil && source.Disabled != nil {
		fmt.Fprintf(to, "foyer: note: it is disabled, and runs on no page: %s\n", terminal.Printable(source.Disabled.Reason))
	}
	return err
}

type appCreate struct {
	Name        string `help:"Its name: 1 to 200 characters."`
	Type        string `help:"Where it comes from: local (the default), source or inline."`
	Description string `help:"What it is for."`
	Icon        string `help:"Address of its icon."`
	Tag         string `help:"Its version."`
	Global      bool   `help:"Share it with all organizations."`

	idempotent
	dryRun
}

func (c appCreate) draft() client.AppDraft {
	return client.AppDraft{
		PluginType: c.Type, Name: c.Name, Description: c.Description, Icon: c.Icon, Tag: c.Tag, IsGlobal: c.Global,
	}
}

func (c appCreate) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return create(ctx, o, out, c.draft())
}

func create(ctx context.Context, o *client.Organization, out *terminal.Output, draft client.AppDraft) error {
	app, err := o.CreateApp(ctx, draft)
	if err != nil {
		return err
	}
	return apps.One(out, app)
}

// tellSource reports the compiler's messages about an app's files, if it has any.
func tellSource(ctx context.Context, o *client.Organization, to terminal.Log, app client.App) error {
	source, err := o.GetSource(ctx, app.ID)
	if err != nil {
		return err
	}
	if len(source.SourceFiles) > 0 {
		tellCompiled(to, "", source)
	}
	return nil
}

type adminAppCreate struct {
	appCreate
	URL string `name:"url" help:"Git repository to install it from, as an app of type custom; - reads it from standard input."`
}

func (c adminAppCreate) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) (err error) {
	draft := c.draft()
	if c.URL != "" {
		draft.PluginType = cmp.Or(c.Type, client.PluginCustom)
		if draft.PluginType != client.PluginCustom && draft.PluginType != client.PluginRepository {
			return terminal.Misused(errors.New("--url is for an app of type custom or repository"))
		}
	}
	if draft.URL, err = in.Or(c.URL); err != nil {
		return err
	}
	if c.URL != "" && strings.TrimSpace(draft.URL) == "" {
		return errors.New("the line read from standard input is empty")
	}
	return create(ctx, o, out, draft)
}

type appInstall struct {
	From   string `arg:"" help:"The address of a git repository, or the name of an app of the catalog; - reads it from standard input."`
	Tag    string `help:"The version, if not the newest."`
	Name   string `help:"Its name, if it comes from a git repository whose plugin.json says none."`
	Global bool   `help:"Share it with all organizations."`

	idempotent
	dryRun
}

func (c appInstall) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input, to terminal.Log) error {
	from, err := in.Or(c.From)
	if err != nil {
		return err
	}
	draft := client.AppDraft{PluginType: client.PluginCustom, URL: from, Name: c.Name, Tag: c.Tag, IsGlobal: c.Global}
	if !strings.Contains(from, "://") {
		if c.Name != "" {
			return terminal.Misused(errors.New("--name is for a git repository: an app of the catalog has its name there"))
		}
		draft.PluginType, draft.URL, draft.Name = client.PluginRepository, "", from
	}
	app, err := o.CreateApp(ctx, draft)
	if err != nil {
		return err
	}
	if c.DryRun {
		return apps.One(out, app)
	}
	return errors.Join(tellSource(ctx, o, to, app), apps.One(out, app))
}

type appSet struct {
	anApp
	Name        *string `help:"Its name: 1 to 200 characters."`
	Description *string `help:"What it is for."`
	Icon        *string `help:"Address of its icon."`
	Tag         *string `help:"Its version; of an installed app, the one to go to."`
	From        *string `placeholder:"URL" help:"The address of its git repository, which has moved or has new credentials; - reads it from standard input. For apps of type custom."`
	Global      *bool   `help:"Share it with all organizations."`

	ifMatch
	idempotent
	dryRun
}

func (c appSet) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	patch := client.AppPatch{Name: c.Name, Description: c.Description, Icon: c.Icon, Tag: c.Tag, IsGlobal: c.Global}
	if c.From != nil {
		from, err := in.Or(*c.From)
		if err != nil {
			return err
		}
		patch.URL = &from
	}
	if err := checkSets(patch); err != nil {
		return err
	}
	if c.Global != nil && !*c.Global {
		if err := in.Confirm("Stop app %s on the sites of other organizations?", c.App); err != nil {
			return err
		}
	}
	return c.app().with(ctx, o, out, func(id int64) (client.App, error) {
		if patch.URL != nil { // the server ignores it for other types
			if app, err := o.GetApp(ctx, id); err != nil || app.PluginType != client.PluginCustom {
				return app, cmp.Or(err, fault.New(fault.Invalid, "--from is for an app of type custom; app %s is of type %s.", c.App, app.PluginType))
			}
		}
		return o.UpdateApp(ctx, id, patch)
	})
}

type adminAppCredentials struct {
	anApp
	URL string `name:"url" required:"" placeholder:"URL" help:"The url it was installed from, with the credentials to ask with from now on; - reads it from standard input."`
}

func (c adminAppCredentials) Run(ctx context.Context, d *server.Domain, at admin.Target, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	url, err := in.Or(c.URL)
	if err != nil {
		return err
	}
	by, err := at.Caller(ctx, d)
	if err != nil {
		return err
	}
	return c.app().with(ctx, o, out, func(id int64) (client.App, error) {
		if _, err := d.Plugins.SetCredentials(ctx, by, id, url); err != nil {
			return client.App{}, err
		}
		return o.GetApp(ctx, id)
	})
}

type appCheck struct{ anApp }

func (c appCheck) Run(ctx context.Context, o *client.Organization, out *terminal.Output, to terminal.Log) error {
	return c.app().with(ctx, o, out, func(id int64) (client.App, error) {
		app, age, err := o.CheckForUpdates(ctx, id)
		if err == nil && age > 0 {
			fmt.Fprintf(to, "foyer: note: the upstream said so %s ago.\n", age.Round(time.Second))
		}
		return app, err
	})
}

// move names the version that an app should go to.
type move struct {
	anApp
	Tag           string `xor:"to" help:"The tag to go to, if not the newest."`
	Version       *int64 `name:"to" xor:"to" placeholder:"N" help:"The number of a version that the server holds."`
	AcceptChanged bool   `help:"Take the tag even if it was moved since it was installed."`
}

func (m move) upgrade() client.Upgrade {
	to := client.Upgrade{Version: m.Version, AcceptChanged: m.AcceptChanged}
	if m.Tag != "" {
		to.Tag = &m.Tag
	}
	return to
}

type appUpgrade struct {
	move
	Commit string `placeholder:"HASH" help:"The commit that a review of the upgrade has named: the app goes to no other."`

	ifMatch
	idempotent
	dryRun
}

func (c appUpgrade) Run(ctx context.Context, o *client.Organization, out *terminal.Output, to terminal.Log) error {
	return c.app().with(ctx, o, out, func(id int64) (client.App, error) {
		move := c.upgrade()
		move.Commit = c.Commit
		app, err := o.UpgradeApp(ctx, id, move)
		switch {
		case err != nil || c.DryRun:
			return app, err
		case app.URL == "" && c.Tag == "" && c.Version == nil:
			fmt.Fprintln(to, "foyer: note: nothing has changed: it was not installed from a repository, so there is no newer version to ask for")
			return app, nil
		}
		return app, tellSource(ctx, o, to, app)
	})
}

type appDisable struct {
	anApp
	Reason string `required:"" help:"Why: 1 to 500 characters."`

	ifMatch
	idempotent
	dryRun
}

func (c appDisable) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input, to terminal.Log) error {
	if err := in.Confirm("Stop app %s on all pages of all organizations?", c.App); err != nil {
		return err
	}
	return c.app().with(ctx, o, out, func(id int64) (client.App, error) {
		app, err := o.DisableApp(ctx, id, c.Reason)
		if err != nil {
			return app, err
		}
		return app, tellDisabled(ctx, o, to, id)
	})
}

type appEnable struct {
	anApp
	ifMatch
	idempotent
	dryRun
}

func (c appEnable) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return c.app().with(ctx, o, out, func(id int64) (client.App, error) { return o.EnableApp(ctx, id) })
}

type appDelete struct {
	anApp
	ifMatch
	dryRun
}

func (c appDelete) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Delete app %s, and take it off all sites?", c.App); err != nil {
		return err
	}
	return c.app().remove(ctx, o, out, o.DeleteApp)
}
