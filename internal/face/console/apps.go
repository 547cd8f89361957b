package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"foyer/client"
	"foyer/internal/base/page"
	"foyer/internal/base/plaintext"
	"foyer/internal/face/console/markup"
)

func showOrganizations(v *visit) (markup.Page, error) {
	l, err := list(v, "", v.client.ListOrganizations)
	return markup.Fill("organizations.html", l), err
}

// Apps lists the apps of an organization, and how each stands.
type Apps struct {
	List[client.App]
	Filter   AppForm
	Disabled map[int64]bool // by their ids
	Broken   map[int64]bool
	Updates  bool // one of them can be upgraded here
}

// AppForm is what the page's filter has: as typed.
type AppForm struct{ Search, State, Ordering string }

// Any reports whether the list is narrowed down.
func (f AppForm) Any() bool { return f.Search != "" || f.State != "" }

// filter is what the form says, to the API: an update is a state of its own there.
func (f AppForm) filter() client.AppFilter {
	filter := client.AppFilter{Search: f.Search, State: f.State, Ordering: f.Ordering}
	if f.State == "update" {
		filter.State, filter.Update = "", "available"
	}
	return filter
}

// Upgrades reports whether whoever looks at an app may upgrade it.
func (p Apps) Upgrades(app client.App) bool {
	return p.Offer.ChangeApps && another(app) && app.OrganizationID == p.Offer.Caller.Organization.ID
}

// Checked are the apps of the list that have an upstream here, by their ids.
func (p Apps) Checked() []int64 {
	var all []int64
	for _, app := range p.Items {
		if p.Offer.ChangeApps && upstream(app) && app.OrganizationID == p.Offer.Caller.Organization.ID {
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
		return v.organization.FindApps(ctx, shown.Filter.filter(), part)
	})
	if err != nil {
		return markup.Page{}, err
	}
	if shown.Disabled, err = v.inState("disabled", shown.Items); err != nil {
		return markup.Page{}, err
	}
	if shown.Broken, err = v.inState("broken", shown.Items); err != nil {
		return markup.Page{}, err
	}
	shown.Updates = slices.ContainsFunc(shown.Items, shown.Upgrades)
	return markup.Fill("apps.html", shown), nil
}

// inState are those of some apps that are in a state.
func (v *visit) inState(state string, apps []client.App) (map[int64]bool, error) {
	filter, are := client.AppFilter{State: state}, map[int64]bool{}
	for _, app := range apps {
		filter.IDs = append(filter.IDs, app.ID)
	}
	if len(apps) == 0 {
		return are, nil
	}
	found, err := v.organization.FindApps(v.ctx(), filter, client.Range{Limit: perPage})
	for _, app := range found.Results {
		are[app.ID] = true
	}
	return are, err
}

// upgradeApps upgrades those that are chosen, each to the newest tag that was shown.
func upgradeApps(v *visit) (next, error) {
	chosen := v.request.PostForm["id"]
	if len(chosen) == 0 {
		return next{}, wrong("", "Choose at least one.")
	}
	if len(chosen) > perPage {
		return next{}, wrong("", "Choose at most "+strconv.Itoa(perPage)+" at a time.")
	}
	var done []string
	var refused client.Error
	for _, item := range chosen {
		text, tag, _ := strings.Cut(item, " ")
		id, err := number(text)
		if err != nil {
			return next{}, err
		}
		app, err := v.organization.UpgradeApp(v.ctx(), id, client.Upgrade{AppPatch: client.AppPatch{Tag: &tag}})
		if e, ok := errors.AsType[*client.Error](err); ok && correctable(e.Status) {
			refused = *e
			refused.Errors = append(refused.Errors[:0:0], client.Fault{Detail: "App " + text + " at " + line(tag) + ": " + e.Detail})
			break
		}
		if err != nil {
			return next{}, err
		}
		done = append(done, line(app.Name)+" ("+line(app.Tag)+")")
	}
	if refused.Status != 0 {
		if len(done) > 0 {
			refused.Errors = append(refused.Errors, client.Fault{Detail: "Upgraded before it: " + strings.Join(done, ", ") + "."})
		}
		return next{}, &refused
	}
	return next{said: "Upgraded: " + line(strings.Join(done, ", ")) + "."}, nil
}

