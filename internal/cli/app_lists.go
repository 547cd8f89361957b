package cli

import (
	"context"

	"foyer/client"
	"foyer/internal/cli/terminal"
)

var catalogued = terminal.View[client.CatalogApp]{
	Columns: "NAME VERIFIED INSTALLED URL DESCRIPTION",
	Row: func(a client.CatalogApp) []any {
		return []any{a.Name, a.Verified, a.Installed, a.URL, a.Description}
	},
}

type appCatalog struct{}

func (appCatalog) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return all(out, catalogued, o.AllRepository(ctx))
}

var unused = terminal.View[client.UnusedApp]{
	Columns: "ID NAME TYPE TAG LAST-USED",
	Row: func(a client.UnusedApp) []any {
		return []any{a.ID, a.Name, a.PluginType, a.Tag, a.LastUsedAt}
	},
}

type appUnused struct{}

func (appUnused) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return all(out, unused, o.AllUnusedApps(ctx))
}
