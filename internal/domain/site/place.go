package site

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/precondition"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// viewSite reads a site and what belongs to it, all at one moment.
func (s Service) viewSite(ctx context.Context, c access.Caller, id int64, read func(context.Context, db.Querier, Site) error) error {
	if err := plugin.MayRead(c); err != nil {
		return err
	}
	return s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		site, err := findSite(ctx, q, c.Organization.ID, id)
		if err != nil {
			return access.OrNotFound(err)
		}
		return read(ctx, q, site)
	})
}

// Apps returns a page of the placements on a site, in its order.
func (s Service) Apps(ctx context.Context, c access.Caller, id int64, p page.Page) (found page.Found[Placement], err error) {
	err = s.viewSite(ctx, c, id, func(ctx context.Context, q db.Querier, site Site) (err error) {
		found, err = queries.Page(ctx, q, p,
			func(context.Context, db.Querier) (int, error) { return site.AppsCount, nil },
			func(ctx context.Context, q db.Querier) ([]Placement, error) { return listPlacements(ctx, q, site, p) })
		return err
	})
	return found, err
}

// App returns the placement of one app on a site.
func (s Service) App(ctx context.Context, c access.Caller, id, appID int64) (found Placement, err error) {
	err = s.viewSite(ctx, c, id, func(ctx context.Context, q db.Querier, site Site) (err error) {
		found, err = findPlacement(ctx, q, site, appID)
		return access.OrNotFound(err)
	})
	return found, err
}

// PlacementsOf returns a page of the placements of an app on the organization's sites.
func (s Service) PlacementsOf(ctx context.Context, c access.Caller, appID int64, p page.Page) (found page.Found[Placement], err error) {
	if err := plugin.MayRead(c); err != nil {
		return found, err
	}
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		if err := visible(ctx, q, c, appID); err != nil {
			return err
		}
		found, err = queries.Page(ctx, q, p,
			func(ctx context.Context, q db.Querier) (int, error) {
				return countPlacementsOfApp(ctx, q, c.Organization.ID, appID)
			},
			func(ctx context.Context, q db.Querier) ([]Placement, error) {
				return listPlacementsOfApp(ctx, q, c.Organization.ID, appID, p)
			})
		return err
	})
	return found, err
}

// visible fails unless the caller's organization sees an app.
func visible(ctx context.Context, q db.Querier, c access.Caller, appID int64) error {
	a, err := plugin.FindRunnable(ctx, q, appID)
	if err != nil {
		return access.OrNotFound(err)
	}
	if !a.Seen(c.Organization.ID) {
		return access.ErrNotFound
	}
	return nil
}

// lock locks an app and reads it; the app may have been deleted.
func (deps *dependencies) lock(ctx context.Context, tx *db.Tx, appID int64) error {
	a, err := plugin.LockRunnable(ctx, tx, appID)
	if err != nil && !errors.Is(err, db.ErrNoRow) {
		return err
	}
	deps.apps[appID] = a
	return nil
}

// Place puts an app on a site.
func (s Service) Place(ctx context.Context, c access.Caller, id int64, d PlacementDraft) (placed Placement, err error) {
	if err := plugin.MayManage(c); err != nil {
		return Placement{}, err
	}
	var faults fault.List
	if !d.AppID.Set {
		faults.Add(fault.Field(fault.Required, "app_id", "Must be given: the id of an app."))
	}
	faults.Add(d.AppID.Check("app_id"))
	faults.Add(d.check())
	if err := faults.Err(); err != nil {
		return Placement{}, err
	}
	defer s.Manifests.invalidate()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		placed, err = s.place(ctx, tx, c, id, d)
		return err
	})
	return placed, err
}