func showUnused(v *visit) (markup.Page, error) {
	l, err := list(v, "apps", ofApps(v.organization.ListUnusedApps))
	return markup.Fill("unused.html", l), err
}

// Activity lists what was done to apps.
type Activity struct {
	List[client.Activity]
	client.ActivityFilter
}

func showActivity(v *visit) (markup.Page, error) {
	filter := client.ActivityFilter{User: v.request.URL.Query().Get("user")}
	if text := v.request.URL.Query().Get("app"); text != "" {
		var err error
		if filter.AppID, err = number(text); err != nil {
			return markup.Page{}, err
		}
	}
	l, err := list(v, "activity", ofApps(func(ctx context.Context, part client.Range) (client.AppPage[client.Activity], error) {
		return v.organization.ListActivity(ctx, filter, part)
	}))
	return markup.Fill("activity.html", Activity{l, filter}), err
}

// Install offers the ways to a new app, including the catalog.
type Install struct {
	List[client.CatalogApp]
	Search       string // in the catalog
	CatalogFault string // why there is none now; "" if there is
}

// Repository is the address that was typed, as far as it may be shown.
func (p Install) Repository() string {
	typed := p.typed()
	if harmless(typed) {
		return typed
	}
	return withoutSecrets(typed)
}

// LeftOut reports whether the address that was typed is not shown as a whole.
func (p Install) LeftOut() bool { return p.Repository() != p.typed() }

func (p Install) typed() string { return strings.TrimSpace(p.Filled("git", "url", "")) }

func showInstall(v *visit) (markup.Page, error) {
	shown := Install{Search: strings.TrimSpace(v.request.URL.Query().Get("search"))}
	read := ofApps(v.organization.ListRepository)
	if shown.Search != "" {
		read = v.inCatalog(shown.Search)
	}
	var err error
	shown.List, err = list(v, "apps", read)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusBadGateway {
		shown.Frame, shown.CatalogFault, err = v.frame("apps"), refused.Detail, nil
	}
	return markup.Fill("install.html", shown), err
}

// inCatalog reads the part of the catalog that has a text in its names and descriptions.
func (v *visit) inCatalog(text string) func(context.Context, client.Range) (client.Page[client.CatalogApp], error) {
	return func(ctx context.Context, part client.Range) (found client.Page[client.CatalogApp], err error) {
		all, err := v.organization.ListRepository(ctx, client.Range{Limit: page.MaxLimit})
		apps := slices.DeleteFunc(all.Results, func(app client.CatalogApp) bool {
			return !strings.Contains(plaintext.Fold(app.Name+"\n"+app.Description), plaintext.Fold(text))
		})
		found.Count = len(apps)
		found.Results = apps[min(part.Offset, len(apps)):min(part.Offset+part.Limit, len(apps))]
		if part.Offset+part.Limit < len(apps) {
			found.Next = "more"
		}
		return found, err
	}
}

func installFromGit(v *visit) (next, error) {
	then, err := v.create("%s is installed.", client.AppDraft{PluginType: client.PluginCustom, URL: v.line("url"), Tag: v.line("tag")})
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Attr == "url" {
		if ssh := overSSH.FindStringSubmatch(v.line("url")); ssh != nil {
			return then, wrong("url", refused.Detail+" Write https://"+ssh[1]+"/"+ssh[2]+", if the host has that too.")
		}
	}
	return then, err
}

func installFromCatalog(v *visit) (next, error) {
	return v.create("%s is installed.", client.AppDraft{PluginType: client.PluginRepository, Name: v.line("name"), URL: v.line("url")})
}

func createApp(v *visit) (next, error) {
	return v.create("%s is there. Add its first file.", client.AppDraft{PluginType: client.PluginSource, Name: v.line("name"), Description: v.line("description")})
}

func (v *visit) create(said string, draft client.AppDraft) (next, error) {
	app, err := v.organization.CreateApp(v.ctx(), draft)
	return next{path: v.home + "/apps/" + strconv.FormatInt(app.ID, 10), said: sentence(said, app.Name)}, err
}
