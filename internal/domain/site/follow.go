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
		return s.refresh(ctx, tx, deps, c, sites, appID)
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
		return s.refresh(ctx, tx, deps, access.Caller{Organization: access.Organization{ID: organizationID}}, sites, 0)
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

// refresh updates the placements of an app, or of all apps if appID is 0, on at most a batch of locked sites, and
// publishes the sites.
func (s Service) refresh(ctx context.Context, tx *db.Tx, deps *dependencies, c access.Caller, sites []Site, appID int64) error {
	placements, err := listPlacementsOfSites(ctx, tx, sites, appID)
	if err != nil {
		return err
	}
	if err := s.resolveAll(ctx, tx, deps, sites, placements, false); err != nil {
		return err
	}
	if err := s.resume(ctx, tx, deps, sites); err != nil {
		return err
	}
	return s.publish(ctx, tx, c, sites)
}

// resume runs placements that were held for lack of room, in their order, on at most a batch of locked sites where
// other placements may have made room. It skips one that still does not fit. It looks at each placement once: a
// placement that resumes takes room and frees none.
func (s Service) resume(ctx context.Context, tx *db.Tx, deps *dependencies, sites []Site) error {
	held, err := listHeld(ctx, tx, sites)
	if err != nil || len(held) == 0 {
		return err
	}
	return s.resolveAll(ctx, tx, deps, sites, held, true)
}

// resolveAll updates placements on at most a batch of locked sites. If they were waiting, a placement takes more room
// only if it runs now.
func (s Service) resolveAll(ctx context.Context, tx *db.Tx, deps *dependencies, sites []Site, placements []Placement, waiting bool) error {
	byID := make(map[int64]Site, len(sites))
	for _, site := range sites {
		byID[site.ID] = site
	}
	taken, err := bytesOfSites(ctx, tx, sites)
	if err != nil {
		return err
	}
	var changed []Placement
	for _, p := range placements {
		before := p
		others := taken[p.SiteID] - p.bytes()
		if err := deps.resolve(ctx, byID[p.SiteID], &p, others); err != nil {
			return err
		}
		if waiting && p.Running == before.Running {
			p.Values = before.Values
		}
		taken[p.SiteID] = others + p.bytes()
		if p.Running != before.Running || p.kept != before.kept || p.Held != before.Held || p.Values != before.Values {
			changed = append(changed, p)
		}
	}
	for some := range slices.Chunk(changed, batch) {
		if err := updateOutcomes(ctx, tx, some); err != nil {
			return err
		}
	}
	return nil
}

// publish makes the manifests of locked sites, and a new revision of each that has changed.
func (s Service) publish(ctx context.Context, tx *db.Tx, c access.Caller, sites []Site) error {
	all, err := listListed(ctx, tx, sites)
	if err != nil {
		return err
	}
	entries := map[int64][]entry{}
	for _, l := range all {
		entries[l.siteID] = append(entries[l.siteID], l.entryOf())
	}
	var changed []Site
	for _, site := range sites {
		apps := "[]"
		if e := entries[site.ID]; len(e) > 0 {
			apps = encode(e)
		}
		if apps == site.apps {
			continue
		}
		site.Revision++
		site.before, site.apps, site.runs = site.apps, apps, versionsOf(entries[site.ID])
		changed = append(changed, site)
	}
	if len(changed) == 0 {
		return nil
	}
	if err := updateApps(ctx, tx, changed); err != nil {
		return err
	}
	return s.remember(ctx, tx, c, changed)
}
