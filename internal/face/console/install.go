package console

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"strings"

	"foyer/client"
	"foyer/internal/base/search"
	"foyer/internal/face/console/markup"
)

// Install offers one of the ways to add an app.
type Install struct {
	List[client.CatalogApp]
	Way          string // catalog, git or own
	Search       string // in the catalog
	CatalogFault string // why the catalog is unavailable; "": it is available
}

// repository is the field for the address of a repository.
type repository struct {
	Shown string // in the field: the typed address, cut to what may be shown, else the stored one
	Cut   bool   // a part of the typed address is not shown
	Marks template.HTMLAttr
}

// Repository returns the field for the address of a repository in a form.
func (f Frame) Repository(do, stored string) repository {
	typed := strings.TrimSpace(f.Filled(do, "url", stored))
	shown := typed
	if !harmless(typed) {
		shown = withoutSecrets(typed)
	}
	return repository{shown, shown != typed, f.Marks(do, "url", "url_note")}
}

// way returns the way that the form was sent for, else the one that the query names. A user who may not install sees the
// catalog.
func (v *visit) way() string {
	if !offer(v.caller).ChangeApps {
		return "catalog"
	}
	query := v.request.URL.Query().Get("way")
	switch v.request.PostForm.Get("do") {
	case "git":
		query = "git"
	case "source":
		query = "own"
	case "catalog":
		query = ""
	}
	if query == "git" || query == "own" {
		return query
	}
	return "catalog"
}

func showInstall(v *visit) (markup.Page, error) {
	shown := Install{Way: v.way(), Search: strings.TrimSpace(v.request.URL.Query().Get("search"))}
	if shown.Way != "catalog" {
		shown.Frame = v.frame("apps")
		return markup.Fill("install.html", shown), nil
	}
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

// inCatalog reads the apps of the catalog with a text in their names or descriptions.
func (v *visit) inCatalog(text string) func(context.Context, client.Range) (client.Page[client.CatalogApp], error) {
	return func(ctx context.Context, part client.Range) (client.Page[client.CatalogApp], error) {
		var apps []client.CatalogApp
		for app, err := range v.organization.AllRepository(ctx) {
			if err != nil {
				return client.Page[client.CatalogApp]{}, err
			}
			if strings.Contains(search.Fold(app.Name+"\n"+app.Description), search.Fold(text)) {
				apps = append(apps, app)
			}
		}
		return partOf(apps, part), nil
	}
}

func installFromGit(v *visit) (next, error) {
	then, err := v.create("%s is installed.", client.AppDraft{PluginType: client.PluginCustom, URL: v.line("url"), Tag: v.line("tag")})
	return then, v.ofRepository(err)
}

// relocateApp gives an app the new address of its repository, or new credentials for it.
func relocateApp(v *visit) (next, error) {
	return v.onApp(func(id int64) (string, error) {
		app, err := v.organization.UpdateApp(v.ctx(), id, client.AppPatch{URL: new(v.line("url"))})
		return sentence("%s comes from %s now.", app.Name, app.URL), v.ofRepository(err)
	})
}

// ofRepository adds the address for https to the refusal of one for ssh.
func (v *visit) ofRepository(err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	ssh := overSSH.FindStringSubmatch(v.line("url"))
	if !ok || refused.Attr != "url" || ssh == nil {
		return err
	}
	return wrong("url", refused.Detail+" Write https://"+ssh[1]+"/"+ssh[2]+", if the host has that too.")
}

func installFromCatalog(v *visit) (next, error) {
	name := v.line("name")
	then, err := v.create("%s is installed.", client.AppDraft{PluginType: client.PluginRepository, Name: name, URL: v.line("url")})
	if refused, ok := errors.AsType[*client.Error](err); ok { // the list has a form for each app
		refused.Errors = []client.Fault{{Detail: sentence("%s is not installed.", name) + " " + refused.Detail}}
	}
	return then, err
}

// starter has the files of a new app. It runs as it is.
//
//go:embed starter
var starter embed.FS

// createApp makes a new app, and redirects to its first file.
func createApp(v *visit) (next, error) {
	draft := client.AppDraft{PluginType: client.PluginSource, Name: v.line("name"), Description: v.line("description"), Source: client.Files{}}
	for _, name := range []string{"site.ts", "plugin.json"} {
		text, err := starter.ReadFile("starter/" + name)
		if err != nil {
			return next{}, err
		}
		draft.Source[name] = string(text)
	}
	then, err := v.create("%s is created, with two files to start from. It runs as it is.", draft)
	then.path += "/source?file=site.ts"
	return then, err
}

func (v *visit) create(flash string, draft client.AppDraft) (next, error) {
	app, err := v.organization.CreateApp(v.ctx(), draft)
	return next{path: appPage(v.home, app.ID), flash: sentence(flash, app.Name)}, err
}
