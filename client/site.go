package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Site is a website, or one environment of it, that apps run on.
type Site struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	Token     string    `json:"token"` // in the urls that its pages load
	Enabled   bool      `json:"enabled"`
	Origins   []string  `json:"origins"` // that may report and preview; none: any
	Revision  int64     `json:"revision"`
	AppsCount int       `json:"apps_count"`
	Snippet   string    `json:"snippet"` // the element for its pages; "" if the base url is not known
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// SitePatch is a change of a site, or a new one. A nil field stays as it is.
type SitePatch struct {
	Name    *string  `json:"name,omitempty"`
	Enabled *bool    `json:"enabled,omitempty"`
	Origins []string `json:"origins,omitzero"`
	Reason  string   `json:"reason,omitempty"` // why it is disabled; only in an update, with Enabled false
}

// Placement is an app on a site, with its values. Config and Values are JSON objects.
type Placement struct {
	AppID     int64           `json:"app_id"`
	Name      string          `json:"name"` // of the app
	Enabled   bool            `json:"enabled"`
	Position  int64           `json:"position"`
	Version   *int64          `json:"version"` // that it is pinned to; nil: it follows the app
	Running   *int64          `json:"running"` // nil: none
	Held      *string         `json:"held"`    // why Running is not the wanted version; nil: it is
	Paths     []string        `json:"paths"`   // none: everywhere
	Config    json.RawMessage `json:"config"`
	Values    json.RawMessage `json:"values"` // what pages get
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
}

// SitePlacement is a placement with its site.
type SitePlacement struct {
	Site SiteName `json:"site"`
	Placement
}

// SiteName is a site by its id, name and token.
type SiteName struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Token string `json:"token"`
}

// PlacementPatch is a change of a placement. A nil field stays as it is.
type PlacementPatch struct {
	Enabled  *bool  `json:"enabled,omitempty"`
	Position *int64 `json:"position,omitempty"`
	// Version is the number of the version to pin it to, or [Null] to follow the app.
	Version json.RawMessage `json:"version,omitempty"`
	Paths   []string        `json:"paths,omitzero"`
	// Config has values by key; [Null] resets one to its default.
	Config map[string]json.RawMessage `json:"config,omitempty"`
	// Reason says why it is disabled; only in an update, with Enabled false.
	Reason string `json:"reason,omitempty"`
}

// PlacementDraft is an app to place.
type PlacementDraft struct {
	AppID int64 `json:"app_id"`
	PlacementPatch
}

// Revision is a former or current state of a site's manifest.
type Revision struct {
	Revision  int64         `json:"revision"`
	Apps      []ManifestApp `json:"apps"`
	From      time.Time     `json:"from"`
	Until     *time.Time    `json:"until"` // nil: it is the current one
	User      *ActivityUser `json:"user"`  // nil: unknown
	RequestID string        `json:"request_id"`
}

// ManifestApp is an app in the manifest of a site.
type ManifestApp struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name"`
	Version   int64           `json:"version"`
	URL       string          `json:"url"`
	Integrity string          `json:"integrity"`
	Config    json.RawMessage `json:"config"`
	Paths     []string        `json:"paths"`
}

// PreviewDraft says what to preview, and on which page.
type PreviewDraft struct {
	URL     string                     `json:"url"`
	Version int64                      `json:"version,omitempty"` // 0: the app's current one
	Config  map[string]json.RawMessage `json:"config,omitempty"`
}

// Preview is a link to a page that runs the previewed version. Anyone who has it can open it.
type Preview struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Health counts how an app's versions load and fail on the organization's sites.
type Health struct {
	Versions []VersionHealth `json:"versions"`
	Errors   []PageError     `json:"errors"`
}

// AppHealth is the health of an app on a site.
type AppHealth struct {
	AppID int64  `json:"app_id"`
	Name  string `json:"name"` // of the app
	Health
}

// VersionHealth is the health of one version.
type VersionHealth struct {
	Version int64 `json:"version"`
	Loads   int64 `json:"loads"`
	Running int64 `json:"running"`
	Failed  int64 `json:"failed"`
	P50     int64 `json:"p50_ms"`
	P95     int64 `json:"p95_ms"`
}

// PageError is an error that pages reported.
type PageError struct {
	Version int64     `json:"version"`
	Name    string    `json:"name"`
	Message string    `json:"message"`
	Line    int64     `json:"line"`
	Column  int64     `json:"column"`
	Count   int64     `json:"count"`
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
}

const sites = "/sites"

func sitePath(id int64) string { return sites + "/" + strconv.FormatInt(id, 10) }

func placementPath(id, appID int64) string {
	return sitePath(id) + "/apps/" + strconv.FormatInt(appID, 10)
}

// SiteFilter narrows a list of sites down. A zero field does not filter.
type SiteFilter struct {
	Search   string // part of the name
	Ordering string // as in AppFilter
}

func (f SiteFilter) query() url.Values {
	query := url.Values{}
	set(query, "search", f.Search)
	set(query, "ordering", f.Ordering)
	return query
}

// ListSites reads one page of the sites that match a filter.
func (o *Organization) ListSites(ctx context.Context, f SiteFilter, r Range) (Page[Site], error) {
	return list[Page[Site]](ctx, o.at, sites, f.query(), r)
}

// AllSites reads the sites that match a filter.
func (o *Organization) AllSites(ctx context.Context, f SiteFilter) iter.Seq2[Site, error] {
	return all[Site](ctx, o.at, sites, f.query())
}

