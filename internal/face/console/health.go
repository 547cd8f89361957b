package console

import (
	"time"

	"foyer/client"
	"foyer/internal/face/console/markup"
)

// Health shows what pages reported of one app.
type Health struct {
	client.Health
	Frame // of the page it is on
	AppID int64
}

// failing reports whether an app has failed on pages.
func failing(h client.Health) bool {
	for _, v := range h.Versions {
		if v.Failed > 0 {
			return true
		}
	}
	return false
}

// share is how many of a hundred views failed, for people: any failure is at least one.
func share(v client.VersionHealth) int64 {
	if v.Loads == 0 {
		return 0
	}
	return (100*v.Failed + v.Loads - 1) / v.Loads
}

// SiteHealth shows what the pages of a site reported, app by app.
type SiteHealth struct {
	Frame
	client.Site
	Apps []appHealth
	Days string // how far back, as the form has it
}

// appHealth is an app on a site, and how it fares there.
type appHealth struct {
	client.Placement
	Health
}

// spans are the times that the page of a site's health offers, in days.
var spans = map[string]time.Duration{"1": 24 * time.Hour, "7": 7 * 24 * time.Hour, "90": 90 * 24 * time.Hour}

func showSiteHealth(v *visit) (markup.Page, error) {
	id, err := v.siteID()
	if err != nil {
		return markup.Page{}, err
	}
	site, err := v.organization.GetSite(v.ctx(), id)
	if err != nil {
		return markup.Page{}, err
	}
	placed, err := v.organization.ListPlacements(v.ctx(), id, client.Range{Limit: perPage})
	if err != nil {
		return markup.Page{}, err
	}
	shown := SiteHealth{Frame: v.frame("sites"), Site: site, Days: v.request.URL.Query().Get("days")}
	if spans[shown.Days] == 0 {
		shown.Days = "1"
	}
	since := v.console.Keys.Now().Add(-spans[shown.Days])
	for _, p := range placed.Results {
		h, err := v.organization.GetHealth(v.ctx(), p.AppID, id, since)
		if client.IsNotFound(err) {
			continue // it was taken off, or is no longer shared
		}
		if err != nil {
			return markup.Page{}, err
		}
		shown.Apps = append(shown.Apps, appHealth{p, Health{h, shown.Frame, p.AppID}})
	}
	return markup.Fill("site_health.html", shown), nil
}
