package console

import (
	"slices"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/configschema"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/source"
	"foyer/internal/face/console/markdown"
	"foyer/internal/face/console/markup"
)

// Entry shows an app of the catalog, before and after it is installed.
type Entry struct {
	Frame
	client.CatalogApp
	Review plugin.InstallReview // what an install would make
	Fault  string               // why that is unknown; "": it is known
	Here   int64                // the app made from it; 0: none, or unknown
	Fields []schemaField        // that can be set
}

// Bytes returns the size of all its files.
func (p Entry) Bytes() (n int) {
	for _, file := range p.Review.Files {
		n += file.Size
	}
	return n
}

// Needs returns the fields that need a value before it runs.
func (p Entry) Needs() []schemaField {
	return slices.DeleteFunc(slices.Clone(p.Fields), func(f schemaField) bool { return !f.Needed() })
}

// Broken returns the files that do not compile.
func (p Entry) Broken() []source.File {
	return slices.DeleteFunc(slices.Clone(p.Review.Files), func(f source.File) bool { return f.Error == "" })
}

// Cut reports whether only a part of its readme is shown.
func (p Entry) Cut() bool { return markdown.Cut(p.Review.Readme) }

// showEntry has an app of the catalog fetched and compiled, to show what it is.
func showEntry(v *visit) (markup.Page, error) {
	shown := Entry{Frame: v.frame("apps")}
	var err error
	if shown.CatalogApp, err = v.entry(); err != nil {
		return markup.Page{}, err
	}
	if shown.Installed {
		if shown.Here, err = v.installed(shown.URL); err != nil {
			return markup.Page{}, err
		}
	}
	if !shown.Offer.ChangeApps {
		return markup.Fill("entry.html", shown), nil
	}
	shown.Review, err = v.console.ReviewInstall(v.ctx(), v.caller, shown.URL)
	if fault.IsOurs(err) {
		return markup.Page{}, err
	} else if err != nil {
		shown.Fault = fault.Of(err)[0].Detail
	}
	for _, field := range configschema.Fields(shown.Review.ConfigSchema) {
		if field.Key != "" {
			shown.Fields = append(shown.Fields, schemaField{Field: field})
		}
	}
	return markup.Fill("entry.html", shown), nil
}

// installed returns the organization's app that comes from a url; 0: it is not among the newest.
func (v *visit) installed(url string) (int64, error) {
	apps, err := v.organization.ListApps(v.ctx(), client.AppFilter{Ordering: "-created_at"}, client.Range{Limit: page.MaxLimit})
	for _, app := range apps.Results {
		if app.URL == url && app.OrganizationID == v.caller.Organization.ID {
			return app.ID, nil
		}
	}
	return 0, err
}

// entry returns the app of the catalog that the query names.
func (v *visit) entry() (client.CatalogApp, error) {
	name, url := v.request.URL.Query().Get("name"), v.request.URL.Query().Get("url")
	for app, err := range v.organization.AllRepository(v.ctx()) {
		if err != nil || app.Name == name && app.URL == url {
			return app, err
		}
	}
	return client.CatalogApp{}, fault.New(fault.NotFound, "The catalog has no app of this name.")
}
