package cli

import (
	"context"
	"fmt"
	"time"

	"foyer/internal/base/patch"
	"foyer/internal/domain/site"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/server"
)

var versionHealth = view[site.VersionHealth]{
	columns: "VERSION VIEWS RAN FAILED P50_MS P95_MS",
	row: func(v site.VersionHealth) []any {
		return []any{v.Version, v.Loads, v.Running, v.Failed, v.P50, v.P95}
	},
}

var pageErrors = view[site.Error]{
	columns: "VERSION COUNT LAST LINE COLUMN ERROR",
	row: func(e site.Error) []any {
		return []any{e.Version, e.Count, e.LastAt, e.Line, e.Column, e.Name + ": " + e.Message}
	},
}

type appHealth struct {
	actor
	ID    int64         `arg:"" help:"Its id."`
	Site  int64         `placeholder:"ID" help:"The id of a site, to see what its pages reported alone."`
	Since time.Duration `default:"24h" help:"How far back, 90 days (2160h) at most."`
}

// Run shows what pages reported.
func (c appHealth) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	h, err := d.Sites.Health(ctx, by, c.ID, c.Site, d.Sites.DB.Now().Add(-c.Since))
	if err != nil {
		return named(err, "app", c.ID)
	}
	if out.json {
		_, err := out.Write(append(api.AppendHealth(nil, h), '\n'))
		return err
	}
	if err := versionHealth.table(out, h.Versions); err != nil || len(h.Errors) == 0 {
		return err
	}
	fmt.Fprintln(out)
	return pageErrors.table(out, h.Errors)
}

type sitePreview struct {
	appOnSite
	URL    string   `name:"url" placeholder:"URL" help:"A page of the site. Without, its try page."`
	Pin    *int64   `placeholder:"VERSION" help:"The version to run. Without, the one that the app is at."`
	Config []string `sep:"none" placeholder:"KEY=VALUE" help:"A value for the app; may be given several times."`
}

// Run makes a link to a preview.
func (c sitePreview) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	config, err := values(c.Config)
	if err != nil {
		return err
	}
	if c.URL == "" {
		s, err := d.Sites.Get(ctx, by, c.ID)
		if err != nil {
			return named(err, "site", c.ID)
		}
		c.URL = d.Sites.BaseURL() + "/sites/" + s.Token + "/try"
	}
	made, err := d.Sites.Preview(ctx, by, c.ID, c.App, site.PreviewDraft{URL: patch.Of(c.URL), Version: given(c.Pin), Config: config})
	if err != nil {
		return notPlaced(err, c.ID, c.App)
	}
	if out.json {
		b := wire.AppendField([]byte{'{'}, "url", made.URL)
		_, err := out.Write(append(wire.AppendTime(b, "expires_at", made.ExpiresAt), "}\n"...))
		return err
	}
	_, err = fmt.Fprintln(out, made.URL)
	return err
}
