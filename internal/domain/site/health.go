package site

import (
	"context"
	"time"

	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/report"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Health returns how an app does on the organization's sites, or on one of them, since a time; the zero time means a
// day ago.
func (s Service) Health(ctx context.Context, c access.Caller, appID, siteID int64, since time.Time) (h report.Health, err error) {
	if err := plugin.MayRead(c); err != nil {
		return report.Health{}, err
	}
	if since, err = s.Manifests.Counts.Since(since); err != nil {
		return report.Health{}, err
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
		h, err = report.Of(ctx, q, c.Organization.ID, appID, siteID, since)
		return err
	})
	return h, err
}

// AppHealth is how an app does on a site.
type AppHealth struct {
	AppID int64
	Name  string
	report.Health
}

// HealthOfSite returns a page of how the apps on a site do there since a time, in the site's order; the zero time means
// a day ago.
func (s Service) HealthOfSite(ctx context.Context, c access.Caller, id int64, since time.Time, p page.Page) (found page.Found[AppHealth], err error) {
	if since, err = s.Manifests.Counts.Since(since); err != nil {
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
	healths, err := report.OfSite(ctx, q, s.reported(), since, p)
	all := make([]AppHealth, len(placed))
	for i, app := range placed {
		all[i] = AppHealth{AppID: app.AppID, Name: app.Name, Health: healths[app.AppID]}
	}
	return all, err
}

// reported names the site in reports of its pages.
func (s *Site) reported() report.Site { return report.Site{ID: s.ID, OrganizationID: s.OrganizationID} }
