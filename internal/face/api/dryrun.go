package api

import (
	"net/http"
	"net/url"
	"strings"

	"foyer/internal/base/dryrun"
	"foyer/internal/base/fault"
)

const dryRunParameter = "dry_run"

// dryRun has a request whose query asks for it make all checks and change nothing.
func dryRun(w http.ResponseWriter, r *http.Request, route Route, query url.Values) (*http.Request, error) {
	asked, err := isTrue(query, dryRunParameter)
	switch {
	case query.Has(dryRunParameter) && !route.hasDryRun():
		return nil, fault.Field(fault.Invalid, dryRunParameter, "This operation has no dry run.")
	case err != nil || !asked:
		return r, err
	}
	w.Header().Set("Dry-Run", "true")
	w.Header().Set("Cache-Control", "no-store") // an ETag would name what is not there
	return r.WithContext(dryrun.With(r.Context())), nil
}

// isTrue reads a parameter that asks for something.
func isTrue(query url.Values, name string) (bool, error) {
	if query.Has(name) && query.Get(name) != "true" {
		return false, fault.Field(fault.Invalid, name, "Must be true, or left out.")
	}
	return query.Has(name), nil
}

// hasDryRun reports whether a route changes apps, sites, placements, invites or members. A link
// would be one that does not work.
func (r Route) hasDryRun() bool {
	if r.reads() || strings.HasSuffix(r.Path, "/link") || strings.HasSuffix(r.Path, "/preview") {
		return false
	}
	for _, under := range []string{apps, sites, invites, members} {
		if r.Path == under || strings.HasPrefix(r.Path, under+"/") {
			return true
		}
	}
	return false
}
