package console

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"foyer/client"
)

// differences are the differences of files, cut to what a page shows.
type differences struct {
	Files []fileDiff
	Of    string // the path of a page about one file, without its name; "": there is none
}

// One returns the path of the page about one of the files; "": there is none.
func (d differences) One(name string) string {
	if d.Of == "" {
		return ""
	}
	return d.Of + url.QueryEscape(name)
}

// fileDiff is the difference of one file.
type fileDiff struct {
	Filename       string
	Parts          []diffPart
	Added, Removed int
	Cut            bool     // there is more than the page shows
	mixed          bool     // some of its lines end with CR LF, and some do not
	known          []string // its lines before or after the difference; nil: they are unknown
	before         bool     // known are those before
	lines          int
	room           *int
}

// diffPart is a run of lines: those around a difference, or the unchanged ones between.
type diffPart struct {
	Folded int        // the number of folded lines; 0: they are shown
	Lines  []diffLine // none if they are folded and unknown
}

// diffLine is a line of a difference with its numbers.
type diffLine struct {
	Old, New int // 0: it has none
	Class    string
	Text     string
}

// Sign shows a line's kind without color.
func (l diffLine) Sign() string {
	return map[string]string{"added": "+", "removed": "−"}[l.Class]
}

// A page shows shownBytes of differences, with lineBytes for the markup of a line. It shows at most shownLines of each
// file, each cut after lineLength, and holds at most maxFolded unchanged lines in addition.
const (
	shownBytes = 56 << 10
	lineBytes  = 24
	shownLines = 400
	lineLength = 1000
	maxFolded  = 200
)

// hunk matches the start of a part of a unified diff, in both files.
var hunk = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`) })

// side has the known texts of the files before or after a difference.
type side struct {
	texts  map[string]string
	before bool
}

// readDiffs parses unified diffs and cuts each to what is shown. It folds the unchanged lines between, with their text if
// it is known.
func readDiffs(diffs []client.FileDiff, known side) differences {
	all, room := make([]fileDiff, len(diffs)), shownBytes
	for i, d := range diffs {
		all[i].Filename, all[i].room, all[i].before = d.Filename, &room, known.before
		if text, ok := known.texts[d.Filename]; ok && text != "" && strings.Contains(d.Diff, "\n@@ ") {
			all[i].known = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		all[i].read(d.Diff)
	}
	return differences{Files: all}
}

// number returns the line number on the known side.
func (f *fileDiff) number(before, after int) int {
	if f.before {
		return before
	}
	return after
}

func (f *fileDiff) read(diff string) {
	before, after, inside := 1, 1, false
	_, hunks, _ := strings.Cut(diff, "\n@@ ")
	crlf := strings.Count(hunks, "\r\n")
	f.mixed = crlf > 0 && crlf < strings.Count(hunks, "\n ")+strings.Count(hunks, "\n+")+strings.Count(hunks, "\n-")
	for text := range strings.Lines(diff) {
		text = strings.TrimSuffix(text, "\n")
		if at := hunk().FindStringSubmatch(text); at != nil {
			to, _ := strconv.Atoi(at[1]) // of digits; too many of them count as none
			f.fold(before, after, to-before)
			inside, before = true, to
			after, _ = strconv.Atoi(at[2])
			continue
		}
		if !inside {
			if !strings.HasPrefix(text, "--- ") && !strings.HasPrefix(text, "+++ ") {
				f.show(diffLine{Class: "gap", Text: strings.TrimPrefix(text, `\ `)})
			}
			continue
		}
		before, after = f.add(text, before, after)
	}
	if inside && len(f.known) > 0 {
		f.fold(before, after, len(f.known)-f.number(before, after)+1)
	}
}

// fold adds n unchanged lines, starting at these numbers.
func (f *fileDiff) fold(before, after, n int) {
	if n <= 0 || f.Cut {
		return
	}
	part := diffPart{Folded: n}
	from := f.number(before, after) - 1
	if n <= maxFolded && from >= 0 && from+n <= len(f.known) {
		for i, text := range f.known[from : from+n] {
			part.Lines = append(part.Lines, diffLine{Old: before + i, New: after + i, Text: shorten(strings.TrimSuffix(text, "\r"))})
		}
		if !f.take(part.Lines...) {
			part.Lines = nil
		}
	}
	f.Parts = append(f.Parts, part)
}

// take reserves the room of lines on the page, if there is enough.
func (f *fileDiff) take(lines ...diffLine) bool {
	need := 0
	for _, line := range lines {
		need += lineBytes + len(line.Text)
	}
	if need > *f.room {
		return false
	}
	*f.room -= need
	return true
}

// show adds a line to the shown ones, until there are enough.
func (f *fileDiff) show(line diffLine) {
	line.Text = shorten(line.Text)
	f.Cut = f.Cut || f.lines == shownLines || !f.take(line)
	if f.Cut {
		return
	}
	if len(f.Parts) == 0 || f.Parts[len(f.Parts)-1].Folded > 0 {
		f.Parts = append(f.Parts, diffPart{})
	}
	last := &f.Parts[len(f.Parts)-1]
	last.Lines = append(last.Lines, line)
	f.lines++
}

// shorten cuts a line to what is shown.
func shorten(text string) string {
	if len(text) <= lineLength {
		return text
	}
	return strings.ToValidUTF8(text[:lineLength], "") + " …"
}

// Shown reports whether any line of the file is shown.
func (f fileDiff) Shown() bool { return f.lines > 0 }

// add adds a line at its numbers, and returns the numbers of the next.
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
	if text, cr := strings.CutSuffix(line.Text, "\r"); cr && f.mixed && line.Class != "" { // HTML would not show it
		line.Text = text + "<U+000D>"
	}
	f.show(line)
	return before, after
}
