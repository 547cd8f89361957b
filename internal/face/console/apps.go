package console

import (
	"context"
	"slices"
	"strings"

	"foyer/client"
	"foyer/internal/face/console/markup"
)

func showOrganizations(v *visit) (markup.Page, error) {
	l, err := list(v, "", v.client.ListOrganizations)
	return markup.Fill("organizations.html", l), err
}

// Apps lists the apps of an organization, and the state of each.
type Apps struct {
	List[client.App]
	Filter  AppForm
	Updates bool // one of them can be upgraded here
	in      map[string]map[int64]bool
}

// bad are the states of apps that the list shows in red.
var bad = []string{"disabled", "broken", "failing"}

// Bad returns the bad states of an app.
func (p Apps) Bad(app client.App) []string {
	return slices.DeleteFunc(slices.Clone(bad), func(state string) bool { return !p.in[state][app.ID] })
}

// AppForm is the page's filter, as typed.
type AppForm struct{ Search, State, Ordering string }

// Any reports whether the list is narrowed down.
func (f AppForm) Any() bool { return f.Search != "" || f.State != "" }

// filter translates the form for the API: an update is a state of its own there.
func (f AppForm) filter() client.AppFilter {
	filter := client.AppFilter{Search: f.Search, State: f.State, Ordering: f.Ordering}
	if f.State == "update" {
		filter.State, filter.Update = "", "available"
	}
	return filter
}

// Upgrades reports whether the viewer of an app may upgrade it.
func (p Apps) Upgrades(app client.App) bool {
	return another(app) && p.Offer.changes(app)
}

// Checked returns the ids of the apps in the list that have an upstream here.
func (p Apps) Checked() []int64 {
	var all []int64
	for _, app := range p.Items {
		if upstream(app) && p.Offer.changes(app) {
			all = append(all, app.ID)
		}
	}
	return all
}

func showApps(v *visit) (markup.Page, error) {
	q := v.request.URL.Query()
	shown := Apps{Filter: AppForm{strings.TrimSpace(q.Get("search")), q.Get("state"), q.Get("ordering")}}
	var err error
	shown.List, err = list(v, "apps", func(ctx context.Context, part client.Range) (client.Page[client.App], error) {
		return v.organization.ListApps(ctx, shown.Filter.filter(), part)
	})
	if err != nil {
		return markup.Page{}, err
	}
	shown.in = map[string]map[int64]bool{}
	for _, state := range bad {
		if shown.in[state], err = v.inState(state, shown.Items); err != nil {
			return markup.Page{}, err
		}
	}
	shown.Updates = slices.ContainsFunc(shown.Items, shown.Upgrades)
	return markup.Fill("apps.html", shown), nil
}

// inState returns which of some apps are in a state.
func (v *visit) inState(state string, apps []client.App) (map[int64]bool, error) {
	filter, are := client.AppFilter{State: state}, map[int64]bool{}
	for _, app := range apps {
		filter.IDs = append(filter.IDs, app.ID)
	}
	if len(apps) == 0 {
		return are, nil
	}
	found, err := v.organization.ListApps(v.ctx(), filter, client.Range{Limit: perPage})
	for _, app := range found.Results {
		are[app.ID] = true
	}
	return are, err
}

func showUnused(v *visit) (markup.Page, error) {
	l, err := list(v, "apps", ofApps(v.organization.ListUnusedApps))
	return markup.Fill("unused.html", l), err
}
