package plugin

import (
	"context"
	"strconv"
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/base/fair"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/base/precondition"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/bundles"
	"foyer/internal/domain/configschema"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
	"foyer/internal/infra/sandbox"
	"foyer/internal/infra/upstream"
)

// Service does everything that can be done with plugins.
type Service struct {
	DB       *db.DB
	Upstream *upstream.Source
	Catalog  *upstream.Catalog
	Box      seal.Box      // seals credentials of upstreams
	Children *sandbox.Pool // for compiling; must know bundle.TaskName
	Installs *fair.Queue   // of installs and upgrades, shared between organizations
	Diffs    *fair.Queue   // of versions to compare, shared between organizations
	Saves    *fair.Queue   // of saves, one at a time for each plugin
	Searches *fair.Queue   // one at a time for each organization: each has a connection to the database
	Bundles  *bundles.Server
	Cache    *Cache

	// Follow is called in each transaction that changes what pages get of a plugin, after the change; nil: no sites
	// follow plugins.
	Follow func(ctx context.Context, tx *db.Tx, c access.Caller, pluginID int64) error
	// Shown appends a plugin as the API shows it, for events; nil: events have no data.
	Shown func([]byte, Plugin) []byte
}

// Create registers a plugin in the caller's organization. A plugin of type Custom or Repository is installed from its
// upstream.
func (s Service) Create(ctx context.Context, c access.Caller, d Draft) (Plugin, error) {
	d.normalize()
	p, err := s.newPlugin(c, d)
	if err != nil {
		return Plugin{}, err
	}
	if err := mayInstall(p)(c); err != nil {
		return Plugin{}, err
	}
	if p.Type.Installed() {
		return s.install(ctx, c, p, d.URL.Value)
	}
	if len(d.Source) > 0 {
		return s.createWithSource(ctx, c, p, d)
	}
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		c, err := access.ConfirmCached(ctx, tx, c, s.DB.Now(), mayInstall(p))
		if err != nil {
			return err
		}
		if err := insert(ctx, tx, &p); err != nil {
			return err
		}
		return s.installed(ctx, tx, c, p)
	})
	return p, err
}

// lockOwnMatching is findOwnMatching, but it locks the plugin and also returns the caller with their current rights.
func (s Service) lockOwnMatching(ctx context.Context, tx *db.Tx, c access.Caller, id int64) (Plugin, access.Caller, error) {
	p, c, err := s.lockOwn(ctx, tx, c, id)
	if err == nil {
		err = precondition.Check(ctx, p)
	}
	return p, c, err
}

// lockOwn is lockOwnMatching without the check of the plugin's preconditions.
func (s Service) lockOwn(ctx context.Context, tx *db.Tx, c access.Caller, id int64) (Plugin, access.Caller, error) {
	p, err := s.findOwn(ctx, tx, c, id, " FOR UPDATE")
	if err == nil {
		c, err = access.ConfirmCached(ctx, tx, c, s.DB.Now(), MayManage)
	}
	return p, c, err
}

// lockOwnAfterWait is lockOwnMatching for a change that has waited for an upstream or the compiler, see access.Confirm.
func (s Service) lockOwnAfterWait(ctx context.Context, tx *db.Tx, c access.Caller, id int64, d Draft) (Plugin, access.Caller, error) {
	d.lockSharing(tx, c)
	p, err := s.findOwnMatching(ctx, tx, c, id, " FOR UPDATE")
	if err == nil {
		c, err = access.Confirm(ctx, tx, c, s.DB.Now(), MayManage)
	}
	return p, c, err
}

// installed keeps the answer that shows a new plugin, and records the change, once everything is stored: see
// org.Service.LockUser.
func (s Service) installed(ctx context.Context, tx *db.Tx, c access.Caller, p Plugin) error {
	if err := access.KeepAnswer(ctx, tx, p); err != nil {
		return err
	}
	return s.record(ctx, tx, c, p, activity.Installed, nil)
}

