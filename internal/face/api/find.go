package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/base/search"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/site"
	"foyer/internal/face/wire"
)

func (a *API) findPlugins(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	f, err := readAppFilter(r)
	if err != nil {
		return andOfPage(r, err)
	}
	read := func(ctx context.Context, c access.Caller, p page.Page) (page.Found[plugin.Plugin], error) {
		return a.Plugins.Find(ctx, c, f, p)
	}
	return list(a, read, AppendPlugin)(w, r, c)
}

func (a *API) findSites(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	var f site.Filter
	var faults fault.List
	var err error
	query := r.URL.Query()
	f.Search, err = readSearch(query)
	faults.Add(err)
	f.Order, err = readOrder(query)
	faults.Add(err)
	if err := faults.Err(); err != nil {
		return andOfPage(r, err)
	}
	read := func(ctx context.Context, c access.Caller, p page.Page) (page.Found[site.Site], error) {
		return a.Sites.Find(ctx, c, f, p)
	}
	return list(a, read, a.appendSite)(w, r, c)
}

// andOfPage is what is wrong with a filter, and with the page that is asked for.
func andOfPage(r *http.Request, filter error) error {
	var faults fault.List
	_, err := wire.ReadPage(r)
	faults.Add(err)
	faults.Add(filter)
	return faults
}

// readAppFilter reads which apps are asked for. A filter that is given without a value is no
// filter for everything: a script may have meant one.
func readAppFilter(r *http.Request) (f plugin.Filter, err error) {
	if r.URL.RawQuery == "" {
		return f, nil
	}
	query := r.URL.Query()
	var faults fault.List
	f.Search, err = readSearch(query)
	faults.Add(err)
	if query.Has("plugin_type") {
		f.Type, err = plugin.ParseType(query.Get("plugin_type"))
		faults.Add(err)
	}
	if query.Has("is_global") {
		f.Global = patch.Of(query.Get("is_global") == "true")
		if !f.Global.Value && query.Get("is_global") != "false" {
			faults.Add(fault.Field(fault.InvalidChoice, "is_global", "Must be true or false."))
		}
	}
	if f.Update = query.Has("update"); f.Update && query.Get("update") != "available" {
		faults.Add(fault.Field(fault.InvalidChoice, "update", "Must be available."))
	}
	if query.Has("state") {
		f.State, err = plugin.ParseState(query.Get("state"))
		faults.Add(err)
	}
	if query.Has("site") {
		f.SiteID, err = number("site", "the id of a site, a whole number", query.Get("site"))
		faults.Add(err)
	}
	if query.Has("id") {
		f.IDs, err = readIDs(query.Get("id"))
		faults.Add(err)
	}
	f.Order, err = readOrder(query)
	faults.Add(err)
	return f, faults.Err()
}

// readIDs reads the ids of apps, with commas between them.
func readIDs(text string) (ids []int64, err error) {
	for _, part := range strings.Split(text, ",") {
		id := patch.ID(part)
		if id == 0 || len(ids) == plugin.MaxIDs {
			return nil, fault.Field(fault.Invalid, "id", "Must be at most %d ids of apps, with commas between them.", plugin.MaxIDs)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// maxSearch bounds what lists are searched for, in bytes.
const maxSearch = 400

func readSearch(query url.Values) (string, error) {
	text := query.Get("search")
	if len(text) > maxSearch || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00"+search.Separator) {
		return "", fault.Field(fault.Invalid, "search", "Must be a text of at most %d bytes, without the characters U+0000 and U+0001.", maxSearch)
	}
	return text, nil
}

func readOrder(query url.Values) (page.Order, error) {
	if !query.Has("ordering") {
		return page.Order{}, nil
	}
	return page.ParseOrder(query.Get("ordering"))
}
