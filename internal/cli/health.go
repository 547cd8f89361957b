package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/cli/terminal"
)

var versionHealth = terminal.View[client.VersionHealth]{
	Columns: "VERSION VIEWS RAN FAILED P50_MS P95_MS",
	Row: func(v client.VersionHealth) []any {
		return []any{v.Version, v.Loads, v.Running, v.Failed, v.P50, v.P95}
	},
}

var pageErrors = terminal.View[client.PageError]{
	Columns: "VERSION COUNT LAST LINE COLUMN ERROR",
	Row: func(e client.PageError) []any {
		return []any{e.Version, e.Count, e.LastAt, e.Line, e.Column, e.Name + ": " + e.Message}
	},
}

type appHealth struct {
	anApp
	Site  string            `placeholder:"ID" help:"The id or name of a site, to see only what its pages reported."`
	Since terminal.Lifetime `default:"24h" placeholder:"D" help:"How far back, like 30d or 24h: 90d at most."`
}

func (c appHealth) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	id, err := appID(ctx, o, c.App)
	if err != nil {
		return err
	}
	var site int64
	if c.Site != "" {
		if site, err = siteID(ctx, o, c.Site); err != nil {
			return err
		}
	}
	h, err := o.GetHealth(ctx, id, site, since(c.Since))
	if err != nil {
		return orMissing(err, "app", c.App)
	}
	if out.Format == terminal.JSON {
		return out.Say(h, "")
	}
	if err := versionHealth.All(out, h.Versions); err != nil || len(h.Errors) == 0 || out.Format == terminal.CSV {
		return err
	}
	fmt.Fprintln(out)
	return pageErrors.All(out, h.Errors)
}

var appsHealth = terminal.View[client.AppHealth]{
	Columns: "ID APP VIEWS RAN FAILED ERRORS",
	Row: func(h client.AppHealth) []any {
		var all client.VersionHealth
		for _, v := range h.Versions {
			all.Loads, all.Running, all.Failed = all.Loads+v.Loads, all.Running+v.Running, all.Failed+v.Failed
		}
		return []any{h.AppID, h.Name, all.Loads, all.Running, all.Failed, len(h.Errors)}
	},
}

type siteHealth struct {
	aSite
	Since terminal.Lifetime `default:"24h" placeholder:"D" help:"How far back, like 30d or 24h: 90d at most."`
}

func (c siteHealth) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return listOf(ctx, o, out, c.site(), appsHealth, func(ctx context.Context, id int64) iter.Seq2[client.AppHealth, error] {
		return o.AllHealth(ctx, id, since(c.Since))
	})
}

func since(ago terminal.Lifetime) time.Time {
	return time.Now().Add(-time.Duration(ago)) //nolint:forbidigo // the server takes any time
}

type sitePreview struct {
	appOnSite
	Page string `placeholder:"URL" help:"A page of the site. Without, its try page, which foyer admin knows only with FOYER_BASE_URL."`
	Pin  int64  `placeholder:"VERSION" help:"The version to run. Without, the one that the app is at."`

	withValues
	ifMatch
	idempotent
}

func (c sitePreview) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	config, err := c.values()
	if err != nil {
		return err
	}
	site, app, err := c.ids(ctx, o)
	if err != nil {
		return err
	}
	s, err := o.GetSite(ctx, site)
	if err != nil {
		return orMissing(err, "site", c.Site)
	}
	if c.Page == "" {
		if s.Snippet == "" {
			return terminal.Misused(errors.New("--page must be given: the site's try page is known only with FOYER_BASE_URL"))
		}
		c.Page = tryPage(s)
	}
	made, err := o.PreviewApp(ctx, site, app, client.PreviewDraft{URL: c.Page, Version: c.Pin, Config: config})
	if err != nil {
		return orMissing(err, "app", c.App) // placed or not
	}
	return out.Say(made, "%s", made.URL)
}

// tryPage is the url of the page on the server that contains a site's element. It is beside the loader, whose url is in
// the element.
func tryPage(s client.Site) string {
	_, src, _ := strings.Cut(s.Snippet, `src="`)
	loader, _, _ := strings.Cut(src, `"`)
	return strings.TrimSuffix(loader, "loader.js") + "try"
}
