package console

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"foyer/client"
	"foyer/internal/base/page"
	"foyer/internal/face/console/markup"
)

// Versions lists the versions of an app.
type Versions struct {
	List[versionRow]
	App client.App
}

func showVersions(v *visit) (markup.Page, error) {
	app, err := v.app()
	if err != nil {
		return markup.Page{}, err
	}
	l, err := list(v, "apps", v.versionsOf(app.ID))
	return markup.Fill("versions.html", Versions{l, app}), err
}

// Table is the list, to choose two of.
func (p Versions) Table() versionTable {
	return versionTable{p.Home + "/apps/" + strconv.FormatInt(p.App.ID, 10), p.Items}
}

// versionTable lists versions of the app whose page has this path.
type versionTable struct {
	Path  string
	Items []versionRow
}

// versionRow is a version in a table.
type versionRow struct {
	client.Version
	Page string // the path of the page about it
}

func (v *visit) rows(id int64, versions []client.Version) []versionRow {
	rows := make([]versionRow, len(versions))
	for i, version := range versions {
		rows[i] = versionRow{version, v.home + "/apps/" + strconv.FormatInt(id, 10) + "/versions/" + strconv.FormatInt(version.Version, 10)}
	}
	return rows
}

func (v *visit) versionsOf(id int64) func(context.Context, client.Range) (client.Page[versionRow], error) {
	return func(ctx context.Context, part client.Range) (client.Page[versionRow], error) {
		page, err := v.organization.ListVersions(ctx, id, part)
		return client.Page[versionRow]{Count: page.Count, Next: page.Next, Results: v.rows(id, page.Results)}, err
	}
}

// Version shows how a version differs from another.
type Version struct {
	Frame
	client.Version
	App     client.App
	At      int64   // the version that the app is at
	Against int64   // what it is compared with; 0: nothing, since none before it is kept
	Asked   bool    // to compare with that one
	Others  []int64 // that the app can go to, if it is at this one
	File    string  // the only one that is shown; "": all
	Files   differences
}

// Here is the path of the page of all files.
func (p Version) Here() string {
	here := p.Home + "/apps/" + strconv.FormatInt(p.App.ID, 10) + "/versions/" + strconv.FormatInt(p.Version.Version, 10)
	if p.Asked {
		here += "?against=" + strconv.FormatInt(p.Against, 10)
	}
	return here
}

func showVersion(v *visit) (markup.Page, error) {
	var shown Version
	source, err := v.source()
	if err != nil {
		return markup.Page{}, err
	}
	shown.App = source.App
	number, against, err := v.compared()
	if err != nil {
		return markup.Page{}, err
	}
	shown.Against, shown.Asked = against, against != 0
	versions, err := v.organization.ListVersions(v.ctx(), shown.App.ID, client.Range{Limit: page.MaxLimit})
	if err != nil {
		return markup.Page{}, err
	}
	for _, version := range versions.Results {
		shown.add(version, number)
	}
	diffs, err := v.organization.DiffVersions(v.ctx(), shown.App.ID, number, shown.Against)
	if err != nil {
		return markup.Page{}, err
	}
	shown.Frame = v.frameOf(shown.App)
	var known side
	switch shown.At {
	case shown.Against:
		known = side{source.Source, true}
	case shown.Version.Version:
		known = side{source.Source, false}
	}
	if shown.File = v.request.URL.Query().Get("file"); shown.File != "" {
		diffs.Files = slices.DeleteFunc(diffs.Files, func(d client.FileDiff) bool { return d.Filename != shown.File })
	}
	shown.Files = readDiffs(diffs.Files, known)
	shown.Files.Of = shown.Here() + map[bool]string{false: "?", true: "&"}[shown.Asked] + "file="
	return markup.Fill("version.html", shown), nil
}

// add notes one of the app's versions, the newest first, on the page of the one with a number.
func (p *Version) add(version client.Version, number int64) {
	if version.Current {
		p.At = version.Version
	}
	switch {
	case version.Version == number:
		p.Version = version
	case version.Withdrawn == nil:
		p.Others = append(p.Others, version.Version)
	}
	if p.Against == 0 && version.Version < number {
		p.Against = version.Version
	}
}

// compared are the version that the path or the query names and what to compare it with; 0: the one
// before.
func (v *visit) compared() (version, against int64, err error) {
	query := v.request.URL.Query()
	if version, err = number(cmp.Or(v.request.PathValue("version"), query.Get("version"))); err != nil {
		return 0, 0, err
	}
	if text := query.Get("against"); text != "" {
		against, err = number(text)
	}
	return version, against, err
}

// onVersion does something to the version that the path names, and says what.
func (v *visit) onVersion(do func(id, version int64) (said string, err error)) (next, error) {
	return v.onApp(func(id int64) (string, error) {
		version, _, err := v.compared()
		if err != nil {
			return "", err
		}
		return do(id, version)
	})
}

func returnToVersion(v *visit) (next, error) {
	then, err := v.onVersion(func(id, version int64) (string, error) {
		app, err := v.organization.UpgradeApp(v.ctx(), id, client.Upgrade{Version: version})
		return sentence("%s is at version "+strconv.FormatInt(version, 10)+" now.", app.Name), err
	})
	then.path = v.appPath()
	return then, err
}

func withdrawVersion(v *visit) (next, error) {
	return v.onVersion(func(id, version int64) (string, error) {
		w := client.Withdrawal{Reason: v.line("reason")}
		if text := v.line("version"); text != "" {
			var err error
			if w.Version, err = number(text); err != nil {
				return "", wrong("version", "Choose the version to go to.")
			}
		}
		_, err := v.organization.WithdrawVersion(v.ctx(), id, version, w)
		return "Version " + strconv.FormatInt(version, 10) + " is withdrawn: pages that are loaded 20 seconds later do not run it.", err
	})
}

func restoreVersion(v *visit) (next, error) {
	return v.onVersion(func(id, version int64) (string, error) {
		_, err := v.organization.RestoreVersion(v.ctx(), id, version)
		return "Version " + strconv.FormatInt(version, 10) + " may run again.", err
	})
}
