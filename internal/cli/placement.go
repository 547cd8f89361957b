package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"foyer/client"
	"foyer/internal/cli/terminal"
)

var placements = terminal.View[client.Placement]{
	Columns: "APP NAME ENABLED POSITION PINNED RUNNING PATHS HELD",
	More:    "CREATED UPDATED CONFIG",
	Row: func(p client.Placement) []any {
		return []any{
			p.AppID, p.Name, p.Enabled, p.Position, p.Version, p.Running, strings.Join(p.Paths, " "), p.Held, p.CreatedAt, p.UpdatedAt,
			string(p.Config),
		}
	},
}

type siteApps struct{ aSite }

func (c siteApps) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return listOf(ctx, o, out, c.site(), placements, o.AllPlacements)
}

// placing has the settings of an app on a site.
type placing struct {
	Enabled  *bool     `help:"Whether pages run it: true or false."`
	Position *int64    `help:"Pages start apps in this order."`
	Pin      *int64    `xor:"version" placeholder:"VERSION" help:"The version to pin it to."`
	Follow   bool      `xor:"version" help:"Run whichever version the app is at."`
	Paths    *[]string `placeholder:"GLOB,…" help:"Where it runs, like /shop/** or !/shop/checkout."`

	withValues
}

func (p placing) patch() (client.PlacementPatch, error) {
	config, err := p.values()
	patch := client.PlacementPatch{Enabled: p.Enabled, Position: p.Position, Paths: given(p.Paths), Config: config}
	if p.Follow {
		patch.Version = client.Null()
	}
	if p.Pin != nil {
		patch.Version = json.RawMessage(strconv.FormatInt(*p.Pin, 10))
	}
	return patch, err
}

// appOnSite names an app on a site.
type appOnSite struct {
	Site string `arg:"" help:"The id or name of the site."`
	App  string `arg:"" help:"The id or name of the app."`
}

func (a appOnSite) ids(ctx context.Context, o *client.Organization) (site, app int64, err error) {
	if site, err = siteID(ctx, o, a.Site); err == nil {
		app, err = appID(ctx, o, a.App)
	}
	return site, app, err
}

type sitePlace struct {
	appOnSite
	placing
	ifMatch
	idempotent
	dryRun
}

// Validate refuses an empty list of paths: the app would run on all pages.
func (c sitePlace) Validate() error {
	if c.Paths != nil && len(*c.Paths) == 0 {
		return notEmpty("paths")
	}
	return nil
}

func (c sitePlace) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	patch, err := c.patch()
	if err != nil {
		return err
	}
	site, app, err := c.ids(ctx, o)
	if err != nil {
		return err
	}
	p, err := o.PlaceApp(ctx, site, client.PlacementDraft{AppID: app, PlacementPatch: patch})
	if err != nil {
		return orMissing(err, "site", c.Site)
	}
	return placements.One(out, p)
}

type siteChange struct {
	appOnSite
	placing
	Reason string `help:"Why it is switched off, for the activity: 1 to 500 characters."`

	ifMatch
	idempotent
	dryRun
}

func (c siteChange) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	patch, err := c.patch()
	if err != nil {
		return err
	}
	patch.Reason = c.Reason
	if err := checkSets(patch); err != nil {
		return err
	}
	if c.Enabled != nil && !*c.Enabled {
		if err := in.Confirm("Stop app %s on site %s?", c.App, c.Site); err != nil {
			return err
		}
	}
	site, app, err := c.ids(ctx, o)
	if err != nil {
		return err
	}
	p, err := o.UpdatePlacement(ctx, site, app, patch)
	if err != nil {
		return c.notPlaced(err)
	}
	return placements.One(out, p)
}

type siteRemove struct {
	appOnSite
	ifMatch
	dryRun
}

func (c siteRemove) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Take app %s off site %s?", c.App, c.Site); err != nil {
		return err
	}
	site, app, err := c.ids(ctx, o)
	if err != nil {
		return err
	}
	if err := o.DeletePlacement(ctx, site, app); err != nil {
		return c.notPlaced(err)
	}
	return out.Say(map[string]any{"id": site, "app_id": app}, "Took app %d off site %d.", app, site)
}

func (a appOnSite) notPlaced(err error) error {
	return orMissing(err, "site", fmt.Sprintf("%s with app %s", a.Site, a.App))
}
