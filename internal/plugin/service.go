package plugin

import (
	"context"
	"errors"
	"strconv"
	"time"

	"foyer/internal/access"
	"foyer/internal/activity"
	"foyer/internal/db"
	"foyer/internal/fault"
	"foyer/internal/page"
	"foyer/internal/sandbox"
	"foyer/internal/upstream"
)

// Service is everything that can be done to plugins.
type Service struct {
	DB       *db.DB
	Upstream *upstream.Source
	Catalog  *upstream.Catalog
	Sealer   *upstream.Sealer
	Children *sandbox.Pool // compile; must know bundle.TaskName
	Installs *Places       // of installs and upgrades
	Saves    *Places       // of sources that are edited
	Diffs    *Places       // of versions that are compared
	Bundles  *Bundles
	Memory   *Memory
}

// Create registers a plugin in the caller's organization; one of type Custom or
// Repository is installed from its upstream.
func (s Service) Create(ctx context.Context, c access.Caller, d Draft) (Plugin, error) {
	if err := MayManage(c); err != nil {
		return Plugin{}, err
	}
	p, err := s.draw(c, d)
	if err != nil {
		return Plugin{}, err
	}
	if p.IsGlobal {
		if err := MayShare(c); err != nil {
			return Plugin{}, err
		}
	}
	if p.Type.Installed() {
		return s.install(ctx, c, p, d.URL.Value)
	}
	err = s.DB.InBlindTx(ctx, func(tx *db.Tx) error { return s.insert(ctx, tx, c, &p) })
	return p, err
}

// insert stores a new plugin, and the activity that tells of it. The plugin gets its
// id at the next flush or commit.
func (s Service) insert(ctx context.Context, tx *db.Tx, c access.Caller, p *Plugin) error {
	if err := insert(ctx, tx, p); err != nil {
		return err
	}
	if err := count(ctx, tx, *p, 1, one(p.IsGlobal)); err != nil {
		return err
	}
	return activity.RecordInserted(ctx, tx, "plugins", entry(c, *p, activity.Installed, nil), p.CreatedAt)
}

// draw makes a plugin out of a draft.
func (s Service) draw(c access.Caller, d Draft) (Plugin, error) {
	d.normalize()
	kind, err := d.newType()
	var faults fault.List
	faults.Add(err)
	if kind.Installed() {
		d.dropBlankName()
		faults.Add(d.checkOrigin(kind))
	} else if !d.Name.Set {
		faults.Add(fault.Field(fault.Required, "name", "Must be given: 1 to %d characters.", maxName))
	}
	faults.Add(d.faults().Err())
	if err := faults.Err(); err != nil {
		return Plugin{}, err
	}
	now := s.DB.Now()
	p := Plugin{
		OrganizationID: c.Organization.ID, OrganizationName: c.Organization.Name,
		Revision: db.Step(), Type: kind, CreatedAt: now, UpdatedAt: now,
	}
	d.apply(&p)
	return p, nil
}

// Get returns one plugin that the caller's organization can see.
func (s Service) Get(ctx context.Context, c access.Caller, id int64) (Plugin, error) {
	return s.get(ctx, s.DB, c, id)
}

func (s Service) get(ctx context.Context, q db.Querier, c access.Caller, id int64) (Plugin, error) {
	if err := MayRead(c); err != nil {
		return Plugin{}, err
	}
	p, known, err := s.recall(ctx, q, c, id, "")
	if err == nil && !known {
		s.Memory.keep(p)
	}
	return p, err
}

// recall returns a plugin that the caller's organization can see, from memory if
// that is known to hold. What a transaction has read must not be put there: it may
// still be undone.
func (s Service) recall(ctx context.Context, q db.Querier, c access.Caller, id int64, lock string) (p Plugin, known bool, err error) {
	kept, revision, ok := s.Memory.one.Last(id)
	if ok && kept.OrganizationID == c.Organization.ID { // no revision tells of another's name
		stored, err := revisionOf(ctx, q, c.Organization.ID, id, lock)
		if err != nil {
			return Plugin{}, false, access.OrNotFound(err)
		}
		if stored == revision {
			kept.OrganizationName = c.Organization.Name
			return kept, true, nil
		}
	}
	p, err = find(ctx, q, c.Organization.ID, id, lock)
	return p, false, access.OrNotFound(err)
}