// place locks the app before the site, in the same order as changes of an app.
func (s Service) place(ctx context.Context, tx *db.Tx, c access.Caller, id int64, d PlacementDraft) (Placement, error) {
	deps := newDependencies(tx)
	if err := deps.lock(ctx, tx, d.AppID.Value); err != nil {
		return Placement{}, err
	}
	site, err := s.ownSite(ctx, tx, c, id)
	if err != nil {
		return Placement{}, err
	}
	a := deps.apps[d.AppID.Value]
	if !a.Seen(c.Organization.ID) {
		return Placement{}, fault.Field(fault.Invalid, "app_id", "The organization has no such app, and none is shared with it.")
	}
	if _, err := findPlacement(ctx, tx, site, a.ID); !errors.Is(err, db.ErrNoRow) {
		return Placement{}, cmp.Or(err, fault.Field(fault.NotUnique, "app_id", "The app is on this site already."))
	}
	full, err := findRoom(ctx, tx, site)
	if err != nil {
		return Placement{}, err
	}
	if full.placements >= maxPlacements {
		return Placement{}, fault.Field(fault.Invalid, "app_id", "A site has at most %d apps: remove one first.", maxPlacements)
	}
	now := s.DB.Now()
	p := Placement{
		SiteID: id, SiteName: site.Name, SiteToken: site.Token, OrganizationID: c.Organization.ID, AppID: a.ID, Name: a.Name, Enabled: true, Position: min(full.last+1, maxPosition),
		Paths: []string{}, Config: "{}", CreatedAt: now, UpdatedAt: now,
	}
	if a.OrganizationID != c.Organization.ID && !d.Version.Set { // do not follow another organization's app unless asked to
		p.Version = a.Current
		if a.Current == 0 {
			return Placement{}, fault.Field(fault.Invalid, "app_id", "This app of another organization has no version yet that could be placed.")
		}
	}
	d.apply(&p)
	if err := deps.complete(ctx, site, &p, d, full.configBytes); err != nil {
		return Placement{}, err
	}
	if err := insertPlacement(ctx, tx, p); err != nil {
		return Placement{}, err
	}
	if err := access.KeepAnswer(ctx, tx, p); err != nil {
		return Placement{}, err
	}
	return p, s.changed(ctx, tx, deps, c, site, activity.Added, placementChanges(Placement{}, p))
}

// changed publishes a site after a change of one placement, and records the change. Other placements may have been
// waiting for the room that it has freed.
func (s Service) changed(ctx context.Context, tx *db.Tx, deps *dependencies, c access.Caller, site Site, verb activity.Verb, changes []activity.Change) error {
	if err := s.refresh(ctx, tx, deps, c, []Site{site}, noPlacement); err != nil {
		return err
	}
	site, err := findSite(ctx, tx, site.OrganizationID, site.ID) // as it is now
	if err != nil {
		return err
	}
	return s.record(ctx, tx, c, site, verb, changes)
}

// complete checks a placement after a draft was applied to it, and finds out what it runs.
func (deps *dependencies) complete(ctx context.Context, site Site, p *Placement, d PlacementDraft, otherBytes int) error {
	if d.Version.Set && p.Version != 0 {
		if err := deps.mayPin(ctx, site, *p); err != nil {
			return err
		}
	}
	if err := deps.pathsFit(ctx, site, p.AppID, d.Paths.Value); err != nil {
		return err
	}
	if d.Config.Set || d.Version.Set || d.AppID.Set || d.Enabled.Set && p.Enabled { // switching off needs no valid values
		checked, err := deps.wanted(ctx, *p)
		if err != nil {
			return err
		}
		given := readValues(p.Config)
		p.Values = checked.shown(given)
		if n := otherBytes + p.bytes(); n > maxConfigBytes {
			return tooManyBytes(n)
		}
		faults := append(checked.unknown(d.Config.Value), checked.faults(given, p.Enabled)...)
		if err := faults.Err(); err != nil {
			return err
		}
	}
	return deps.resolve(ctx, site, p, otherBytes)
}

// pathsFit refuses an app's paths if there is no room for them beside those of the other apps on the site. An empty
// list always fits.
func (deps *dependencies) pathsFit(ctx context.Context, site Site, appID int64, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	all, err := listOtherPaths(ctx, deps.q, site, appID)
	if err != nil {
		return err
	}
	n := 0
	for _, some := range append(all, paths) {
		n += len(list(globs(some)))
	}
	if n > maxPathBytes {
		return fault.Field(fault.TooLong, "paths", "The paths on a site take at most %d bytes together, in all the ways that browsers write them, not %d.", maxPathBytes, n)
	}
	return nil
}

// mayPin refuses a version that a placement cannot be pinned to.
func (deps *dependencies) mayPin(ctx context.Context, site Site, p Placement) error {
	a, err := deps.app(ctx, p.AppID)
	if err != nil {
		return err
	}
	v, err := deps.version(ctx, p.AppID, p.Version)
	switch {
	case err != nil:
		return err
	case v == nil || !a.Shows(site.OrganizationID, *v):
		return plugin.ErrNoVersion
	case v.Withdrawn.Is():
		return fault.Field(fault.Invalid, "version", "Version %d is withdrawn: %s", p.Version, v.Withdrawn.Reason)
	}
	return nil
}

