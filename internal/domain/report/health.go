package report

import (
	"context"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/infra/db"
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

// Of returns how an app does since a time on the sites of an organization or, if siteID is not 0, on one of them.
func Of(ctx context.Context, q db.Querier, organizationID string, appID, siteID int64, since time.Time) (Health, error) {
	totals, err := listTotals(ctx, q, organizationID, appID, siteID, since.Unix()/60)
	if err != nil {
		return Health{}, err
	}
	errs, err := listErrors(ctx, q, organizationID, appID, siteID, since)
	return Health{healthOf(totals), merge(errs)}, err
}

// OfSite returns how the apps on a page of a site's apps do there since a time, by app.
func OfSite(ctx context.Context, q db.Querier, s Site, since time.Time, p page.Page) (map[int64]Health, error) {
	views, err := listTotalsOfSite(ctx, q, s, since.Unix()/60, p)
	if err != nil {
		return nil, err
	}
	errs, err := listErrorsOfSite(ctx, q, s, since, p)
	all := map[int64]Health{}
	for id := range views {
		all[id] = Health{Versions: healthOf(views[id])}
	}
	for id := range errs {
		all[id] = Health{all[id].Versions, errs[id]}
	}
	return all, err
}

// defaultSince is how long ago Since is if no time is given.
const defaultSince = 24 * time.Hour

// Since checks that counts reach back to a time; the zero time means a day ago.
func (c *Counts) Since(since time.Time) (time.Time, error) {
	now := c.DB.Now()
	if since.IsZero() {
		return now.Add(-defaultSince), nil
	}
	if since.Before(now.Add(-keepHours - time.Minute)) {
		return since, fault.Field(fault.Invalid, "since", "Must be at most 90 days ago: counts are not kept for longer.")
	}
	return since, nil
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
