package site

import (
	"context"
	"maps"
	"slices"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// A site's history keeps the newest revisions, and all those of a certain time.
const (
	keepRevisions = 200
	keepHistory   = 90 * 24 * time.Hour
)

// Revision is a state of a site's manifest.
type Revision struct {
	Number    int64
	Apps      string        // in the form of the manifest, as JSON
	From      time.Time     // when it began
	Until     time.Time     // zero: it is the current one
	User      activity.User // who made it; zero: hidden
	RequestID string
}

// snapshot is a placement at the beginning of a revision.
type snapshot struct {
	AppID     int64     `json:"app_id"`
	Enabled   bool      `json:"enabled"`
	Position  int64     `json:"position"`
	Version   int64     `json:"version"`
	Kept      int64     `json:"kept"`
	Paths     []string  `json:"paths"`
	Config    values    `json:"config"`
	CreatedAt time.Time `json:"created_at"`
}

// remember stores at most a batch of revisions. placements are those of their sites, and may be those of others too.
func (s Service) remember(ctx context.Context, tx *db.Tx, c access.Caller, revisions []begun, placements []Placement) error {
	snapshots, held := map[int64][]snapshot{}, map[[2]int64]string{}
	for _, p := range placements {
		held[[2]int64{p.SiteID, p.AppID}] = p.Held
		snapshots[p.SiteID] = append(snapshots[p.SiteID], snapshot{
			AppID: p.AppID, Enabled: p.Enabled, Position: p.Position, Version: p.Version, Kept: p.kept, Paths: p.Paths, Config: readValues(p.Config),
			CreatedAt: p.CreatedAt,
		})
	}
	for i := range revisions {
		r := &revisions[i]
		r.placements = encode(snapshots[r.ID])
		if c.Organization.ID == r.OrganizationID { // a user of another organization who changed its app is not shown
			r.by = c
		} else if err := s.tell(ctx, tx, *r, held); err != nil {
			return err
		}
	}
	return insertRevisions(ctx, tx, revisions, s.DB.Now())
}

// tell records that a site has followed a change by another organization, or by the operator to that one: which
// versions the site runs now, and why it does not run others. Its own organization's activity has no other entry of
// this.
func (s Service) tell(ctx context.Context, tx *db.Tx, r begun, held map[[2]int64]string) error {
	was, is := runningOf(readEntries(r.before)), runningOf(readEntries(r.apps))
	all := maps.Clone(was)
	maps.Copy(all, is)
	var changes []activity.Change
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if was[id] == is[id] {
			continue
		}
		changes = append(changes, activity.Changed(fieldOf(id, "running"), activity.Number(was[id]), activity.Number(is[id])))
		if why := held[[2]int64{r.ID, id}]; why != "" {
			changes = append(changes, activity.Changed(fieldOf(id, "held"), nil, why))
		}
	}
	if len(changes) == 0 { // an app's name may have changed
		return nil
	}
	return activity.Record(ctx, tx, activityEntry(r.Site, activity.Followed, changes), s.DB.Now())
}

// runningOf returns the version of each app that a manifest lists.
func runningOf(entries []entry) map[int64]int64 {
	all := map[int64]int64{}
	for _, e := range entries {
		all[e.ID] = e.Version
	}
	return all
}

// History returns a page of a site's revisions, newest first.
func (s Service) History(ctx context.Context, c access.Caller, id int64, p page.Page) (found page.Found[Revision], err error) {
	err = s.viewSite(ctx, c, id, func(ctx context.Context, q db.Querier, _ Site) (err error) {
		found, err = queries.Page(ctx, q, p,
			func(ctx context.Context, q db.Querier) (int, error) { return countRevisions(ctx, q, id) },
			func(ctx context.Context, q db.Querier) ([]Revision, error) { return listRevisions(ctx, q, id, p) })
		return err
	})
	for i := range found.Items {
		found.Items[i].Apps = withBase(found.Items[i].Apps, s.BaseURL())
	}
	return found, err
}