// Change changes how an app is placed. It does not check again a version that the placement is pinned to already, since
// that may have been withdrawn.
func (s Service) Change(ctx context.Context, c access.Caller, id, appID int64, d PlacementDraft) (p Placement, err error) {
	if err := plugin.MayManage(c); err != nil {
		return Placement{}, err
	}
	d.AppID = PlacementDraft{}.AppID // it is in the path
	if err := d.check(); err != nil {
		return Placement{}, err
	}
	defer s.Manifests.invalidate()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, err = s.change(ctx, tx, c, id, appID, d)
		return err
	})
	return p, err
}

func (s Service) change(ctx context.Context, tx *db.Tx, c access.Caller, id, appID int64, d PlacementDraft) (Placement, error) {
	deps := newDependencies(tx)
	if d.Version.Value != 0 { // lock the app, so that an older version is not removed meanwhile
		if err := deps.lock(ctx, tx, appID); err != nil {
			return Placement{}, err
		}
	}
	site, before, err := s.own(ctx, tx, c, id, appID)
	if err != nil {
		return Placement{}, err
	}
	p := before
	d = d.changing(before)
	d.apply(&p)
	full, err := findRoom(ctx, tx, site)
	if err != nil {
		return Placement{}, err
	}
	if err := deps.complete(ctx, site, &p, d, full.configBytes-before.bytes()); err != nil {
		return Placement{}, err
	}
	changes := placementChanges(before, p)
	if len(changes) == 0 {
		return p, access.KeepAnswer(ctx, tx, p)
	}
	if before.Enabled { // only what is switched off has a reason, see checkReason
		changes = append(changes, activity.Reason(fieldOf(appID, "reason"), "", d.Reason.Value))
	}
	p.UpdatedAt = s.DB.Now()
	if err := updatePlacement(ctx, tx, p); err != nil {
		return Placement{}, err
	}
	if err := access.KeepAnswer(ctx, tx, p); err != nil {
		return Placement{}, err
	}
	return p, s.changed(ctx, tx, deps, c, site, activity.Updated, changes)
}

// own locks a site and returns a placement on it for the caller to change. The app needs a lock only if the placement
// gets another version: a change of the app finds the placement and waits for the site.
func (s Service) own(ctx context.Context, tx *db.Tx, c access.Caller, id, appID int64) (Site, Placement, error) {
	site, err := s.lockSite(ctx, tx, c, id, plugin.MayManage)
	if err != nil {
		return Site{}, Placement{}, err
	}
	p, err := ownPlacement(ctx, tx, site, appID)
	return site, p, err
}

// ownPlacement finds the placement that a request names, on a locked site.
func ownPlacement(ctx context.Context, tx *db.Tx, site Site, appID int64) (Placement, error) {
	p, err := findPlacement(ctx, tx, site, appID)
	if err != nil {
		return Placement{}, access.OrNotFound(err)
	}
	return p, precondition.Check(ctx, p)
}

// Remove takes an app off a site.
func (s Service) Remove(ctx context.Context, c access.Caller, id, appID int64) error {
	if err := plugin.MayManage(c); err != nil {
		return err
	}
	defer s.Manifests.invalidate()
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		site, p, err := s.own(ctx, tx, c, id, appID)
		if err != nil {
			return err
		}
		if err := removePlacement(ctx, tx, site, appID); err != nil {
			return err
		}
		return s.changed(ctx, tx, newDependencies(tx), c, site, activity.Removed, placementChanges(p, Placement{}))
	})
}

// placementChanges lists the fields that differ, under the app's id. Either placement may be the zero Placement, which
// means none: its fields are null. The values are not masked, since no secret field takes a value.
func placementChanges(a, b Placement) (changes []activity.Change) {
	appID := cmp.Or(a.AppID, b.AppID)
	add := func(field string, same bool, before, after any) {
		if a.AppID == 0 {
			before = nil
		}
		if b.AppID == 0 {
			after = nil
		}
		if !same || a.AppID != b.AppID {
			changes = append(changes, activity.Changed(fieldOf(appID, field), before, after))
		}
	}
	add("enabled", a.Enabled == b.Enabled, a.Enabled, b.Enabled)
	add("position", a.Position == b.Position, a.Position, b.Position)
	add("version", a.Version == b.Version, activity.Number(a.Version), activity.Number(b.Version))
	add("paths", list(a.Paths) == list(b.Paths), activity.JSON(list(a.Paths)), activity.JSON(list(b.Paths)))
	before, after := readValues(a.Config), readValues(b.Config)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		add("config."+key, string(before[key]) == string(after[key]), activity.JSON(string(before[key])), activity.JSON(string(after[key])))
	}
	return changes
}

// fieldOf is the name of an app's field in the activity of a site.
func fieldOf(appID int64, field string) string {
	return "apps." + strconv.FormatInt(appID, 10) + "." + field
}
