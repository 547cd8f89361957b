package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	godiff "github.com/rogpeppe/go-internal/diff"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/upstream/unpack"
)

// Versions returns a page of a plugin's versions, newest first and without their config_schema, and the number of the
// current one. Only the plugin's own organization sees who made the versions of a global plugin.
func (s Service) Versions(ctx context.Context, c access.Caller, id int64, p page.Page) (found page.Found[Version], current int64, err error) {
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		plugin, sees, err := s.versionsSeen(ctx, q, c, id)
		if err != nil {
			return err
		}
		current = sees.current
		found, err = db.Page(ctx, q, p,
			func(ctx context.Context, q db.Querier) (int, error) { return sees.count(ctx, q) },
			func(ctx context.Context, q db.Querier) ([]Version, error) { return sees.list(ctx, q, p) })
		if plugin.OrganizationID != c.Organization.ID {
			for i := range found.Items {
				found.Items[i].anonymize()
			}
		}
		return err
	})
	return found, current, err
}

// Version returns one version of a plugin: one that Versions lists, or one that the caller's sites have.
func (s Service) Version(ctx context.Context, c access.Caller, id, number int64) (found Version, err error) {
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		plugin, sees, err := s.versionsSeen(ctx, q, c, id)
		if err != nil {
			return err
		}
		found, err = sees.findForSites(ctx, q, c.Organization.ID, number)
		if plugin.OrganizationID != c.Organization.ID {
			found.anonymize()
		}
		return access.OrNotFound(err)
	})
	return found, err
}

// anonymize removes what only the plugin's own organization may see of a version.
func (v *Version) anonymize() {
	v.CreatedBy, v.Withdrawn.By, v.Message = org.User{}, org.User{}, ""
}

// versionsSeen returns a plugin and which of its versions the caller sees: all or, if the plugin is another
// organization's, the current one and those made since it was shared.
func (s Service) versionsSeen(ctx context.Context, q db.Querier, c access.Caller, id int64) (Plugin, seen, error) {
	p, err := s.get(ctx, q, c, id)
	if err != nil {
		return Plugin{}, seen{}, err
	}
	o, err := originOf(ctx, q, p.OrganizationID, p.ID)
	since := p.SharedAt
	if p.OrganizationID == c.Organization.ID {
		since = time.Unix(0, 0)
	}
	return p, seen{p.ID, o.Current, since}, err
}

var errNotAgainst = fault.Field(fault.Invalid, "against", "The app has no such version, or it is no longer kept.")

// FileDiff is the difference between two versions of a file, as a unified diff.
type FileDiff struct{ Name, Diff string }

// maxDiffBytes bounds all the diffs of two versions together.
const maxDiffBytes = 4 << 20

// Diff compares a version with another, file by file. If against is 0, that is the version before it. Files that are
// the same are left out.
func (s Service) Diff(ctx context.Context, c access.Caller, id, number, against int64) ([]FileDiff, error) {
	leave, err := s.Diffs.Enter(ctx, c.Organization.ID)
	if err != nil {
		return nil, err
	}
	defer leave()
	var before, after map[string]string
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		_, sees, err := s.versionsSeen(ctx, q, c, id)
		if err != nil {
			return err
		}
		to, err := sees.find(ctx, q, number)
		if err != nil {
			return access.OrNotFound(err)
		}
		from, err := sees.base(ctx, q, number, against)
		if err != nil {
			return err
		}
		if before, err = texts(ctx, q, from); err != nil {
			return err
		}
		after, err = texts(ctx, q, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	return compare(ctx, before, after)
}

// Compare lists the differences between two sets of files, by name.
func (s Service) Compare(ctx context.Context, c access.Caller, before, after map[string]string) ([]FileDiff, error) {
	leave, err := s.Diffs.Enter(ctx, c.Organization.ID)
	if err != nil {
		return nil, err
	}
	defer leave()
	return compare(ctx, before, after)
}

// base returns the version to compare with. For the first version it is zero: all files are new.
func (s seen) base(ctx context.Context, q db.Querier, number, against int64) (Version, error) {
	if against != 0 {
		v, err := s.find(ctx, q, against)
		if errors.Is(err, db.ErrNoRow) {
			return Version{}, errNotAgainst
		}
		return v, err
	}
	v, err := s.before(ctx, q, number)
	if errors.Is(err, db.ErrNoRow) {
		return Version{}, nil
	}
	return v, err
}

func texts(ctx context.Context, q db.Querier, v Version) (map[string]string, error) {
	files, err := listFiles(ctx, q, v.id)
	texts := make(map[string]string, len(files))
	for _, f := range files {
		texts[f.Name] = f.Text
	}
	return texts, err
}

// compare lists the differences between two sets of files, by name. Large files take seconds, so it stops when the
// caller has gone, and compares no more files once the diffs are too long.
func compare(ctx context.Context, before, after map[string]string) ([]FileDiff, error) {
	names := maps.Clone(after)
	maps.Copy(names, before)
	var all []FileDiff
	left := maxDiffBytes
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		old, had := before[name]
		text, has := after[name]
		if had && has && old == text {
			continue
		}
		d := leftOut
		if left > 0 {
			whole := unified(name, old, text, had, has)
			d, left = cut(whole, left), left-len(whole)
		}
		all = append(all, FileDiff{name, d})
	}
	return all, nil
}

// unified returns a unified diff of one file, in git's format.
func unified(name, old, text string, had, has bool) string {
	from, to := "a/"+name, "b/"+name
	if !had {
		from = "/dev/null"
	}
	if !has {
		to = "/dev/null"
	}
	if !unpack.IsText(old) || !unpack.IsText(text) {
		return "Binary files " + from + " and " + to + " differ\n"
	}
	out := string(godiff.Diff(from, []byte(old), to, []byte(text)))
	if _, lines, ok := strings.Cut(out, "\n"); ok {
		return lines // without the first line, "diff FROM TO"
	}
	return "--- " + from + "\n+++ " + to + "\n" // an empty file was added or removed
}

const leftOut = "\\ The rest is left out: the differences are too long\n"

// cut shortens a diff, between lines, to at most limit bytes, and says that it did.
func cut(d string, limit int) string {
	if len(d) <= limit {
		return d
	}
	return d[:strings.LastIndexByte(d[:limit], '\n')+1] + leftOut
}

// TypeOfDeleted is the type that a plugin had when it was deleted; Local if that is unknown.
func (s Service) TypeOfDeleted(ctx context.Context, c access.Caller, id int64) (Type, error) {
	if err := MayRead(c); err != nil {
		return Local, err
	}
	last, err := activity.Last(ctx, s.DB, activity.Filter{
		OrganizationID: c.Organization.ID, Scopes: []activity.Scope{activity.Plugin}, ItemID: strconv.FormatInt(id, 10),
	})
	if errors.Is(err, db.ErrNoRow) {
		return Local, nil
	}
	if err != nil {
		return Local, err
	}
	var changes []struct {
		Field  string `json:"field"`
		Before Type   `json:"before"`
	}
	_ = json.Unmarshal([]byte(last.Changes), &changes) // other JSON names no type
	for _, change := range changes {
		if change.Field == "plugin_type" {
			return change.Before, nil
		}
	}
	return Local, nil
}
