package console

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"foyer/client"
	"foyer/internal/face/console/markup"
)

func showOrganizations(v *visit) (markup.Page, error) {
	l, err := list(v, "", v.client.ListOrganizations)
	return markup.Fill("organizations.html", l), err
}

func showApps(v *visit) (markup.Page, error) {
	l, err := list(v, "apps", v.organization.ListApps)
	return markup.Fill("apps.html", l), err
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
	l, err := list(v, "apps", ofApps(v.organization.ListRepository))
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusBadGateway {
		return markup.Fill("install.html", Install{List: List[client.CatalogApp]{Frame: v.frame("apps")}, CatalogFault: refused.Detail}), nil
	}
	return markup.Fill("install.html", Install{List: l}), err
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
