package api

import (
	"net/http"
	"net/url"
	"strings"

	"foyer/internal/base/dryrun"
	"foyer/internal/base/fault"
)

const dryRunParameter = "dry_run"

// dryRun makes the request a dry run if its query asks for one: it makes all checks and changes nothing.
func dryRun(w http.ResponseWriter, r *http.Request, route Route, query url.Values) (*http.Request, error) {
	asked, err := isTrue(query, dryRunParameter)
	switch {
	case query.Has(dryRunParameter) && !route.hasDryRun():
		return nil, fault.Field(fault.Invalid, dryRunParameter, "This operation has no dry run.")
	case err != nil || !asked:
		return r, err
	}
	w.Header().Set("Dry-Run", "true")
	w.Header().Set("Cache-Control", "no-store") // an ETag would name a state that does not exist
	return r.WithContext(dryrun.With(r.Context())), nil
}

// isTrue reads a parameter that is true or absent.
func isTrue(query url.Values, name string) (bool, error) {
	if query.Has(name) && query.Get(name) != "true" {
		return false, fault.Field(fault.Invalid, name, "Must be true, or left out.")
	}
	return query.Has(name), nil
}

// hasDryRun reports whether a route changes apps, sites, placements, invites or members. Links and previews have no dry
// run, because their links would not work.
func (r Route) hasDryRun() bool {
	if r.reads() || strings.HasSuffix(r.Path, "/link") || strings.HasSuffix(r.Path, "/preview") {
		return false
	}
	return r.isAt(apps) || r.isAt(sites) || r.isAt(invites) || r.isAt(members)
}
