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

// latestTag is the newest tag according to an upstream, and when the upstream listed it; zero: unknown.
type latestTag struct {
	tag string
	at  time.Time
}

func latestOf(repo *upstream.Repo) (latestTag, error) {
	newest, err := repo.Newest()
	if err != nil {
		return latestTag{}, err
	}
	return latestTag{newest.Tag, repo.CheckedAt}, nil
}

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
			p, _, err = s.storeLatest(ctx, c, id, url, latestTag{tag: p.Tag})
		}
		return p, 0, err
	}
	began := s.DB.Now()
	latest, err := s.latest(ctx, c.Organization.ID, p, o)
	if err != nil {
		return Plugin{}, 0, err
	}
	if latest.tag != p.LatestTag || latest.at.Sub(s.checkedAt(o)) > recordChecks {
		if p, o, err = s.storeLatest(ctx, c, id, url, latest); err != nil {
			return Plugin{}, 0, err
		}
	}
	if latest.at.Before(s.checkedAt(o)) || p.URL != url {
		latest.at = o.CheckedAt
	}
	if latest.at.Before(began) {
		age = s.DB.Now().Sub(latest.at)
	}
	return p, age, nil
}

// latest returns the newest tag and when it was listed. tenant is the organization that asks, which waits for its own
// checks: anybody may check a shared app. If the upstream cannot be asked, or has only failed since this server started,
// these are the recorded ones, which may date from the install.
func (s Service) latest(ctx context.Context, tenant string, p Plugin, o origin) (latestTag, error) {
	var v upstream.Version
	var at time.Time
	remote, err := upstream.Unseal(s.Box, p.URL, o.Credentials)
	if err == nil {
		v, at, err = s.Upstream.Check(ctx, tenant, remote)
	}
	if fault.Is(err, fault.UpstreamUnavailable) || fault.Is(err, fault.Invalid) {
		return latestTag{p.LatestTag, o.CheckedAt}, nil
	}
	return latestTag{v.Tag, at}, err
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
// asked since) or the plugin comes from another url by now. If there is no upstream, the time is zero and the newest tag
// is the plugin's own, which may have changed meanwhile.
func (s Service) storeLatest(ctx context.Context, c access.Caller, id int64, url string, latest latestTag) (p Plugin, o origin, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		p, o, err = s.storeLatestIn(ctx, tx, c, id, url, latest)
		return err
	})
	return p, o, err
}

// storeLatestIn is storeLatest in a transaction. It locks the plugin, which the caller must still see.
func (s Service) storeLatestIn(ctx context.Context, tx *db.Tx, c access.Caller, id int64, url string, latest latestTag) (Plugin, origin, error) {
	p, err := find(ctx, tx, c.Organization, id, " FOR UPDATE")
	if err != nil {
		return Plugin{}, origin{}, access.OrNotFound(err)
	}
	if _, err := access.Confirm(ctx, tx, c, s.DB.Now(), MayRead); err != nil {
		return Plugin{}, origin{}, err
	}
	o, err := originOf(ctx, tx, p.OrganizationID, p.ID)
	if err != nil || p.URL != url || latest.at.Before(s.checkedAt(o)) {
		return p, o, err
	}
	if o.URLKey == "" {
		latest.tag = p.Tag
	}
	if latest.at.After(s.checkedAt(o)) {
		o.CheckedAt = latest.at
		if err := updateOrigin(ctx, tx, o); err != nil {
			return p, o, err
		}
	}
	if p.LatestTag == latest.tag {
		return p, o, nil
	}
	before := p
	p.LatestTag = latest.tag
	p.Revision += cache.VersionStep()
	return p, o, update(ctx, tx, before, p)
}
