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
	Parts          []diffPart
	Added, Removed int
	Cut            bool // there is more than is shown
	lines          int
}

// diffPart is a run of lines: around what differs, or those between that are the same.
type diffPart struct {
	Folded int        // how many lines are folded; 0: they are shown
	Lines  []diffLine // none if they are folded and not known
}

// diffLine is a line of a difference with its numbers.
type diffLine struct {
	Old, New int // 0: it has none
	Class    string
	Text     string
}

// Sign is what tells a line's kind without color.
func (l diffLine) Sign() string {
	return map[string]string{"added": "+", "removed": "−"}[l.Class]
}

// shownLines is how many lines of a diff a page shows, and maxFolded how many it holds besides.
const (
	shownLines = 400
	maxFolded  = 200
)

// hunk is where a part of a unified diff begins, in both files.
var hunk = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`) })

// side has the texts of files before or after a difference, as far as they are known.
type side struct {
	texts  map[string]string
	before bool
}

// readDiffs takes unified diffs, each as far as it is shown. What is the same between is folded,
// with the lines that are known.
func readDiffs(diffs []client.FileDiff, known side) []fileDiff {
	all := make([]fileDiff, len(diffs))
	for i, d := range diffs {
		all[i].Filename = d.Filename
		file := sideOf{before: known.before}
		if text, ok := known.texts[d.Filename]; ok && strings.Contains(d.Diff, "\n@@ ") {
			file.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		all[i].read(d.Diff, file)
	}
	return all
}

// sideOf has the lines of one file before or after a difference; none if they are not known.
type sideOf struct {
	lines  []string
	before bool
}

// number is which of the two numbers of a line is that of this side.
func (s sideOf) number(before, after int) int {
	if s.before {
		return before
	}
	return after
}

func (f *fileDiff) read(diff string, known sideOf) {
	before, after, inside := 1, 1, false
	for text := range strings.Lines(diff) {
		text = strings.TrimSuffix(text, "\n")
		if at := hunk().FindStringSubmatch(text); at != nil {
			to, _ := strconv.Atoi(at[1]) // of digits; too many of them count as none
			f.fold(known, before, after, to-before)
			inside, before = true, to
			after, _ = strconv.Atoi(at[2])
			f.Parts = append(f.Parts, diffPart{})
			continue
		}
		if !inside {
			if !strings.HasPrefix(text, "--- ") && !strings.HasPrefix(text, "+++ ") {
				f.show(diffLine{Class: "gap", Text: strings.TrimPrefix(text, `\ `)})
			}
			continue
		}
		if f.lines >= shownLines {
			f.Cut = true
			return
		}
		before, after = f.add(text, before, after)
	}
	if inside && len(known.lines) > 0 {
		f.fold(known, before, after, len(known.lines)-known.number(before, after)+1)
	}
}

// fold adds n lines that are the same, from these numbers on.
func (f *fileDiff) fold(known sideOf, before, after, n int) {
	if n <= 0 {
		return
	}
	part := diffPart{Folded: n}
	from := known.number(before, after) - 1
	if n <= maxFolded && from >= 0 && from+n <= len(known.lines) {
		for i, text := range known.lines[from : from+n] {
			part.Lines = append(part.Lines, diffLine{Old: before + i, New: after + i, Text: strings.TrimSuffix(text, "\r")})
		}
	}
	f.Parts = append(f.Parts, part)
}

// show adds a line to those that are shown.
func (f *fileDiff) show(line diffLine) {
	if len(f.Parts) == 0 || f.Parts[len(f.Parts)-1].Folded > 0 {
		f.Parts = append(f.Parts, diffPart{})
	}
	last := &f.Parts[len(f.Parts)-1]
	last.Lines = append(last.Lines, line)
	f.lines++
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
	f.show(line)
	return before, after
}
