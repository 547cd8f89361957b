package site

import (
	"context"
	"encoding/json"
	"slices"

	"foyer/internal/base/inflight"
	"foyer/internal/domain/access"
	"foyer/internal/domain/site/loader"
	"foyer/internal/infra/db"
)

// entry is an app as the manifest lists it.
type entry struct {
	ID        int64           `json:"id"`
	Name      string          `json:"name"`
	Version   int64           `json:"version"`
	URL       string          `json:"url"` // stored without the server's base url
	Integrity string          `json:"integrity"`
	Config    json.RawMessage `json:"config"`
	Paths     []string        `json:"paths"`
}

// entryOf fills in the fields that are stored in another form.
func (l listed) entryOf() entry {
	e := l.entry
	e.URL = "/apps/" + l.token + "/" + l.sum + ".js"
	e.Config, e.Paths = json.RawMessage(l.values), globs(l.paths)
	return e
}

// globs returns the paths of a placement in the form of the manifest.
func globs(paths []string) []string {
	all := make([]string, 0, len(paths))
	for _, path := range paths {
		all = append(all, loader.Globs(path)...)
	}
	return all
}

// withBase adds the base url to stored entries, as JSON.
func withBase(apps, baseURL string) string {
	entries := readEntries(apps)
	for i := range entries {
		entries[i].URL = baseURL + entries[i].URL
	}
	return encode(entries)
}

func readEntries(apps string) []entry {
	entries := []entry{}
	_ = json.Unmarshal([]byte(apps), &entries) // this package wrote them
	return entries
}

// FollowApp updates the sites of an app in the transaction that changes the app, which must have locked it: all sites
// change at the same moment.
func (s Service) FollowApp(ctx context.Context, tx *db.Tx, c access.Caller, appID int64) error {
	deps := newDependencies(tx)
	deps.follows = true
	return inBatches(ctx, tx, haveApp, appID, func(ctx context.Context, sites []Site) error {
		a, err := deps.app(ctx, appID)
		if err != nil {
			return err
		}
		if a.ID == 0 {
			if err := removeFromSites(ctx, tx, sites, appID); err != nil {
				return err
			}
		}
		return s.refresh(ctx, tx, deps, c, sites, func(p Placement) bool { return p.AppID == appID })
	})
}

// FollowOrganization updates the sites of an organization, and other sites that have its apps, in the transaction that
// changes what the organization may do.
func (s Service) FollowOrganization(ctx context.Context, tx *db.Tx, organizationID string) error {
	lockAdding(tx, organizationID) // else apps may be placed on a new site, by what the organization could do before
	if err := lockSharedApps(ctx, tx, organizationID); err != nil {
		return err
	}
	deps := newDependencies(tx)
	return inBatches(ctx, tx, ofOrganization, organizationID, func(ctx context.Context, sites []Site) error {
		return s.refresh(ctx, tx, deps, access.Caller{Organization: access.Organization{ID: organizationID}}, sites, everyPlacement)
	})
}

// inBatches locks all sites that a condition of lockSites selects, and calls do with them, one batch at a time.
func inBatches(ctx context.Context, tx *db.Tx, condition string, of any, do func(context.Context, []Site) error) error {
	ids, err := lockSites(ctx, tx, condition, of)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(ids, batch) {
		err := inflight.InPart(ctx, func(ctx context.Context) error {
			sites, err := listSites(ctx, tx, some)
			if err != nil {
				return err
			}
			return do(ctx, sites)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// refresh updates the placements for which of reports true, on at most a batch of locked sites, and publishes the sites.
// It also runs placements that were held for lack of room, in their order, where others have made room. It skips one
// that still does not fit. It looks at each once: a placement that resumes takes room and frees none.
func (s Service) refresh(ctx context.Context, tx *db.Tx, deps *dependencies, c access.Caller, sites []Site, of func(Placement) bool) error {
	placements, err := listPlacementsOfSites(ctx, tx, sites)
	if err != nil {
		return err
	}
	before := slices.Clone(placements)
	if err := deps.resolveAll(ctx, sites, placements, of, false); err != nil {
		return err
	}
	if err := deps.resolveAll(ctx, sites, placements, func(p Placement) bool { return p.Held != "" }, true); err != nil {
		return err
	}
	var changed []Placement
	for i, p := range placements {
		b := before[i]
		if p.Running != b.Running || p.kept != b.kept || p.Held != b.Held || p.Values != b.Values {
			changed = append(changed, p)
		}
	}
	for some := range slices.Chunk(changed, batch) {
		if err := updateOutcomes(ctx, tx, some); err != nil {
			return err
		}
	}
	return s.publish(ctx, tx, c, sites, placements)
}

func everyPlacement(Placement) bool { return true }
func noPlacement(Placement) bool    { return false }

// resolveAll resolves the placements for which of reports true, among all placements of some sites. If they were waiting,
// a placement takes more room only if it runs now.
func (deps *dependencies) resolveAll(ctx context.Context, sites []Site, placements []Placement, of func(Placement) bool, waiting bool) error {
	byID, taken := make(map[int64]Site, len(sites)), make(map[int64]int, len(sites))
	for _, site := range sites {
		byID[site.ID] = site
	}
	for _, p := range placements {
		taken[p.SiteID] += p.bytes()
	}
	for i := range placements {
		p := &placements[i]
		if !of(*p) {
			continue
		}
		before, others := *p, taken[p.SiteID]-p.bytes()
		if err := deps.resolve(ctx, byID[p.SiteID], p, others); err != nil {
			return err
		}
		if waiting && p.Running == before.Running {
			p.Values = before.Values
		}
		taken[p.SiteID] = others + p.bytes()
	}
	return nil
}

// publish makes the manifests of locked sites with their placements, and a new revision of each that has changed.
func (s Service) publish(ctx context.Context, tx *db.Tx, c access.Caller, sites []Site, placements []Placement) error {
	all, err := listListed(ctx, tx, sites)
	if err != nil {
		return err
	}
	entries := map[int64][]entry{}
	for _, l := range all {
		entries[l.siteID] = append(entries[l.siteID], l.entryOf())
	}
	var changed []begun
	for _, site := range sites {
		apps := "[]"
		if e := entries[site.ID]; len(e) > 0 {
			apps = encode(e)
		}
		if apps == site.apps {
			continue
		}
		r := begun{Site: site, before: site.apps, runs: versionsOf(entries[site.ID])}
		r.Revision++
		r.apps = apps
		changed = append(changed, r)
	}
	if len(changed) == 0 {
		return nil
	}
	if err := updateApps(ctx, tx, changed); err != nil {
		return err
	}
	return s.remember(ctx, tx, c, changed, placements)
}
