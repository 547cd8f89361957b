package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The types of apps.
const (
	PluginLocal      = "local"      // registered by hand
	PluginCustom     = "custom"     // installed from a git repository
	PluginRepository = "repository" // installed from the catalog
	PluginSource     = "source"     // its files are kept in foyer
	PluginInline     = "inline"     // shipped with the operator's own build
)

// App is a frontend app. ConfigSchema, Capabilities, Metrics and PublicJobs are JSON as stored, possibly null.
type App struct {
	ID               int64           `json:"id"`
	PluginType       string          `json:"plugin_type"`
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	URL              string          `json:"url"`
	Icon             string          `json:"icon"`
	ConfigSchema     json.RawMessage `json:"config_schema"`
	Tag              string          `json:"tag"`
	LatestTag        string          `json:"latest_tag"`
	IsGlobal         bool            `json:"is_global"`
	OrganizationID   string          `json:"organization_id"`
	OrganizationName string          `json:"organization_name"`
	Capabilities     json.RawMessage `json:"capabilities"`
	Metrics          json.RawMessage `json:"metrics"`
	PublicJobs       json.RawMessage `json:"public_jobs"`
}

// AppDraft is an app to create. The server chooses the value of a zero field.
type AppDraft struct {
	PluginType   string          `json:"plugin_type,omitempty"`
	Name         string          `json:"name,omitempty"`
	Description  string          `json:"description,omitempty"`
	URL          string          `json:"url,omitempty"`
	Icon         string          `json:"icon,omitempty"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	Tag          string          `json:"tag,omitempty"`
	IsGlobal     bool            `json:"is_global,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Metrics      json.RawMessage `json:"metrics,omitempty"`
	PublicJobs   json.RawMessage `json:"public_jobs,omitempty"`
	// Source holds the initial files by name. Apps that are installed take none.
	Source Files `json:"source,omitempty"`
	// Message says what the first version is for.
	Message string `json:"message,omitempty"`
}

// AppPatch is a change of an app. A nil field stays as it is; the JSON null, [Null], clears a JSON field.
type AppPatch struct {
	PluginType   *string         `json:"plugin_type,omitempty"`
	URL          *string         `json:"url,omitempty"` // the new address of a custom app's repository
	Name         *string         `json:"name,omitempty"`
	Description  *string         `json:"description,omitempty"`
	Icon         *string         `json:"icon,omitempty"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	Tag          *string         `json:"tag,omitempty"`
	IsGlobal     *bool           `json:"is_global,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
	Metrics      json.RawMessage `json:"metrics,omitempty"`
	PublicJobs   json.RawMessage `json:"public_jobs,omitempty"`
}

// Null returns the JSON null, which clears a field.
func Null() json.RawMessage { return json.RawMessage("null") }

const apps = "/pipeline_frontend_apps"

func appPath(id int64) string { return apps + "/" + strconv.FormatInt(id, 10) }

// CreateApp registers or installs an app.
func (o *Organization) CreateApp(ctx context.Context, draft AppDraft) (App, error) {
	return ask[App](ctx, o.at, http.MethodPost, apps, nil, draft)
}

// GetApp reads one app.
func (o *Organization) GetApp(ctx context.Context, id int64) (App, error) {
	return ask[App](ctx, o.at, http.MethodGet, appPath(id), nil, nil)
}

// UpdateApp changes an app and returns the changed app.
func (o *Organization) UpdateApp(ctx context.Context, id int64, patch AppPatch) (App, error) {
	return ask[App](ctx, o.at, http.MethodPatch, appPath(id), nil, patch)
}

// DeleteApp removes an app. Its activity stays.
func (o *Organization) DeleteApp(ctx context.Context, id int64) error {
	return o.at.call(ctx, http.MethodDelete, appPath(id), nil, nil, nil)
}

// CheckForUpdates asks the app's upstream for its newest version and returns the app with that as LatestTag. age is the
// time since the upstream said so; 0 is just now. The server asks an upstream that answers at most every 5 minutes, so
// an age above that means that it did not answer.
func (o *Organization) CheckForUpdates(ctx context.Context, id int64) (app App, age time.Duration, err error) {
	aged := CallOption{answer: func(h http.Header) { age = seconds(h, "Age") }}
	app, err = ask[App](ctx, o.With(aged).at, http.MethodGet, appPath(id)+"/check_for_updates", nil, nil)
	return app, age, err
}

// Upgrade says which version to move an app to, and what to change in it. With neither a Tag nor a Version the app
// moves to the newest tag.
type Upgrade struct {
	AppPatch
	// Version is the number of a version that the server holds.
	Version *int64 `json:"version,omitempty"`
	// AcceptChanged accepts a tag that was moved since it was installed.
	AcceptChanged bool `json:"accept_changed,omitempty"`
	// Commit is the commit of an [UpgradeReview]. The upgrade fails with content_changed if it now leads to another
	// one. Empty accepts any commit.
	Commit string `json:"commit,omitempty"`
}

// UpgradeApp moves an installed app to another version. For an app without an upstream it only applies the patch.
func (o *Organization) UpgradeApp(ctx context.Context, id int64, to Upgrade) (App, error) {
	return ask[App](ctx, o.at, http.MethodPost, appPath(id)+"/upgrade", nil, to)
}

// AppFilter narrows a list of apps down. A zero field does not filter.
type AppFilter struct {
	Search     string // part of the name or the description
	PluginType string
	IsGlobal   *bool
	Update     string  // available
	State      string  // disabled, broken, edited or failing
	Site       int64   // the apps are placed on this one
	IDs        []int64 // nil: any; an empty list is refused
	Ordering   string  // name, created_at or updated_at, descending with - before it; "": by id
}

func (f AppFilter) query() url.Values {
	query := url.Values{}
	set(query, "search", f.Search)
	set(query, "plugin_type", f.PluginType)
	if f.IsGlobal != nil {
		set(query, "is_global", strconv.FormatBool(*f.IsGlobal))
	}
	set(query, "update", f.Update)
	set(query, "state", f.State)
	setInt(query, "site", f.Site)
	if f.IDs != nil {
		var ids []string
		for _, id := range f.IDs {
			ids = append(ids, strconv.FormatInt(id, 10))
		}
		query.Set("id", strings.Join(ids, ","))
	}
	set(query, "ordering", f.Ordering)
	return query
}

// set sets a parameter, unless it has no value.
func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// setInt sets a parameter, unless the number is 0.
func setInt[N ~int | ~int64](query url.Values, name string, n N) {
	if n != 0 {
		query.Set(name, strconv.FormatInt(int64(n), 10))
	}
}

// setTime sets a parameter, unless the time is zero.
func setTime(query url.Values, name string, at time.Time) {
	if !at.IsZero() {
		query.Set(name, at.UTC().Format(time.RFC3339Nano))
	}
}

// ListApps reads one page of the organization's apps and the global ones that match a filter.
func (o *Organization) ListApps(ctx context.Context, f AppFilter, r Range) (Page[App], error) {
	return list[Page[App]](ctx, o.at, apps, f.query(), r)
}

// AllApps reads the organization's apps and the global ones that match a filter.
func (o *Organization) AllApps(ctx context.Context, f AppFilter) iter.Seq2[App, error] {
	return all[App](ctx, o.at, apps, f.query())
}