// CreateSite makes a site. The draft needs a name.
func (o *Organization) CreateSite(ctx context.Context, draft SitePatch) (Site, error) {
	return ask[Site](ctx, o.at, http.MethodPost, sites, nil, draft)
}

// GetSite reads one site.
func (o *Organization) GetSite(ctx context.Context, id int64) (Site, error) {
	return ask[Site](ctx, o.at, http.MethodGet, sitePath(id), nil, nil)
}

// UpdateSite changes a site and returns the changed site.
func (o *Organization) UpdateSite(ctx context.Context, id int64, patch SitePatch) (Site, error) {
	return ask[Site](ctx, o.at, http.MethodPatch, sitePath(id), nil, patch)
}

// DeleteSite removes a site and its placements.
func (o *Organization) DeleteSite(ctx context.Context, id int64) error {
	return o.at.call(ctx, http.MethodDelete, sitePath(id), nil, nil, nil)
}

// ListHistory reads one page of a site's revisions, newest first.
func (o *Organization) ListHistory(ctx context.Context, id int64, r Range) (Page[Revision], error) {
	return list[Page[Revision]](ctx, o.at, sitePath(id)+"/history", nil, r)
}

// AllHistory reads a site's revisions, newest first.
func (o *Organization) AllHistory(ctx context.Context, id int64) iter.Seq2[Revision, error] {
	return all[Revision](ctx, o.at, sitePath(id)+"/history", nil)
}

// RestoreSite restores all placements to their state at the start of a revision.
func (o *Organization) RestoreSite(ctx context.Context, id, revision int64) (Site, error) {
	return ask[Site](ctx, o.at, http.MethodPost, sitePath(id)+"/restore", nil, map[string]int64{"revision": revision})
}

// ListPlacements reads one page of the apps on a site, in their order.
func (o *Organization) ListPlacements(ctx context.Context, id int64, r Range) (Page[Placement], error) {
	return list[Page[Placement]](ctx, o.at, sitePath(id)+"/apps", nil, r)
}

// AllPlacements reads the apps on a site, in their order.
func (o *Organization) AllPlacements(ctx context.Context, id int64) iter.Seq2[Placement, error] {
	return all[Placement](ctx, o.at, sitePath(id)+"/apps", nil)
}

// PlaceApp puts an app on a site.
func (o *Organization) PlaceApp(ctx context.Context, id int64, draft PlacementDraft) (Placement, error) {
	return ask[Placement](ctx, o.at, http.MethodPost, sitePath(id)+"/apps", nil, draft)
}

// GetPlacement reads the placement of an app on a site.
func (o *Organization) GetPlacement(ctx context.Context, id, appID int64) (Placement, error) {
	return ask[Placement](ctx, o.at, http.MethodGet, placementPath(id, appID), nil, nil)
}

// UpdatePlacement changes a placement and returns the changed one.
func (o *Organization) UpdatePlacement(ctx context.Context, id, appID int64, patch PlacementPatch) (Placement, error) {
	return ask[Placement](ctx, o.at, http.MethodPatch, placementPath(id, appID), nil, patch)
}

// DeletePlacement takes an app off a site.
func (o *Organization) DeletePlacement(ctx context.Context, id, appID int64) error {
	return o.at.call(ctx, http.MethodDelete, placementPath(id, appID), nil, nil, nil)
}

// PreviewApp makes a link to a page that runs a version of an app. Anyone who has the link can open it.
func (o *Organization) PreviewApp(ctx context.Context, id, appID int64, draft PreviewDraft) (Preview, error) {
	return ask[Preview](ctx, o.at, http.MethodPost, placementPath(id, appID)+"/preview", nil, draft)
}

// ListSitesOfApp reads one page of an app's placements on the organization's sites.
func (o *Organization) ListSitesOfApp(ctx context.Context, appID int64, r Range) (Page[SitePlacement], error) {
	return list[Page[SitePlacement]](ctx, o.at, appPath(appID)+"/sites", nil, r)
}

// AllSitesOfApp reads an app's placements on the organization's sites.
func (o *Organization) AllSitesOfApp(ctx context.Context, appID int64) iter.Seq2[SitePlacement, error] {
	return all[SitePlacement](ctx, o.at, appPath(appID)+"/sites", nil)
}

// GetHealth reads the health of an app since a time, on all of the organization's sites or, if siteID is not 0, on that
// one. The zero time is a day ago.
func (o *Organization) GetHealth(ctx context.Context, appID, siteID int64, since time.Time) (Health, error) {
	query := from(since)
	setInt(query, "site", siteID)
	return ask[Health](ctx, o.at, http.MethodGet, appPath(appID)+"/health", query, nil)
}

// ListHealth reads one page of the health of the apps on a site since a time. The zero time is a day ago.
func (o *Organization) ListHealth(ctx context.Context, id int64, since time.Time, r Range) (Page[AppHealth], error) {
	return list[Page[AppHealth]](ctx, o.at, sitePath(id)+"/health", from(since), r)
}

// AllHealth reads the health of all apps on a site since a time, in their order.
func (o *Organization) AllHealth(ctx context.Context, id int64, since time.Time) iter.Seq2[AppHealth, error] {
	return all[AppHealth](ctx, o.at, sitePath(id)+"/health", from(since))
}

// from returns the query with the parameter since; the zero time adds none.
func from(since time.Time) url.Values {
	query := url.Values{}
	setTime(query, "since", since)
	return query
}