// newPlugin makes a plugin from a draft.
func (s Service) newPlugin(c access.Caller, d Draft) (Plugin, error) {
	if err := source.TooMany(d.Source); err != nil {
		return Plugin{}, err
	}
	kind, err := d.newType()
	var faults fault.List
	faults.Add(err)
	inSource := d.readSource(kind)
	if kind.Installed() {
		d.dropBlankName()
		faults.Add(d.checkOrigin(kind))
	} else if _, described := source.ManifestEdit(d.Source); !d.Name.Set && (!described || inSource == nil) {
		faults.Add(fault.Field(fault.Required, "name", "Must be given: 1 to %d characters.", maxName))
	}
	faults.Add(patch.Text("message", d.Message, maxMessage))
	faults.Add(d.faults().Err())
	faults.Add(inSource)
	if err := faults.Err(); err != nil {
		return Plugin{}, err
	}
	p := Plugin{
		OrganizationID: c.Organization.ID, OrganizationName: c.Organization.Name,
		Revision: cache.VersionStep(), Type: kind, UpdatedAt: s.DB.Now(),
	}
	d.apply(&p)
	return p, nil
}

// Get returns one plugin that the caller's organization sees.
func (s Service) Get(ctx context.Context, c access.Caller, id int64) (Plugin, error) {
	return s.get(ctx, s.DB, c, id)
}

func (s Service) get(ctx context.Context, q db.Querier, c access.Caller, id int64) (Plugin, error) {
	if err := MayRead(c); err != nil {
		return Plugin{}, err
	}
	p, err := find(ctx, q, c.Organization, id, "")
	return p, access.OrNotFound(err)
}

// Exporting returns a page of the plugins that would stop with a paid export plan, without
// the defaults of their secret fields.
func (s Service) Exporting(ctx context.Context, c access.Caller, p page.Page) (page.Found[Plugin], error) {
	if err := MayRead(c); err != nil {
		return page.Found[Plugin]{}, err
	}
	found, err := queries.Page(ctx, s.DB, p,
		func(ctx context.Context, q db.Querier) (int, error) { return countExporting(ctx, q, c.Organization.ID) },
		func(ctx context.Context, q db.Querier) ([]Plugin, error) {
			return listExporting(ctx, q, c.Organization.ID, p)
		})
	for i := range found.Items {
		found.Items[i].ConfigSchema = configschema.Masked(found.Items[i].ConfigSchema)
	}
	return found, err
}

// unusedAfter is how long after the last request for its bundle a plugin counts as unused.
const unusedAfter = 30 * 24 * time.Hour

// Unused returns a page of the organization's own plugins that nobody uses: they have no enabled placement, and nobody
// has requested their bundle lately. A use that Bundles has not stored yet does not count.
func (s Service) Unused(ctx context.Context, c access.Caller, p page.Page) (page.Found[Plugin], error) {
	if err := MayRead(c); err != nil {
		return page.Found[Plugin]{}, err
	}
	since := s.DB.Now().Add(-unusedAfter)
	return queries.Page(ctx, s.DB, p,
		func(ctx context.Context, q db.Querier) (int, error) {
			return db.One[int](ctx, q, nil, countUnused, c.Organization.ID, since)
		},
		func(ctx context.Context, q db.Querier) ([]Plugin, error) {
			return listUnused(ctx, q, c.Organization.ID, since, p)
		})
}

// Activity returns a page of the activity of the organization's plugins; only that of one plugin or by one user, if
// given.
func (s Service) Activity(ctx context.Context, c access.Caller, itemID, userEmail string, p page.Page) (page.Found[activity.Stored], error) {
	if err := MayRead(c); err != nil {
		return page.Found[activity.Stored]{}, err
	}
	return activity.List(ctx, s.DB, activity.Filter{
		OrganizationID: c.Organization.ID, Scopes: []activity.Scope{activity.Plugin}, ItemID: itemID, UserEmail: userEmail,
	}, p)
}

// change changes the fields that the draft, which was checked, names, and records the change as verb.
func (s Service) change(ctx context.Context, c access.Caller, id int64, d Draft, verb activity.Verb) (p Plugin, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		d.lockSharing(tx, c)
		before, c, err := s.lockOwnMatching(ctx, tx, c, id)
		if err != nil {
			return err
		}
		if p, err = d.changed(before); err != nil {
			return err
		}
		if p.ConfigSchema != before.ConfigSchema {
			if err := s.versionOfSchema(ctx, tx, c, p); err != nil {
				return err
			}
		}
		return s.save(ctx, tx, c, before, &p, verb)
	})
	return p, err
}

