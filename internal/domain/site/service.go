package site

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"

	"foyer/internal/base/fault"
	"foyer/internal/base/precondition"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
)

// Service does everything that can be done with sites and their placements.
type Service struct {
	DB        *db.DB
	Manifests *Manifests
	Box       seal.Box                  // seals the keys of try pages
	Shown     func([]byte, Site) []byte // appends a site as the API shows it, for events; nil: events have no data
}

// BaseURL is the beginning of the urls for pages; "" if it is unknown.
func (s Service) BaseURL() string { return s.Manifests.BaseURL }

// Snippet returns the HTML element for the pages of a site.
func (s Service) Snippet(site Site) string {
	if site.Token == "" || s.BaseURL() == "" { // a dry run makes no token
		return ""
	}
	return `<script async src="` + s.BaseURL() + "/sites/" + site.Token + `/loader.js"></script>`
}

// Create makes a site, without apps.
func (s Service) Create(ctx context.Context, c access.Caller, d Draft) (Site, error) {
	if err := plugin.MayManage(c); err != nil {
		return Site{}, err
	}
	var faults fault.List
	if !d.Name.Set {
		faults.Add(fault.Field(fault.Required, "name", "Must be given: 1 to %d characters.", maxName))
	}
	faults.Add(d.check())
	if err := faults.Err(); err != nil {
		return Site{}, err
	}
	now := s.DB.Now()
	site := Site{
		OrganizationID: c.Organization.ID, Token: rand.Text(), Enabled: true, Demo: d.Demo, Origins: []string{},
		Revision: 1, CreatedAt: now, UpdatedAt: now, apps: "[]",
	}
	d.apply(&site)
	var made Site
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		lockAdding(tx, c.Organization.ID)
		n, err := countSites(ctx, tx, c.Organization.ID) // this waits for the lock
		if err != nil {
			return err
		}
		if _, err := access.Confirm(ctx, tx, c, s.DB.Now(), plugin.MayManage); err != nil {
			return err
		}
		if n >= maxSites {
			return fault.New(fault.Invalid, "An organization has at most %d sites: delete one first.", maxSites)
		}
		made = site
		if made.ID, err = insertSite(ctx, tx, site); err != nil {
			return access.OrChanged(err)
		}
		if err := s.remember(ctx, tx, c, []begun{{Site: made}}, nil); err != nil {
			return err
		}
		if err := access.KeepAnswer(ctx, tx, made); err != nil {
			return err
		}
		return s.record(ctx, tx, c, made, activity.Created, nil)
	})
	return made, taken(err)
}

// taken returns the fault of a name that is not unique.
func taken(err error) error {
	if errors.Is(err, db.ErrUnique) {
		return fault.Field(fault.NotUnique, "name", "Another site of the organization has this name.")
	}
	return err
}

// Get returns one site of the caller's organization.
func (s Service) Get(ctx context.Context, c access.Caller, id int64) (Site, error) {
	if err := plugin.MayRead(c); err != nil {
		return Site{}, err
	}
	site, err := findSite(ctx, s.DB, c.Organization.ID, id)
	return site, access.OrNotFound(err)
}

// lockSite locks a site for the caller, and checks again that they may do what they want with it: their turn may come long
// after they were admitted.
func (s Service) lockSite(ctx context.Context, tx *db.Tx, c access.Caller, id int64, may func(access.Caller) error) (Site, error) {
	site, err := lockedSite(ctx, tx, c.Organization.ID, id)
	if err != nil {
		return Site{}, access.OrNotFound(err)
	}
	_, err = access.Confirm(ctx, tx, c, s.DB.Now(), may)
	return site, err
}

// ownSite is lockSite for the site that a request names and changes.
func (s Service) ownSite(ctx context.Context, tx *db.Tx, c access.Caller, id int64) (Site, error) {
	site, err := s.lockSite(ctx, tx, c, id, plugin.MayManage)
	if err != nil {
		return Site{}, err
	}
	return site, precondition.Check(ctx, site)
}

// Update changes the fields that the draft names.
func (s Service) Update(ctx context.Context, c access.Caller, id int64, d Draft) (site Site, err error) {
	if err := plugin.MayManage(c); err != nil {
		return Site{}, err
	}
	if err := d.check(); err != nil {
		return Site{}, err
	}
	defer s.Manifests.invalidate()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if site, err = s.ownSite(ctx, tx, c, id); err != nil {
			return err
		}
		before := site
		d.apply(&site)
		changes := difference(before, site)
		if len(changes) == 0 {
			return nil
		}
		if before.Enabled { // only what is switched off has a reason, see checkReason
			changes = append(changes, activity.Reason("reason", "", d.Reason.Value))
		}
		site.UpdatedAt = s.DB.Now()
		if err := updateSite(ctx, tx, site); err != nil {
			return err
		}
		if site.Enabled != before.Enabled {
			if err := s.refresh(ctx, tx, newDependencies(tx), c, []Site{site}, everyPlacement); err != nil {
				return err
			}
		}
		site, err = s.finish(ctx, tx, c, id, changes)
		return err
	})
	return site, taken(err)
}

// finish records a change of a site, and returns the site as it is now, which it keeps as the answer.
func (s Service) finish(ctx context.Context, tx *db.Tx, c access.Caller, id int64, changes []activity.Change) (Site, error) {
	site, err := findSite(ctx, tx, c.Organization.ID, id)
	if err != nil {
		return Site{}, err
	}
	if err := s.record(ctx, tx, c, site, activity.Updated, changes); err != nil {
		return Site{}, err
	}
	return site, access.KeepAnswer(ctx, tx, site)
}

func difference(a, b Site) (changes []activity.Change) {
	if a.Name != b.Name {
		changes = append(changes, activity.Changed("name", a.Name, b.Name))
	}
	if a.Enabled != b.Enabled {
		changes = append(changes, activity.Changed("enabled", a.Enabled, b.Enabled))
	}
	if list(a.Origins) != list(b.Origins) {
		changes = append(changes, activity.Changed("origins", activity.JSON(list(a.Origins)), activity.JSON(list(b.Origins))))
	}
	return changes
}

// Delete removes a site and its placements.
func (s Service) Delete(ctx context.Context, c access.Caller, id int64) error {
	if err := plugin.MayManage(c); err != nil {
		return err
	}
	defer s.Manifests.invalidate()
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		site, err := s.ownSite(ctx, tx, c, id)
		if err != nil {
			return err
		}
		if err := removeSite(ctx, tx, c.Organization.ID, id); err != nil {
			return err
		}
		return s.record(ctx, tx, c, site, activity.Deleted, nil)
	})
}

func activityEntry(site Site, verb activity.Verb, changes []activity.Change) activity.Entry {
	return activity.Entry{
		OrganizationID: site.OrganizationID, Scope: activity.Site, ItemID: strconv.FormatInt(site.ID, 10), Verb: verb, Name: site.Name, Changes: changes,
	}
}

// record writes an entry that is an event: it has the site as the API shows it.
func (s Service) record(ctx context.Context, tx *db.Tx, c access.Caller, site Site, verb activity.Verb, changes []activity.Change) error {
	e := activityEntry(site, verb, changes)
	if s.Shown != nil {
		e.Data = string(s.Shown(nil, site))
	}
	return activity.Record(ctx, tx, c.Did(e), s.DB.Now())
}
