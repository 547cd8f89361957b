package site

import (
	"context"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Health is how an app does on the sites of an organization.
type Health struct {
	Versions []VersionHealth // newest first
	Errors   []Error         // latest first
}

// VersionHealth is how one version does.
type VersionHealth struct {
	Version int64
	Loads   int64
	Running int64
	Failed  int64
	P50     int64 // milliseconds until half of the views that ran it had done so
	P95     int64
}

// Error is an error that pages reported.
type Error struct {
	Version int64
	Name    string
	Message string
	Line    int64 // from 1; 0: unknown
	Column  int64
	Count   int64
	FirstAt time.Time
	LastAt  time.Time
}

// defaultHealth is how far Health looks back if no time is given.
const defaultHealth = 24 * time.Hour

// Health returns how an app does on the organization's sites, or on one of them, since a time; the zero time means a
// day ago.
func (s Service) Health(ctx context.Context, c access.Caller, appID, siteID int64, since time.Time) (h Health, err error) {
	if err := plugin.MayRead(c); err != nil {
		return Health{}, err
	}
	if since, err = s.countedSince(since); err != nil {
		return Health{}, err
	}
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		if err := visible(ctx, q, c, appID); err != nil {
			return err
		}
		if siteID != 0 {
			if _, err := findSite(ctx, q, c.Organization.ID, siteID); err != nil {
				return access.OrNotFound(err)
			}
		}
		totals, err := listTotals(ctx, q, c.Organization.ID, appID, siteID, since.Unix()/60)
		if err != nil {
			return err
		}
		h.Versions = healthOf(totals)
		all, err := listErrors(ctx, q, c.Organization.ID, appID, siteID, since)
		h.Errors = merge(all)
		return err
	})
	return h, err
}

// countedSince checks that counts reach back to a time; the zero time means a day ago.
func (s Service) countedSince(since time.Time) (time.Time, error) {
	now := s.DB.Now()
	if since.IsZero() {
		return now.Add(-defaultHealth), nil
	}
	if since.Before(now.Add(-keepHours - time.Minute)) {
		return since, fault.Field(fault.Invalid, "since", "Must be at most 90 days ago: counts are not kept for longer.")
	}
	return since, nil
}

// AppHealth is how an app does on a site.
type AppHealth struct {
	AppID int64
	Name  string
	Health
}

// HealthOfSite returns a page of how the apps on a site do there since a time, in the site's order; the zero time means
// a day ago.
func (s Service) HealthOfSite(ctx context.Context, c access.Caller, id int64, since time.Time, p page.Page) (found page.Found[AppHealth], err error) {
	if since, err = s.countedSince(since); err != nil {
		return found, err
	}
	err = s.viewSite(ctx, c, id, func(ctx context.Context, q db.Querier, site Site) (err error) {
		found, err = queries.Page(ctx, q, p,
			func(context.Context, db.Querier) (int, error) { return site.AppsCount, nil },
			func(ctx context.Context, q db.Querier) ([]AppHealth, error) {
				return listHealth(ctx, q, site, since, p)
			})
		return err
	})
	return found, err
}

func listHealth(ctx context.Context, q db.Querier, s Site, since time.Time, p page.Page) ([]AppHealth, error) {
	placed, err := listPlacements(ctx, q, s, p)
	if err != nil {
		return nil, err
	}
	views, err := listTotalsOfSite(ctx, q, s, since.Unix()/60, p)
	if err != nil {
		return nil, err
	}
	errs, err := listErrorsOfSite(ctx, q, s, since, p)
	all := make([]AppHealth, len(placed))
	for i, app := range placed {
		all[i] = AppHealth{AppID: app.AppID, Name: app.Name, Health: Health{healthOf(views[app.AppID]), errs[app.AppID]}}
	}
	return all, err
}

// healthOf adds up totals, which are ordered by version and then by bucket.
func healthOf(totals []total) []VersionHealth {
	all := []VersionHealth{}
	for i := 0; i < len(totals); {
		v := VersionHealth{Version: totals[i].version}
		var times []total
		for ; i < len(totals) && totals[i].version == v.Version; i++ {
			t := totals[i]
			v.Loads += t.views
			switch {
			case t.bucket == failedBucket:
				v.Failed += t.views
			case t.bucket >= 0:
				v.Running += t.views
				times = append(times, t)
			}
		}
		v.P50, v.P95 = percentile(times, v.Running, 50), percentile(times, v.Running, 95)
		all = append(all, v)
	}
	return all
}

// percentile returns the time within which that percentage ran; 0: none did.
func percentile(times []total, running, percent int64) int64 {
	left := (running*percent + 99) / 100
	for _, t := range times {
		if left -= t.views; left <= 0 {
			return timeOf(t.bucket)
		}
	}
	return 0
}

// merge combines equal errors on several sites into one.
func merge(all []Error) []Error {
	merged := []Error{}
	at := map[Error]int{}
	for _, e := range all {
		same := e
		same.Count, same.FirstAt, same.LastAt = 0, time.Time{}, time.Time{}
		i, known := at[same]
		switch {
		case known:
			merged[i].Count += e.Count
			if e.FirstAt.Before(merged[i].FirstAt) {
				merged[i].FirstAt = e.FirstAt
			}
		case len(merged) < maxErrorsKept:
			at[same] = len(merged)
			merged = append(merged, e)
		}
	}
	return merged
}
