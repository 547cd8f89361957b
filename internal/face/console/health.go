package console

import (
	"context"
	"slices"
	"time"

	"foyer/client"
	"foyer/internal/face/console/markup"
)

// failing reports whether an app has failed on pages.
func failing(h client.Health) bool {
	return slices.ContainsFunc(h.Versions, func(v client.VersionHealth) bool { return v.Failed > 0 })
}

// share is the percentage of views that failed, for display: any failure is at least one percent.
func share(v client.VersionHealth) int64 {
	if v.Loads == 0 {
		return 0
	}
	return (100*v.Failed + v.Loads - 1) / v.Loads
}

// SiteHealth shows what the pages of a site reported, for each app.
type SiteHealth struct {
	List[appHealth]
	Site client.Site
	Days string // how far back, as the form has it
}

// appHealth is an app on a site, and its health there.
type appHealth struct {
	client.AppHealth
	More int // errors that are not listed
}

// spans are the periods that the health page of a site offers, in days.
var spans = map[string]time.Duration{"1": oneDay, "7": 7 * oneDay, "90": 90 * oneDay}

// errorsOfEach is how many errors of each app the health page of a site lists.
const errorsOfEach = 3

func showSiteHealth(v *visit) (markup.Page, error) {
	id, err := v.siteID()
	if err != nil {
		return markup.Page{}, err
	}
	shown := SiteHealth{Days: v.request.URL.Query().Get("days")}
	if shown.Site, err = v.organization.GetSite(v.ctx(), id); err != nil {
		return markup.Page{}, err
	}
	if spans[shown.Days] == 0 {
		shown.Days = "1"
	}
	since := v.console.Keys.Now().Add(-spans[shown.Days])
	shown.List, err = list(v, "sites", func(ctx context.Context, part client.Range) (client.Page[appHealth], error) {
		found, err := v.organization.ListHealth(ctx, id, since, part)
		rows := client.Page[appHealth]{Count: found.Count, Next: found.Next}
		for _, h := range found.Results {
			more := max(0, len(h.Errors)-errorsOfEach)
			h.Errors = h.Errors[:len(h.Errors)-more]
			rows.Results = append(rows.Results, appHealth{h, more})
		}
		return rows, err
	})
	return markup.Fill("site_health.html", shown), err
}
