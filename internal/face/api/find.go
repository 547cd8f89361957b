package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"foyer/internal/base/address"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/base/search"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/site"
	"foyer/internal/face/wire"
)

// find answers with a page of the items that match a filter. It reports the faults of the page and of the filter
// together.
func find[F, T any](
	a *API, filter func(url.Values) (F, error), read func(context.Context, access.Caller, F, page.Page) (page.Found[T], error), item func([]byte, T) []byte,
) handler {
	return func(w http.ResponseWriter, r *http.Request, c access.Caller) error {
		var faults fault.List
		query := r.URL.Query()
		p, err := wire.ReadPage(query)
		faults.Add(err)
		f, err := filter(query)
		faults.Add(err)
		if err := faults.Err(); err != nil {
			return err
		}
		found, err := read(r.Context(), c, f, p)
		if err != nil {
			return err
		}
		return wire.WritePage(w, r, a.BaseURL, p, found, item)
	}
}

// readAppFilter reads the filter of apps. A parameter without a value is refused instead of matching everything: a
// script may have meant to filter.
func readAppFilter(query url.Values) (f plugin.Filter, err error) {
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

func readSiteFilter(query url.Values) (f site.Filter, err error) {
	var faults fault.List
	f.Search, err = readSearch(query)
	faults.Add(err)
	f.Order, err = readOrder(query)
	faults.Add(err)
	return f, faults.Err()
}

// readIDs reads the ids of apps, separated by commas.
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

// maxSearch is the maximum length of a search text, in bytes.
const maxSearch = 400

func readSearch(query url.Values) (string, error) {
	text := query.Get("search")
	if len(text) > maxSearch || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00"+search.Separator) {
		return "", fault.Field(fault.Invalid, "search", "Must be a text of at most %d bytes, without the characters U+0000 and U+0001.", maxSearch)
	}
	return text, nil
}

// readPersonSearch is readSearch for lists of people. A domain after an @ is searched in the form in which it is stored.
func readPersonSearch(query url.Values) (string, error) {
	text, err := readSearch(query)
	if local, domain, found := strings.Cut(text, "@"); found {
		if plain, wrong := address.Domain(strings.TrimSpace(domain)); wrong == nil {
			text = strings.TrimSpace(local) + "@" + plain
		}
	}
	return text, err
}

func readOrder(query url.Values) (page.Order, error) {
	if !query.Has("ordering") {
		return page.Order{}, nil
	}
	return page.ParseOrder(query.Get("ordering"))
}
