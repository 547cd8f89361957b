package server

import (
	"context"
	"embed"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/site"
	"foyer/internal/domain/source"
)

// demoFiles is the source of the app that the first start makes.
//
//go:embed demo
var demoFiles embed.FS

// makeDemo makes a site with an app, and returns the address of the site's try page.
func makeDemo(ctx context.Context, d *Domain, o org.Organization, owner org.Membership) (string, error) {
	c := access.Caller{UserID: owner.User.ID, Scope: access.All, Level: access.Owner, Organization: o.Organization}
	var edits []source.Edit
	for _, name := range []string{"site.ts", "plugin.json"} {
		text, err := demoFiles.ReadFile("demo/" + name)
		if err != nil {
			return "", err
		}
		edits = append(edits, source.Edit{Field: "source", Name: name, Text: patch.Of(string(text))})
	}
	app, err := d.Plugins.Create(ctx, c, plugin.Draft{Name: patch.Of("Greeting"), Type: patch.Of(string(plugin.Source)), Source: edits})
	if err != nil {
		return "", err
	}
	s, err := d.Sites.Create(ctx, c, site.Draft{Name: patch.Of("Demo"), Demo: true})
	if err != nil {
		return "", err
	}
	if _, err := d.Sites.Place(ctx, c, s.ID, site.PlacementDraft{AppID: patch.Of(app.ID)}); err != nil {
		return "", err
	}
	return d.Sites.BaseURL() + "/sites/" + s.Token + "/try", nil
}