// List returns a page of what the caller's organization can see.
func (s Service) List(ctx context.Context, c access.Caller, p page.Page) (page.Found[Plugin], error) {
	if err := MayRead(c); err != nil {
		return page.Found[Plugin]{}, err
	}
	after, err := parseCursor(p.After)
	if err != nil {
		return page.Found[Plugin]{}, err
	}
	counted, err := countVisible(ctx, s.DB, c.Organization.ID)
	if err != nil || p.Beyond(counted.count()) {
		return page.Found[Plugin]{Count: counted.count()}, err
	}
	key := pageOf{c.Organization.ID, after, p.Limit, p.Skip()}
	if found, ok := s.Memory.pages.Get(key, counted.revision); ok {
		return found, nil
	}
	plugins, more, err := list(ctx, s.DB, c.Organization.ID, counted, after, p)
	if err != nil {
		return page.Found[Plugin]{}, err
	}
	found := page.Cut(plugins, p, counted.count(), Plugin.Cursor)
	found.More = found.More || more
	s.Memory.pages.Put(key, counted.revision, found)
	return found, nil
}

// Exporting returns a page of the plugins that would stop with a paid export plan.
func (s Service) Exporting(ctx context.Context, c access.Caller, p page.Page) (page.Found[Plugin], error) {
	if err := MayRead(c); err != nil {
		return page.Found[Plugin]{}, err
	}
	return db.Page(ctx, s.DB, p,
		func(q db.Querier) (int, error) { return countExporting(ctx, q, c.Organization.ID) },
		func(q db.Querier) ([]Plugin, error) { return listExporting(ctx, q, c.Organization.ID, p) })
}

// unusedAfter is how long after its bundle was last asked for a plugin counts as unused.
const unusedAfter = 30 * 24 * time.Hour

// Unused returns a page of the organization's own plugins that nobody uses. Use
// that Bundles has not written down yet does not count.
func (s Service) Unused(ctx context.Context, c access.Caller, p page.Page) (page.Found[Plugin], error) {
	if err := MayRead(c); err != nil {
		return page.Found[Plugin]{}, err
	}
	since := s.DB.Now().Add(-unusedAfter)
	return db.Page(ctx, s.DB, p,
		func(q db.Querier) (int, error) { return countUnused(ctx, q, c.Organization.ID, since) },
		func(q db.Querier) ([]Plugin, error) { return listUnused(ctx, q, c.Organization.ID, since, p) })
}

// Activity returns a page of what was done to the organization's plugins; only about one
// plugin or by one user, if given.
func (s Service) Activity(ctx context.Context, c access.Caller, itemID, userEmail string, p page.Page) (page.Found[activity.Stored], error) {
	if err := MayRead(c); err != nil {
		return page.Found[activity.Stored]{}, err
	}
	return activity.List(ctx, s.DB, activity.Filter{
		OrganizationID: c.Organization.ID, Scope: activity.Plugin, ItemID: itemID, UserEmail: userEmail,
	}, p)
}

// Update changes the fields that the draft names.
func (s Service) Update(ctx context.Context, c access.Caller, id int64, d Draft) (Plugin, error) {
	return s.change(ctx, c, id, d, activity.Updated)
}

// change has three ways to a plugin, the cheapest first. One in memory is written unread, if
// its revision is still that on disk (changeKept); otherwise its row is locked (own), and
// what is in memory is used if it has the revision of the row, else the row is read (recall).
func (s Service) change(ctx context.Context, c access.Caller, id int64, d Draft, verb activity.Verb) (Plugin, error) {
	if err := MayManage(c); err != nil {
		return Plugin{}, err
	}
	d.normalize()
	if err := d.checkAlone(); err != nil {
		return Plugin{}, err
	}
	var p Plugin
	err := s.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		var changed bool
		if p, changed, err = s.changeKept(ctx, tx, c, id, d, verb); changed || err != nil {
			return err
		}
		before, err := s.own(ctx, tx, c, id, tx.ForUpdate)
		if err != nil {
			return err
		}
		if p, err = d.changed(before); err != nil {
			return err
		}
		changes := diff(before, p)
		if len(changes) == 0 {
			return nil
		}
		return s.save(ctx, tx, c, before, &p, verb, changes)
	})
	if err != nil {
		return Plugin{}, err
	}
	s.Memory.keep(p)
	return p, nil
}

// checkAlone finds the faults that can be seen without the plugin.
func (d *Draft) checkAlone() error {
	_, err := d.newType()
	var faults fault.List
	faults.Add(err)
	faults.Add(d.faults().Err())
	return faults.Err()
}

// changeKept changes a plugin that is in memory by one statement. A fault, or no change,
// is left to the ordinary way: what is in memory may be stale.
func (s Service) changeKept(ctx context.Context, tx *db.Tx, c access.Caller, id int64, d Draft, verb activity.Verb) (p Plugin, changed bool, err error) {
	kept, _, ok := s.Memory.one.Last(id)
	if !ok || kept.OrganizationID != c.Organization.ID {
		return Plugin{}, false, nil
	}
	kept.OrganizationName = c.Organization.Name
	p, err = d.changed(kept)
	changes := diff(kept, p)
	if err != nil || len(changes) == 0 || s.advance(c, kept, &p) != nil {
		return Plugin{}, false, nil //nolint:nilerr // the ordinary way finds the fault again
	}
	if changed, err = swap(ctx, tx, kept, p); err != nil || !changed {
		return Plugin{}, false, err
	}
	return p, true, record(ctx, tx, c, p, verb, changes)
}

