package client

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// ExportApp is an app that would stop with a paid export plan.
type ExportApp struct {
	App
	// Config is a JSON object: the default of each field of the app's
	// ConfigSchema. Secret ones are masked.
	Config json.RawMessage `json:"config"`
}

// CatalogApp is an entry of the catalog: an app that can be installed.
type CatalogApp struct {
	App
	Installed bool `json:"installed"` // by the organization
	Verified  bool `json:"verified"`  // by its keeper
}

// UnusedApp is an app without an enabled placement whose bundle nobody loaded in the last 30 days.
type UnusedApp struct {
	App
	LastUsedAt *time.Time `json:"last_used_at"` // nil: never
}

const (
	exports = apps + "/exports_unsubscribe_configs"
	catalog = apps + "/repository"
	unused  = apps + "/unused"
)

// ListExportsUnsubscribeConfigs reads one page of the apps that would stop with a paid export plan. foyer has no such
// plan: this is for clients of services that do.
func (o *Organization) ListExportsUnsubscribeConfigs(ctx context.Context, r Range) (AppPage[ExportApp], error) {
	return list[AppPage[ExportApp]](ctx, o.at, exports, nil, r)
}

// AllExportsUnsubscribeConfigs reads the apps that would stop with a paid
// export plan, by id.
func (o *Organization) AllExportsUnsubscribeConfigs(ctx context.Context) iter.Seq2[ExportApp, error] {
	return all[ExportApp](ctx, o.at, exports, nil)
}

// ListRepository reads one page of the catalog.
func (o *Organization) ListRepository(ctx context.Context, r Range) (AppPage[CatalogApp], error) {
	return list[AppPage[CatalogApp]](ctx, o.at, catalog, nil, r)
}

// AllRepository reads the catalog, in its order.
func (o *Organization) AllRepository(ctx context.Context) iter.Seq2[CatalogApp, error] {
	return all[CatalogApp](ctx, o.at, catalog, nil)
}

// ListUnusedApps reads one page of the organization's unused apps.
func (o *Organization) ListUnusedApps(ctx context.Context, r Range) (AppPage[UnusedApp], error) {
	return list[AppPage[UnusedApp]](ctx, o.at, unused, nil, r)
}

// AllUnusedApps reads the organization's unused apps, by id.
func (o *Organization) AllUnusedApps(ctx context.Context) iter.Seq2[UnusedApp, error] {
	return all[UnusedApp](ctx, o.at, unused, nil)
}