// Restore places all apps of a site as they were when a revision began, except apps that were deleted since.
func (s Service) Restore(ctx context.Context, c access.Caller, id int64, revision patch.Field[int64]) (site Site, err error) {
	if err := plugin.MayManage(c); err != nil {
		return Site{}, err
	}
	if !revision.Set {
		return Site{}, fault.Field(fault.Required, "revision", "Must be given: the number of a revision, as the history lists it.")
	}
	if err := revision.Check("revision"); err != nil {
		return Site{}, err
	}
	defer s.Manifests.invalidate()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		site, err = s.restore(ctx, tx, c, id, revision.Value)
		return err
	})
	return site, err
}

// restore changes and records nothing if the site is as it was.
func (s Service) restore(ctx context.Context, tx *db.Tx, c access.Caller, id, revision int64) (Site, error) {
	old, err := findSnapshots(ctx, tx, c.Organization.ID, id, revision)
	if err != nil {
		return Site{}, access.OrNotFound(err)
	}
	deps, err := lockApps(ctx, tx, old)
	if err != nil {
		return Site{}, err
	}
	before, err := s.ownSite(ctx, tx, c, id)
	if err != nil {
		return Site{}, err
	}
	changes, err := s.replace(ctx, tx, deps, before, old)
	if err != nil {
		return Site{}, err
	}
	if err := s.refresh(ctx, tx, deps, c, []Site{before}, everyPlacement); err != nil {
		return Site{}, err
	}
	site, err := findSite(ctx, tx, c.Organization.ID, id)
	if err != nil {
		return Site{}, err
	}
	if len(changes) > 0 || site.Revision != before.Revision {
		changes = append(changes, activity.Changed("revision", nil, revision))
		if err := s.record(ctx, tx, c, site, activity.Restored, changes); err != nil {
			return Site{}, err
		}
	}
	return site, access.KeepAnswer(ctx, tx, site)
}

// lockApps locks the apps that are about to be placed, in their order, so that none changes before its new sites follow
// it.
func lockApps(ctx context.Context, tx *db.Tx, all []snapshot) (*dependencies, error) {
	deps := newDependencies(tx)
	deps.follows = true
	for _, o := range all { // ordered by app id, see findSnapshots
		if err := deps.lock(ctx, tx, o.AppID); err != nil {
			return nil, err
		}
	}
	return deps, nil
}

// replace removes all placements of a site and inserts the old ones; it lists the changes of each app.
func (s Service) replace(ctx context.Context, tx *db.Tx, deps *dependencies, site Site, old []snapshot) (changes []activity.Change, err error) {
	placed, err := listPlacementsOfSites(ctx, tx, []Site{site})
	if err != nil {
		return nil, err
	}
	before := map[int64]Placement{}
	for _, p := range placed {
		before[p.AppID] = p
	}
	if err := removePlacements(ctx, tx, site); err != nil {
		return nil, err
	}
	now := s.DB.Now()
	for _, o := range old {
		if deps.apps[o.AppID].ID == 0 {
			continue // deleted since
		}
		p := Placement{
			SiteID: site.ID, OrganizationID: site.OrganizationID, AppID: o.AppID, Enabled: o.Enabled, Position: o.Position, Version: o.Version,
			kept: o.Kept, Paths: o.Paths, Config: encode(o.Config), Values: "{}", CreatedAt: o.CreatedAt, UpdatedAt: now,
		}
		was := before[p.AppID]
		changed := placementChanges(was, p)
		if len(changed) == 0 {
			p.UpdatedAt = was.UpdatedAt
		}
		if err := insertPlacement(ctx, tx, p); err != nil {
			return nil, err
		}
		changes = append(changes, changed...)
		delete(before, p.AppID)
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		changes = append(changes, placementChanges(before[id], Placement{})...)
	}
	return changes, nil
}