// advance makes a changed plugin the next revision of what it was before.
func (s Service) advance(c access.Caller, before Plugin, p *Plugin) error {
	if p.IsGlobal && !before.IsGlobal {
		if err := MayShare(c); err != nil {
			return err
		}
	}
	p.Revision += db.Step()
	p.UpdatedAt = s.DB.Now()
	return nil
}

// save writes a plugin that has been changed, and the activity that tells of it.
func (s Service) save(ctx context.Context, tx *db.Tx, c access.Caller, before Plugin, p *Plugin, verb activity.Verb, changes []activity.Change) error {
	if err := s.advance(c, before, p); err != nil {
		return err
	}
	if err := update(ctx, tx, before, *p); err != nil {
		return err
	}
	return record(ctx, tx, c, *p, verb, changes)
}

// Delete removes a plugin of the caller's organization.
func (s Service) Delete(ctx context.Context, c access.Caller, id int64) error {
	if err := MayManage(c); err != nil {
		return err
	}
	defer s.Bundles.forget()
	erase := func(tx *db.Tx) error { return s.erase(ctx, tx, c, id) }
	err := s.DB.InTx(ctx, erase)
	if errors.Is(err, errRaced) {
		err = s.DB.InTx(ctx, erase) // it has source now, and keeps having it
	}
	return err
}

// erase removes a plugin; errRaced if its first source was saved meanwhile.
func (s Service) erase(ctx context.Context, tx *db.Tx, c access.Caller, id int64) error {
	hasSource, err := lockContentsOf(ctx, tx, c, id)
	if err != nil {
		return err
	}
	p, err := s.own(ctx, tx, c, id, tx.ForUpdate)
	if err != nil {
		return err
	}
	if o, err := originOf(ctx, tx, p.OrganizationID, p.ID); err != nil {
		return err
	} else if o.Current != 0 && !hasSource {
		return errRaced // it is too late to lock the contents, see lockContents
	}
	if err := removeAll(ctx, tx, p, hasSource); err != nil {
		return err
	}
	if err := count(ctx, tx, p, -1, -one(p.IsGlobal)); err != nil {
		return err
	}
	p.UpdatedAt = s.DB.Now()
	return record(ctx, tx, c, p, activity.Uninstalled, nil)
}

// own returns a plugin that the caller is going to change: a global one of
// another organization can be seen, but not changed.
func (s Service) own(ctx context.Context, q db.Querier, c access.Caller, id int64, lock string) (Plugin, error) {
	p, _, err := s.recall(ctx, q, c, id, lock)
	if err != nil {
		return Plugin{}, err
	}
	if p.OrganizationID != c.Organization.ID {
		return Plugin{}, fault.New(fault.Denied, "This app belongs to another organization, and only that one may change it.")
	}
	return p, nil
}

// diff lists the fields that are not the same.
func diff(before, after Plugin) []activity.Change {
	var changes []activity.Change
	text := func(field, b, a string) {
		if a != b {
			changes = append(changes, activity.Changed(field, b, a))
		}
	}
	structure := func(field, b, a string) {
		if a != b {
			changes = append(changes, activity.Changed(field, activity.JSON(b), activity.JSON(a)))
		}
	}
	text("plugin_type", string(before.Type), string(after.Type))
	text("name", before.Name, after.Name)
	text("description", before.Description, after.Description)
	text("icon", before.Icon, after.Icon)
	structure("config_schema", before.ConfigSchema, after.ConfigSchema)
	text("tag", before.Tag, after.Tag)
	text("latest_tag", before.LatestTag, after.LatestTag)
	if before.IsGlobal != after.IsGlobal {
		changes = append(changes, activity.Changed("is_global", before.IsGlobal, after.IsGlobal))
	}
	structure("capabilities", before.Capabilities, after.Capabilities)
	structure("metrics", before.Metrics, after.Metrics)
	structure("public_jobs", before.PublicJobs, after.PublicJobs)
	return changes
}

func record(ctx context.Context, tx *db.Tx, c access.Caller, p Plugin, verb activity.Verb, changes []activity.Change) error {
	e := entry(c, p, verb, changes)
	e.ItemID = strconv.FormatInt(p.ID, 10)
	return activity.Record(ctx, tx, e, p.UpdatedAt)
}

// entry tells of a change to a plugin, but not yet to which.
func entry(c access.Caller, p Plugin, verb activity.Verb, changes []activity.Change) activity.Entry {
	return activity.Entry{
		OrganizationID: p.OrganizationID, Scope: activity.Plugin, Verb: verb,
		User: activity.User{ID: c.UserID}, Name: p.Name, Changes: changes, RequestID: c.RequestID,
	}
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
