package cli

import (
	"context"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/site"
	"foyer/internal/server"
)

type siteApps struct {
	actor
	ID int64 `arg:"" help:"The id of the site."`
}

// Run lists what is placed on a site.
func (c siteApps) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	all, err := everyPage(func(p page.Page) (page.Found[site.Placement], error) { return d.Sites.Apps(ctx, by, c.ID, p) })
	if err != nil {
		return named(err, "site", c.ID)
	}
	return placements.all(out, all)
}

// placing is what can be said of an app on a site.
type placing struct {
	Enabled  *bool     `help:"Whether pages run it: true or false."`
	Position *int64    `help:"Pages start apps in this order."`
	Pin      *int64    `xor:"version" placeholder:"VERSION" help:"The version to pin it to."`
	Follow   bool      `xor:"version" help:"Run whichever version the app is at."`
	Paths    *[]string `placeholder:"GLOB,…" help:"Where it runs, like /shop/** or !/shop/checkout."`
	Config   []string  `sep:"none" placeholder:"KEY=VALUE" help:"A value for the app; may be given several times."`
}

func (p placing) draft() (site.PlacementDraft, error) {
	config, err := values(p.Config)
	d := site.PlacementDraft{
		Enabled: given(p.Enabled), Position: given(p.Position), Version: given(p.Pin), Paths: given(p.Paths), Config: config,
	}
	if p.Follow {
		d.Version = patch.Field[int64]{Set: true, Null: true}
	}
	return d, err
}

// appOnSite names an app on a site.
type appOnSite struct {
	actor
	ID  int64 `arg:"" help:"The id of the site."`
	App int64 `arg:"" help:"The id of the app."`
}

type sitePlace struct {
	appOnSite
	placing
}

// Run puts an app on a site.
func (c sitePlace) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	draft, err := c.draft()
	if err != nil {
		return err
	}
	draft.AppID = patch.Of(c.App)
	p, err := d.Sites.Place(ctx, by, c.ID, draft)
	if err != nil {
		return named(err, "site", c.ID)
	}
	return placements.one(out, p)
}

type siteChange struct {
	appOnSite
	placing
}

// Run changes how an app is placed.
func (c siteChange) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	draft, err := c.draft()
	if err != nil {
		return err
	}
	p, err := d.Sites.Change(ctx, by, c.ID, c.App, draft)
	if err != nil {
		return notPlaced(err, c.ID, c.App)
	}
	return placements.one(out, p)
}

type siteRemove struct{ appOnSite }

// Run takes an app off a site.
func (c siteRemove) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	if err := d.Sites.Remove(ctx, by, c.ID, c.App); err != nil {
		return notPlaced(err, c.ID, c.App)
	}
	return out.say(map[string]any{"id": c.ID, "app_id": c.App}, "Took app %d off site %d.", c.App, c.ID)
}

func notPlaced(err error, id, appID int64) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "There is no site %d with app %d in this organization.", id, appID)
	}
	return err
}
