package console

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"foyer/client"
)

// fileDiff is what is different in a file.
type fileDiff struct {
	Filename       string
	Lines          []diffLine
	Added, Removed int
	Cut            bool // there is more than is shown
}

// diffLine is a line of a difference with its numbers, or the gap before those that follow.
type diffLine struct {
	Old, New int // 0: it has none
	Class    string
	Text     string
}

// Sign is what tells a line's kind without color.
func (l diffLine) Sign() string {
	return map[string]string{"added": "+", "removed": "−"}[l.Class]
}

// shownLines is how many lines of a diff a page shows.
const shownLines = 400

// hunk is where a part of a unified diff begins, in both files.
var hunk = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`) })

// readDiffs takes unified diffs, each as far as it is shown.
func readDiffs(diffs []client.FileDiff) []fileDiff {
	all := make([]fileDiff, len(diffs))
	for i, d := range diffs {
		all[i].Filename = d.Filename
		all[i].read(d.Diff)
	}
	return all
}

func (f *fileDiff) read(diff string) {
	before, after, inside := 0, 0, false
	for text := range strings.Lines(diff) {
		text = strings.TrimSuffix(text, "\n")
		if at := hunk().FindStringSubmatch(text); at != nil {
			before, _ = strconv.Atoi(at[1]) // of digits; too many of them count as none
			after, _ = strconv.Atoi(at[2])
			if inside = true; before > 1 || len(f.Lines) > 0 {
				f.Lines = append(f.Lines, diffLine{Class: "gap", Text: "…"})
			}
			continue
		}
		if !inside {
			if !strings.HasPrefix(text, "--- ") && !strings.HasPrefix(text, "+++ ") {
				f.Lines = append(f.Lines, diffLine{Class: "gap", Text: strings.TrimPrefix(text, `\ `)})
			}
			continue
		}
		if len(f.Lines) >= shownLines {
			f.Cut = true
			return
		}
		before, after = f.add(text, before, after)
	}
}

// add adds a line at its numbers, and returns those of the next.
func (f *fileDiff) add(text string, before, after int) (int, int) {
	line := diffLine{Old: before, New: after}
	if text != "" {
		line.Text = text[1:]
	}
	switch {
	case strings.HasPrefix(text, "+"):
		f.Added++
		line.Class, line.Old = "added", 0
		after++
	case strings.HasPrefix(text, "-"):
		f.Removed++
		line.Class, line.New = "removed", 0
		before++
	case strings.HasPrefix(text, `\`): // no line end at the end of the file
		line = diffLine{Class: "gap", Text: line.Text}
	default:
		before, after = before+1, after+1
	}
	f.Lines = append(f.Lines, line)
	return before, after
}