// versionOfSchema makes a version with the config_schema of p, if p has versions.
func (s Service) versionOfSchema(ctx context.Context, tx *db.Tx, c access.Caller, p Plugin) error {
	o, current, err := originAndVersion(ctx, tx, p)
	if err != nil {
		return err
	}
	_, err = s.keepSchema(ctx, tx, c, &o, current, p, "")
	return err
}

// checkAlone normalizes the draft, and finds the faults that are visible without the plugin.
func (d *Draft) checkAlone() error {
	d.normalize()
	_, err := d.newType()
	var faults fault.List
	faults.Add(err)
	faults.Add(d.faults().Err())
	return faults.Err()
}

// save writes a plugin that the transaction has locked, as its next revision, and its activity. If nothing changed, in
// its fields or beside them, it writes nothing.
func (s Service) save(ctx context.Context, tx *db.Tx, c access.Caller, before Plugin, p *Plugin, verb activity.Verb, beside ...activity.Change) error {
	changes := append(difference(&before, p), beside...)
	if len(changes) == 0 {
		return access.KeepAnswer(ctx, tx, *p)
	}
	if p.IsGlobal && !before.IsGlobal {
		if err := MayShare(c); err != nil {
			return err
		}
		var err error
		if p.SharedFrom, err = nextNumber(ctx, tx, p.ID); err != nil {
			return err
		}
	}
	p.Revision += cache.VersionStep()
	p.UpdatedAt = s.DB.Now()
	if err := update(ctx, tx, before, *p); err != nil {
		return err
	}
	if err := access.KeepAnswer(ctx, tx, *p); err != nil {
		return err
	}
	if len(beside) > 0 || p.Name != before.Name || p.ConfigSchema != before.ConfigSchema || p.IsGlobal != before.IsGlobal {
		if err := flagVersion(ctx, tx, *p); err != nil {
			return err
		}
		if err := s.follow(ctx, tx, c, p.ID); err != nil {
			return err
		}
	}
	return s.record(ctx, tx, c, *p, verb, changes)
}

func (s Service) follow(ctx context.Context, tx *db.Tx, c access.Caller, id int64) error {
	if s.Follow == nil {
		return nil
	}
	return s.Follow(ctx, tx, c, id)
}

// findOwnMatching is findOwn, with a check of the request's preconditions.
func (s Service) findOwnMatching(ctx context.Context, q db.Querier, c access.Caller, id int64, lock string) (Plugin, error) {
	p, err := s.findOwn(ctx, q, c, id, lock)
	if err != nil {
		return Plugin{}, err
	}
	return p, precondition.Check(ctx, p)
}

// findOwn returns a plugin of the caller's organization. It refuses a global one of another organization, which can be
// seen but not changed. It reads the organization's name too, since events keep it: on PostgreSQL, the name from before
// a wait for the lock.
func (s Service) findOwn(ctx context.Context, q db.Querier, c access.Caller, id int64, lock string) (Plugin, error) {
	p, err := find(ctx, q, access.Organization{ID: c.Organization.ID}, id, lock)
	if err != nil {
		return Plugin{}, access.OrNotFound(err)
	}
	if p.OrganizationID != c.Organization.ID {
		return Plugin{}, fault.New(fault.Denied, "This app belongs to another organization, and only that one may change it.")
	}
	return p, nil
}

// Own returns one plugin of the caller's organization.
func (s Service) Own(ctx context.Context, c access.Caller, id int64) (Plugin, error) {
	return s.findOwnMatching(ctx, s.DB, c, id, "")
}

func activityEntry(p Plugin, verb activity.Verb, changes []activity.Change) activity.Entry {
	return activity.Entry{
		OrganizationID: p.OrganizationID, Scope: activity.Plugin, ItemID: strconv.FormatInt(p.ID, 10), Verb: verb,
		Name: p.Name, Changes: changes,
	}
}

// record writes an entry that is an event: it has the plugin as the API shows it.
func (s Service) record(ctx context.Context, tx *db.Tx, c access.Caller, p Plugin, verb activity.Verb, changes []activity.Change) error {
	e := activityEntry(p, verb, changes)
	if s.Shown != nil {
		e.Data = string(s.Shown(make([]byte, 0, p.size()), p))
	}
	return activity.Record(ctx, tx, c.Did(e), s.DB.Now())
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
