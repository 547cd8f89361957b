package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/face/console/markup"
)

// Versions lists the versions of an app.
type Versions struct {
	List[client.Version]
	App client.App
	All []client.Version // to compare two of
}

func showVersions(v *visit) (markup.Page, error) {
	app, err := v.app()
	if err != nil {
		return markup.Page{}, err
	}
	shown := Versions{App: app}
	shown.List, err = list(v, "apps", func(ctx context.Context, part client.Range) (client.Page[client.Version], error) {
		return v.organization.ListVersions(ctx, app.ID, part)
	})
	if err != nil {
		return markup.Page{}, err
	}
	shown.All, err = v.allVersions(app.ID)
	return markup.Fill("versions.html", shown), err
}

// allVersions returns the versions of an app, the newest first.
func (v *visit) allVersions(id int64) ([]client.Version, error) {
	all, err := v.organization.ListVersions(v.ctx(), id, client.Range{Limit: page.MaxLimit})
	return all.Results, err
}

// Table is the list.
func (p Versions) Table() versionTable { return versionTable{appPage(p.Home, p.App.ID), p.Items} }

// Comparison is the form to compare two of them.
func (p Versions) Comparison() comparison {
	return newestTwo(appPage(p.Home, p.App.ID), p.All)
}

// comparison is a form to compare two versions of the app whose page has this path.
type comparison struct {
	Path         string
	Versions     []client.Version
	Against, The int64 // that are chosen
}

// newestTwo chooses the newest version and the one before it.
func newestTwo(path string, all []client.Version) comparison {
	c := comparison{Path: path, Versions: all}
	if len(all) > 1 {
		c.Against, c.The = all[1].Version, all[0].Version
	}
	return c
}

// versionTable lists versions of the app whose page has this path.
type versionTable struct {
	Path     string
	Versions []client.Version
}

// Tagged reports whether any of them has a tag.
func (t versionTable) Tagged() bool {
	return slices.ContainsFunc(t.Versions, func(v client.Version) bool { return v.Tag != "" })
}

// Committed reports whether any of them is a commit of an upstream.
func (t versionTable) Committed() bool {
	return slices.ContainsFunc(t.Versions, func(v client.Version) bool { return v.Commit != "" })
}

// Version shows a version, and how it differs from the one before or, when compared, from any other.
type Version struct {
	Frame
	client.Version
	App      client.App
	At       int64 // the version that the app is at
	Against  int64 // what it is compared with; 0: nothing, since no earlier one is kept
	Compared bool  // the page compares any two
	All      []client.Version
	File     string // the only file that is shown; "": all
	Files    differences
}

// Comparison is the form to compare two versions.
func (p Version) Comparison() comparison {
	return comparison{appPage(p.Home, p.App.ID), p.All, p.Against, p.Version.Version}
}

// Others returns the versions that the app may go to instead.
func (p Version) Others() (numbers []int64) {
	for _, other := range p.All {
		if other.Withdrawn == nil && !p.stops(other) {
			numbers = append(numbers, other.Version)
		}
	}
	return numbers
}

// Replaced reports whether withdrawing it also replaces the app's current version.
func (p Version) Replaced() bool {
	return slices.ContainsFunc(p.All, func(v client.Version) bool { return v.Current && p.stops(v) })
}

// stops reports whether withdrawing it stops another version, which has the same bundle.
func (p Version) stops(other client.Version) bool {
	return other.Version == p.Version.Version || other.BundleSHA256 != "" && other.BundleSHA256 == p.BundleSHA256
}

// Here is the path of the page with all files.
func (p Version) Here() string {
	app, number := appPage(p.Home, p.App.ID), strconv.FormatInt(p.Version.Version, 10)
	if p.Compared {
		return app + "/compare?version=" + number + "&against=" + strconv.FormatInt(p.Against, 10)
	}
	return app + "/versions/" + number
}

func showVersion(v *visit) (markup.Page, error) {
	number, err := v.versionID()
	if err != nil {
		return markup.Page{}, err
	}
	app, err := v.appID()
	if err != nil {
		return markup.Page{}, err
	}
	all, err := v.allVersions(app)
	if err != nil {
		return markup.Page{}, err
	}
	shown, err := v.compare(all, number, 0)
	if err == nil {
		shown.Files.Of = shown.Here() + "?file="
	}
	return markup.Fill("version.html", shown), err
}

func showComparison(v *visit) (markup.Page, error) {
	app, err := v.appID()
	if err != nil {
		return markup.Page{}, err
	}
	all, err := v.allVersions(app)
	if err != nil {
		return markup.Page{}, err
	}
	query := v.request.URL.Query()
	the, err := versionOf(all, query.Get("version"), math.MaxInt64)
	if err != nil {
		return markup.Page{}, err
	}
	against, err := versionOf(all, query.Get("against"), the)
	if err != nil {
		return markup.Page{}, err
	}
	shown, err := v.compare(all, the, against)
	if err == nil {
		shown.Compared = true
		shown.Files.Of = shown.Here() + "&file="
	}
	return markup.Fill("compare.html", shown), err
}

// versionOf returns the number of a version. The text is the number, or the digest of its files, as the activity has it:
// among several versions with the same files, it returns the newest below before, else the newest.
func versionOf(all []client.Version, text string, before int64) (int64, error) {
	if len(text) != hex.EncodedLen(sha256.Size) {
		return number(text)
	}
	of := slices.DeleteFunc(slices.Clone(all), func(v client.Version) bool { return v.SHA256 != text })
	if len(of) == 0 {
		return 0, fault.New(fault.NotFound, "One of the two versions is not kept any more, or not among the newest %d.", page.MaxLimit)
	}
	at := slices.IndexFunc(of, func(v client.Version) bool { return v.Version < before })
	return of[max(at, 0)].Version, nil
}

// compare reads how a version of an app differs from another; 0: from the one before. All are the versions of the app.
func (v *visit) compare(all []client.Version, number, against int64) (shown Version, err error) {
	source, err := v.source()
	if err != nil {
		return shown, err
	}
	shown.App, shown.Against, shown.All = source.App, against, all
	for _, version := range shown.All {
		shown.add(version, number)
	}
	diffs, err := v.organization.DiffVersions(v.ctx(), shown.App.ID, number, shown.Against)
	if err != nil {
		return shown, err
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
	return shown, nil
}

// add notes one of the app's versions, the newest first, on the page of the version with a number.
func (p *Version) add(version client.Version, number int64) {
	if version.Current {
		p.At = version.Version
	}
	if version.Version == number {
		p.Version = version
	}
	if p.Against == 0 && version.Version < number {
		p.Against = version.Version
	}
}

// versionID returns the number of the version that the path names.
func (v *visit) versionID() (int64, error) { return number(v.request.PathValue("version")) }

// onVersion does something to the version that the path names, and reports what.
func (v *visit) onVersion(do func(id, version int64) (flash string, err error)) (next, error) {
	return v.onApp(func(id int64) (string, error) {
		version, err := v.versionID()
		if err != nil {
			return "", err
		}
		return do(id, version)
	})
}

func returnToVersion(v *visit) (next, error) {
	then, err := v.onVersion(func(id, version int64) (string, error) {
		app, err := v.organization.UpgradeApp(v.ctx(), id, client.Upgrade{Version: &version})
		return sentence("%s is now at version "+strconv.FormatInt(version, 10)+".", app.Name), err
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
		return "Version " + strconv.FormatInt(version, 10) + " is restored.", err
	})
}
