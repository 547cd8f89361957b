package source

import (
	"context"
	"maps"
	"slices"
	"strings"

	godiff "github.com/rogpeppe/go-internal/diff"

	"foyer/internal/infra/upstream/unpack"
)

// Diff is the difference between two texts of a file, as a unified diff.
type Diff struct{ Name, Diff string }

// maxDiffBytes bounds all the diffs of two sets of files together.
const maxDiffBytes = 4 << 20

// Compare lists the differences between two sets of files, by name. Large files take seconds, so it stops when the
// caller has gone, and compares no more files once the diffs are too long.
func Compare(ctx context.Context, before, after map[string]string) ([]Diff, error) {
	names := maps.Clone(after)
	maps.Copy(names, before)
	var all []Diff
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
		all = append(all, Diff{name, d})
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
	for _, side := range []*string{&from, &to} {
		if strings.Contains(*side, " ") {
			*side += "\t" // as git has it: to patch, a name without a tab ends at its space
		}
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
