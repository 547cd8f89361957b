package plugin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	godiff "github.com/rogpeppe/go-internal/diff"

	"foyer/internal/access"
	"foyer/internal/db"
	"foyer/internal/fault"
	"foyer/internal/org"
	"foyer/internal/page"
)

// Versions returns a page of a plugin's versions, the newest first, how many there
// are, and the number of the one that it is at. Who made the versions of a global
// plugin only its own organization is told.
func (s Service) Versions(ctx context.Context, c access.Caller, id int64, p page.Page) (versions []Version, count int, current int64, err error) {
	plugin, err := s.Get(ctx, c, id)
	if err != nil {
		return nil, 0, 0, err
	}
	o, err := originOf(ctx, s.DB, plugin)
	if err != nil {
		return nil, 0, 0, err
	}
	if count, err = countVersions(ctx, s.DB, id); err != nil || count <= p.Offset {
		return nil, count, o.Current, err
	}
	versions, err = listVersions(ctx, s.DB, id, p)
	if plugin.OrganizationID != c.Organization.ID {
		for i := range versions {
			versions[i].CreatedBy = org.User{}
		}
	}
	return versions, count, o.Current, err
}

var errNotAgainst = fault.Field(fault.Invalid, "against", "The app has no such version, or it is no longer kept.")

// FileDiff is what another version makes of a file, as a unified diff.
type FileDiff struct{ Name, Diff string }

// maxDiffBytes bounds all the diffs of two versions together.
const maxDiffBytes = 4 << 20

// Diff compares a version with another, file by file: with the one before it if
// against is 0. Files that are the same are left out.
func (s Service) Diff(ctx context.Context, c access.Caller, id, number, against int64) ([]FileDiff, error) {
	if _, err := s.Get(ctx, c, id); err != nil {
		return nil, err
	}
	after, err := findVersion(ctx, s.DB, id, number)
	if err != nil {
		return nil, access.OrNotFound(err)
	}
	var before Version
	if against == 0 {
		before, err = findBefore(ctx, s.DB, id, number)
		if errors.Is(err, db.ErrNoRow) {
			err = nil // the first one: every file is new
		}
	} else if before, err = findVersion(ctx, s.DB, id, against); errors.Is(err, db.ErrNoRow) {
		err = errNotAgainst
	}
	if err != nil {
		return nil, err
	}
	old, err := s.texts(ctx, before)
	if err != nil {
		return nil, err
	}
	texts, err := s.texts(ctx, after)
	return compare(old, texts), err
}

func (s Service) texts(ctx context.Context, v Version) (map[string]string, error) {
	files, err := listFiles(ctx, s.DB, v.id)
	texts := make(map[string]string, len(files))
	for _, f := range files {
		texts[f.Name] = f.Text
	}
	return texts, err
}

// compare lists the differences between two sets of files, by name.
func compare(before, after map[string]string) []FileDiff {
	names := maps.Clone(after)
	maps.Copy(names, before)
	var all []FileDiff
	left := maxDiffBytes
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, had := before[name]
		text, has := after[name]
		if had && has && old == text {
			continue
		}
		d := cut(unified(name, old, text, had, has), left)
		left -= len(d)
		all = append(all, FileDiff{name, d})
	}
	return all
}

// unified is a unified diff of one file, as git shows it.
func unified(name, old, text string, had, has bool) string {
	from, to := "a/"+name, "b/"+name
	if !had {
		from = "/dev/null"
	}
	if !has {
		to = "/dev/null"
	}
	out := string(godiff.Diff(from, []byte(old), to, []byte(text)))
	if _, lines, ok := strings.Cut(out, "\n"); ok {
		return lines // without the "diff FROM TO" of the first one
	}
	return "--- " + from + "\n+++ " + to + "\n" // an empty file came or went
}

// cut shortens a diff, between lines, to at most limit bytes and says so.
func cut(d string, limit int) string {
	if len(d) <= limit {
		return d
	}
	return d[:strings.LastIndexByte(d[:max(0, limit)], '\n')+1] + "\\ The rest is left out: the differences are too long\n"
}
