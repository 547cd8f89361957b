package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/cli/terminal"
)

type siteCommands struct {
	List    siteList    `cmd:"" help:"List the sites of an organization."`
	Get     siteGet     `cmd:"" help:"Show one site."`
	Create  siteCreate  `cmd:"" help:"Make a site."`
	Set     siteSet     `cmd:"" help:"Change a site, or stop all its apps."`
	Delete  siteDelete  `cmd:"" help:"Delete a site and what is placed on it."`
	Apps    siteApps    `cmd:"" help:"List the apps on a site, in the order in which pages run them."`
	Place   sitePlace   `cmd:"" help:"Put an app on a site."`
	Change  siteChange  `cmd:"" help:"Change how an app is placed."`
	Remove  siteRemove  `cmd:"" help:"Take an app off a site."`
	Health  siteHealth  `cmd:"" help:"Show how the apps on a site fare in its pages: \"foyer app health\" tells more of one."`
	Preview sitePreview `cmd:"" help:"Make a link to a page that runs an app, placed or not, in one browser tab, for an hour."`
	History siteHistory `cmd:"" help:"List what the manifest of a site said, the newest first."`
	Restore siteRestore `cmd:"" help:"Place all apps as when a revision began."`
}

func (siteCommands) Help() string {
	return `Examples:

    foyer site create --name="Shop" --origins=https://shop.example.com
    foyer site place 1 42 --config=color=red --config='sizes=["S","M"]' --paths='/shop/**'
    foyer site change 1 42 --pin=3
    foyer site preview 1 42 --pin=4 --config=color=blue
    foyer site set 1 --enabled=false --reason='It hides the cart.'
    foyer site restore 1 7

A value is JSON, or else a text. The value null is that of the schema.
On the database, it is foyer admin site in place of foyer site, and the element starts with FOYER_BASE_URL: without it, none is shown.
`
}

var sites = terminal.View[client.Site]{
	Columns: "ID NAME ENABLED APPS REVISION ORIGINS ELEMENT",
	More:    "CREATED UPDATED",
	Row: func(s client.Site) []any {
		return []any{s.ID, s.Name, s.Enabled, s.AppsCount, s.Revision, strings.Join(s.Origins, " "), s.Snippet, s.CreatedAt, s.UpdatedAt}
	},
}

var revisions = terminal.View[client.Revision]{
	Columns: "REVISION FROM UNTIL USER REQUEST",
	Row: func(r client.Revision) []any {
		user := ""
		if r.User != nil {
			user = r.User.Email
		}
		return []any{r.Revision, r.From, r.Until, user, r.RequestID}
	},
}

type siteList struct {
	Search string `placeholder:"TEXT" help:"Those with this in the name."`
	Order  string `name:"ordering" placeholder:"FIELD" help:"By name, created_at or updated_at, with - before it to reverse the order."`
}

func (c siteList) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return all(out, sites, o.AllSites(ctx, client.SiteFilter{Search: c.Search, Ordering: c.Order}))
}

// aSite is the argument that names a site.
type aSite struct {
	Site string `arg:"" help:"Its id or name."`
}

func (a aSite) site() thing[client.Site] { return thing[client.Site]{"site", a.Site, siteID, sites} }

type siteGet struct {
	aSite
	etag
}

func (c siteGet) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return c.site().show(ctx, o, out, c.etag, func(o *client.Organization, id int64) (client.Site, error) { return o.GetSite(ctx, id) })
}

type siteCreate struct {
	Name    string   `required:"" help:"Its name: 1 to 200 characters."`
	Origins []string `placeholder:"ORIGIN" help:"Whose reports and previews count, like https://shop.example.com. Without, any."`

	idempotent
	dryRun
}

func (c siteCreate) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	s, err := o.CreateSite(ctx, client.SitePatch{Name: &c.Name, Origins: c.Origins})
	if err != nil {
		return err
	}
	return sites.One(out, s)
}

type siteSet struct {
	aSite
	Name    *string   `help:"Its name."`
	Enabled *bool     `help:"Whether its pages run apps: true or false."`
	Reason  string    `help:"Why it is switched off, for the activity: 1 to 500 characters."`
	Origins *[]string `placeholder:"ORIGIN,…" help:"Whose reports and previews count."`

	ifMatch
	idempotent
	dryRun
}

func (c siteSet) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	patch := client.SitePatch{Name: c.Name, Enabled: c.Enabled, Origins: given(c.Origins), Reason: c.Reason}
	if err := checkSets(patch); err != nil {
		return err
	}
	if c.Enabled != nil && !*c.Enabled {
		if err := in.Confirm("Stop all apps on site %s?", c.Site); err != nil {
			return err
		}
	}
	return c.site().with(ctx, o, out, func(id int64) (client.Site, error) { return o.UpdateSite(ctx, id, patch) })
}

type siteDelete struct {
	aSite
	ifMatch
	dryRun
}

func (c siteDelete) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Delete site %s and what is placed on it?", c.Site); err != nil {
		return err
	}
	return c.site().remove(ctx, o, out, o.DeleteSite)
}

type siteHistory struct{ aSite }

func (c siteHistory) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return listOf(ctx, o, out, c.site(), revisions, o.AllHistory)
}

type siteRestore struct {
	aSite
	Revision int64 `arg:"" help:"The number of a revision, as the history has it."`

	ifMatch
	idempotent
	dryRun
}

func (c siteRestore) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Place all apps on site %s as in revision %d?", c.Site, c.Revision); err != nil {
		return err
	}
	return c.site().with(ctx, o, out, func(id int64) (client.Site, error) {
		s, err := o.RestoreSite(ctx, id, c.Revision)
		return s, orMissing(err, "site", fmt.Sprintf("%s with a revision %d", c.Site, c.Revision))
	})
}

// withValues has the flag of commands that give values to an app.
type withValues struct {
	Config []string `sep:"none" placeholder:"KEY=VALUE" help:"A value for the app: JSON, or a text that is none; size=10 is a number, 'size=\"10\"' a text, size=null the default. Can be repeated."`
}

// values parses the pairs.
func (w withValues) values() (map[string]json.RawMessage, error) {
	var given map[string]json.RawMessage
	for _, pair := range w.Config {
		key, text, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, terminal.Misused(fault.Field(fault.Invalid, "config", "%q has no =: give KEY=VALUE.", pair))
		}
		value := json.RawMessage(strings.TrimSpace(text))
		if !json.Valid(value) {
			value, _ = json.Marshal(text) // never fails on a text
		}
		if given == nil {
			given = map[string]json.RawMessage{}
		}
		given[key] = value
	}
	return given, nil
}
