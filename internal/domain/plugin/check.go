package plugin

import (
	"context"
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/upstream"
)

// recordChecks is how much newer than the recorded check a check must be to be stored.
const recordChecks = time.Minute

// maxAhead is more than the clocks of servers differ, unless one of them is wrong.
const maxAhead = time.Minute

// CheckForUpdates asks a plugin's upstream for its newest tag and stores that as LatestTag. age is how old the answer
// is: 0 if the upstream gave it just now. If there is no upstream, LatestTag becomes the plugin's own tag.
func (s Service) CheckForUpdates(ctx context.Context, c access.Caller, id int64) (p Plugin, age time.Duration, err error) {
	if p, err = s.Get(ctx, c, id); err != nil {
		return Plugin{}, 0, err
	}
	url := p.URL
	o, err := originOf(ctx, s.DB, p.OrganizationID, p.ID)
	if err != nil {
		return Plugin{}, 0, err
	}
	if o.URLKey == "" {
		if p.LatestTag != p.Tag {
			p, _, err = s.storeLatest(ctx, c, id, url, p.Tag, time.Time{})
		}
		return p, 0, err
	}
	began := s.DB.Now()
	latest, at, err := s.latest(ctx, p, o)
	if err != nil {
		return Plugin{}, 0, err
	}
	if latest != p.LatestTag || at.Sub(s.checkedAt(o)) > recordChecks {
		if p, o, err = s.storeLatest(ctx, c, id, url, latest, at); err != nil {
			return Plugin{}, 0, err
		}
	}
	if at.Before(s.checkedAt(o)) || p.URL != url {
		at = o.CheckedAt
	}
	if at.Before(began) {
		age = s.DB.Now().Sub(at)
	}
	return p, age, nil
}

// latest returns the newest tag and when it was listed. If the upstream cannot be asked, or has only failed since this
// server started, these are the recorded ones, which may date from the install.
func (s Service) latest(ctx context.Context, p Plugin, o origin) (tag string, at time.Time, err error) {
	var v upstream.Version
	remote, err := upstream.Unseal(s.Box, p.URL, o.Credentials)
	if err == nil {
		v, at, err = s.Upstream.Check(ctx, p.OrganizationID, remote)
	}
	if fault.Is(err, fault.UpstreamUnavailable) || fault.Is(err, fault.Invalid) {
		return p.LatestTag, o.CheckedAt, nil
	}
	return v.Tag, at, err
}

// checkedAt is when the recorded newest tag was listed. A time in the future comes from a clock that was wrong, and
// counts as none.
func (s Service) checkedAt(o origin) time.Time {
	if o.CheckedAt.After(s.DB.Now().Add(maxAhead)) {
		return time.Time{}
	}
	return o.CheckedAt
}

// storeLatest stores the newest tag that a url had at a time, unless the stored one is newer (another server may have
// asked since) or the plugin comes from another url by now. If there is no upstream, at is zero and the newest tag is
// the plugin's own, which may have changed meanwhile.
func (s Service) storeLatest(ctx context.Context, c access.Caller, id int64, url, latest string, at time.Time) (p Plugin, o origin, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if p, o, err = s.readable(ctx, tx, c, id); err != nil {
			return err
		}
		p, o, err = s.storeLatestOf(ctx, tx, p, o, url, latest, at)
		return err
	})
	return p, o, err
}

// storeLatestOf is storeLatest for a plugin that the transaction has locked.
func (s Service) storeLatestOf(ctx context.Context, tx *db.Tx, p Plugin, o origin, url, latest string, at time.Time) (Plugin, origin, error) {
	if p.URL != url || at.Before(s.checkedAt(o)) {
		return p, o, nil
	}
	if o.URLKey == "" {
		latest = p.Tag
	}
	if at.After(s.checkedAt(o)) {
		o.CheckedAt = at
		if err := updateOrigin(ctx, tx, o); err != nil {
			return p, o, err
		}
	}
	if p.LatestTag == latest {
		return p, o, nil
	}
	before := p
	p.LatestTag = latest
	p.Revision += cache.VersionStep()
	return p, o, update(ctx, tx, before, p)
}

// readable locks a plugin that the caller may still see, and reads its origin.
func (s Service) readable(ctx context.Context, tx *db.Tx, c access.Caller, id int64) (Plugin, origin, error) {
	p, err := find(ctx, tx, c.Organization, id, " FOR UPDATE")
	if err != nil {
		return Plugin{}, origin{}, access.OrNotFound(err)
	}
	if _, err := access.Confirm(ctx, tx, c, s.DB.Now(), MayRead); err != nil {
		return Plugin{}, origin{}, err
	}
	o, err := originOf(ctx, tx, p.OrganizationID, p.ID)
	return p, o, err
}
