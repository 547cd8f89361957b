package api_test

import (
	"context"
	"encoding/json"
	"time"

	"foyer/client"
)

// siteCalls are clientCalls about sites, and about disabled apps and withdrawn versions.
var siteCalls = map[string]func(context.Context, *client.Organization) (any, error){
	"listSites": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListSites(ctx, client.SiteFilter{}, client.Range{Limit: 1})
	},
	"createSite": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.CreateSite(ctx, client.SitePatch{Name: new("shop"), Origins: []string{}})
	},
	"getSite": func(ctx context.Context, o *client.Organization) (any, error) { return o.GetSite(ctx, 3) },
	"updateSite": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.UpdateSite(ctx, 3, client.SitePatch{Enabled: new(false), Reason: "broken"})
	},
	"deleteSite": func(ctx context.Context, o *client.Organization) (any, error) { return nil, o.DeleteSite(ctx, 3) },
	"listHistory": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListHistory(ctx, 3, client.Range{})
	},
	"restoreSite": func(ctx context.Context, o *client.Organization) (any, error) { return o.RestoreSite(ctx, 3, 7) },
	"listPlacements": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListPlacements(ctx, 3, client.Range{})
	},
	"placeApp": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.PlaceApp(ctx, 3, client.PlacementDraft{AppID: 42, PlacementPatch: client.PlacementPatch{Paths: []string{"/shop/**"}}})
	},
	"getPlacement": func(ctx context.Context, o *client.Organization) (any, error) { return o.GetPlacement(ctx, 3, 42) },
	"updatePlacement": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.UpdatePlacement(ctx, 3, 42, client.PlacementPatch{
			Version: client.Null(), Config: map[string]json.RawMessage{"color": json.RawMessage(`"red"`), "size": client.Null()},
			Enabled: new(false), Reason: "broken",
		})
	},
	"deletePlacement": func(ctx context.Context, o *client.Organization) (any, error) {
		return nil, o.DeletePlacement(ctx, 3, 42)
	},
	"previewApp": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.PreviewApp(ctx, 3, 42, client.PreviewDraft{URL: "https://shop.example.com/", Version: 3})
	},
	"listSitesOfApp": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListSitesOfApp(ctx, 42, client.Range{})
	},
	"getHealth": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.GetHealth(ctx, 42, 3, time.Unix(1e9, 0))
	},
	"listHealth": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.ListHealth(ctx, 3, time.Unix(1e9, 0), client.Range{})
	},
	"disableApp": func(ctx context.Context, o *client.Organization) (any, error) { return o.DisableApp(ctx, 42, "broken") },
	"enableApp":  func(ctx context.Context, o *client.Organization) (any, error) { return o.EnableApp(ctx, 42) },
	"withdrawVersion": func(ctx context.Context, o *client.Organization) (any, error) {
		return o.WithdrawVersion(ctx, 42, 1, client.Withdrawal{Reason: "broken", Version: 2})
	},
	"restoreVersion": func(ctx context.Context, o *client.Organization) (any, error) { return o.RestoreVersion(ctx, 42, 1) },
}
