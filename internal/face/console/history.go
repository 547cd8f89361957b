package console

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"foyer/client"
	"foyer/internal/face/console/markup"
)

// SiteHistory lists the revisions of a site's manifest.
type SiteHistory struct {
	List[revision]
	Site client.Site
}

// revision is a row of the table.
type revision struct {
	client.Revision
	Changes []string // from the previous revision, in words
}

func showHistory(v *visit) (markup.Page, error) {
	id, err := v.siteID()
	if err != nil {
		return markup.Page{}, err
	}
	site, err := v.organization.GetSite(v.ctx(), id)
	if err != nil {
		return markup.Page{}, err
	}
	l, err := list(v, "sites", v.revisionsOf(id))
	return markup.Fill("site_history.html", SiteHistory{l, site}), err
}

// revisionsOf reads revisions of a site, and one more: each row shows the changes from the previous revision.
func (v *visit) revisionsOf(id int64) func(context.Context, client.Range) (client.Page[revision], error) {
	return func(ctx context.Context, part client.Range) (client.Page[revision], error) {
		more := part
		more.Limit++
		page, err := v.organization.ListHistory(ctx, id, more)
		shown := client.Page[revision]{Count: page.Count, Next: page.Next}
		for i, r := range page.Results {
			if i == part.Limit {
				shown.Next = "more"
				break
			}
			row := revision{Revision: r}
			if i+1 < len(page.Results) {
				row.Changes = manifestChanges(page.Results[i+1].Apps, r.Apps)
			}
			shown.Results = append(shown.Results, row)
		}
		return shown, err
	}
}

// manifestChanges describes how the apps of a manifest differ from the previous ones.
func manifestChanges(before, after []client.ManifestApp) []string {
	var all []string
	find := func(in []client.ManifestApp, id int64) int {
		return slices.IndexFunc(in, func(a client.ManifestApp) bool { return a.ID == id })
	}
	order := 0
	moved := false
	for _, a := range after {
		i := find(before, a.ID)
		if i < 0 {
			all = append(all, sentence("%s started, version "+strconv.FormatInt(a.Version, 10)+".", a.Name))
			continue
		}
		moved = moved || i < order
		order = max(order, i)
		all = append(all, appChanges(before[i], a)...)
	}
	for _, b := range before {
		if find(after, b.ID) < 0 {
			all = append(all, sentence("%s stopped.", b.Name))
		}
	}
	if moved {
		all = append(all, "The order changed.")
	}
	return all
}

func appChanges(before, after client.ManifestApp) []string {
	var all []string
	if before.Version != after.Version {
		all = append(all, sentence("%s: version "+strconv.FormatInt(before.Version, 10)+" → "+strconv.FormatInt(after.Version, 10)+".", after.Name))
	}
	if !bytes.Equal(before.Config, after.Config) {
		all = append(all, sentence("%s: values changed.", after.Name))
	}
	if !slices.Equal(before.Paths, after.Paths) {
		all = append(all, sentence("%s: paths changed.", after.Name))
	}
	return all
}

func restoreSite(v *visit) (next, error) {
	return v.onSite(func(id int64) (string, error) {
		revision, err := number(v.line("revision"))
		if err != nil {
			return "", err
		}
		site, err := v.organization.RestoreSite(v.ctx(), id, revision)
		return sentence("%s is as it was at revision "+strconv.FormatInt(revision, 10)+" again.", site.Name), err
	})
}
