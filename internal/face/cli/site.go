package cli

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/site"
	"foyer/internal/face/api"
	"foyer/internal/server"
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
	Preview sitePreview `cmd:"" help:"Make a link to a page that runs an app, placed or not, in one browser tab, for an hour."`
	History siteHistory `cmd:"" help:"List what the manifest of a site said, the newest first."`
	Restore siteRestore `cmd:"" help:"Place all apps as when a revision began."`
}

// Help gives examples.
func (siteCommands) Help() string {
	return `Examples:

    foyer site create --name="Shop" --origins=https://shop.example.com
    foyer site place 1 42 --config=color=red --config='sizes=["S","M"]' --paths=/shop/**
    foyer site change 1 42 --pin=3
    foyer site preview 1 42 --pin=4 --config=color=blue
    foyer site set 1 --enabled=false
    foyer site restore 1 7

A value is JSON, or else a text. The value null is that of the schema.
`
}

// sites shows sites with the element for their pages.
func sites(d *server.Domain) view[site.Site] {
	return view[site.Site]{
		columns: "ID NAME ENABLED APPS REVISION ORIGINS ELEMENT",
		row: func(s site.Site) []any {
			return []any{s.ID, s.Name, s.Enabled, s.AppsCount, s.Revision, strings.Join(s.Origins, " "), d.Sites.Snippet(s)}
		},
		object: api.AppendSite(d.Sites),
	}
}

var placements = view[site.Placement]{
	columns: "APP NAME ENABLED POSITION PINNED RUNNING PATHS HELD",
	row: func(p site.Placement) []any {
		return []any{p.AppID, p.Name, p.Enabled, p.Position, number(p.Version), number(p.Running), strings.Join(p.Paths, " "), p.Held}
	},
	object: api.AppendPlacement,
}

var revisions = view[site.Revision]{
	columns: "REVISION FROM UNTIL USER REQUEST",
	row: func(r site.Revision) []any {
		return []any{r.Number, r.From, r.Until, r.User.Email, r.RequestID}
	},
	object: api.AppendRevision,
}

// number is that of a version; 0 is none.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

type siteList struct {
	actor
	Search string `placeholder:"TEXT" help:"Those with this in the name."`
	Order  string `name:"ordering" placeholder:"FIELD" help:"By name, created_at or updated_at, with - before it for the other way round."`
}

// Run lists sites.
func (c siteList) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	f := site.Filter{Search: c.Search}
	if c.Order != "" {
		if f.Order, err = page.ParseOrder(c.Order); err != nil {
			return err
		}
	}
	all, err := everyPage(func(p page.Page) (page.Found[site.Site], error) { return d.Sites.Find(ctx, by, f, p) })
	if err != nil {
		return err
	}
	return sites(d).all(out, all)
}

type siteGet struct {
	actor
	ID int64 `arg:"" help:"Its id."`
}

// Run shows one site.
func (c siteGet) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	s, err := d.Sites.Get(ctx, by, c.ID)
	if err != nil {
		return named(err, "site", c.ID)
	}
	return sites(d).one(out, s)
}

type siteCreate struct {
	actor
	Name    string   `required:"" help:"Its name: 1 to 200 characters."`
	Origins []string `placeholder:"ORIGIN,…" help:"Whose reports and previews count, like https://shop.example.com. Without, any."`
}

// Run makes a site.
func (c siteCreate) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	s, err := d.Sites.Create(ctx, by, site.Draft{Name: patch.Of(c.Name), Origins: patch.Of(c.Origins)})
	if err != nil {
		return err
	}
	return sites(d).one(out, s)
}

type siteSet struct {
	actor
	ID      int64     `arg:"" help:"Its id."`
	Name    *string   `help:"Its name."`
	Enabled *bool     `help:"Whether its pages run apps: true or false."`
	Origins *[]string `placeholder:"ORIGIN,…" help:"Whose reports and previews count."`
}

// Run changes a site.
func (c siteSet) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	s, err := d.Sites.Update(ctx, by, c.ID, site.Draft{Name: given(c.Name), Enabled: given(c.Enabled), Origins: given(c.Origins)})
	if err != nil {
		return named(err, "site", c.ID)
	}
	return sites(d).one(out, s)
}

type siteDelete struct {
	actor
	ID int64 `arg:"" help:"Its id."`
}

// Run deletes a site.
func (c siteDelete) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	if err := d.Sites.Delete(ctx, by, c.ID); err != nil {
		return named(err, "site", c.ID)
	}
	return out.say(map[string]any{"id": c.ID}, "Deleted site %d.", c.ID)
}

type siteHistory struct {
	actor
	ID int64 `arg:"" help:"Its id."`
}

// Run lists revisions.
func (c siteHistory) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	all, err := everyPage(func(p page.Page) (page.Found[site.Revision], error) { return d.Sites.History(ctx, by, c.ID, p) })
	if err != nil {
		return named(err, "site", c.ID)
	}
	return revisions.all(out, all)
}

type siteRestore struct {
	actor
	ID       int64 `arg:"" help:"Its id."`
	Revision int64 `arg:"" help:"The number of a revision, as the history has it."`
}

// Run places all apps as they were.
func (c siteRestore) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	s, err := d.Sites.Restore(ctx, by, c.ID, c.Revision)
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "There is no site %d with a revision %d in this organization.", c.ID, c.Revision)
	}
	if err != nil {
		return err
	}
	return sites(d).one(out, s)
}

// values reads KEY=VALUE.
func values(pairs []string) (given patch.Field[[]site.Value], err error) {
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok {
			return given, fault.Field(fault.Invalid, "config", "%q has no =: give KEY=VALUE.", pair)
		}
		v := site.Value{Key: key}
		switch {
		case text == "null":
			v.JSON = patch.Field[string]{Set: true, Null: true}
		case json.Valid([]byte(text)):
			v.JSON = patch.Of(strings.TrimSpace(text))
		default:
			quoted, err := json.Marshal(text)
			if err != nil {
				return given, err
			}
			v.JSON = patch.Of(string(quoted))
		}
		given.Set, given.Value = true, append(given.Value, v)
	}
	return given, nil
}
