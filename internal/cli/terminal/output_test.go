package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestCellsCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	tests := map[any]string{
		"":                       "-",
		"Ünï 🦔":                  "Ünï 🦔",
		"می\u200cخواهم a\u200db": "می\u200cخواهم a\uFFFDb",
		"\x1b[31mred\a":          "\uFFFD[31mred\uFFFD",
		"a\tb\nc\u202ed\u200be":  "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe",
		7:                        "7",
		time.Time{}:              "-",
		time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)): "2026-01-02T02:04:05Z",
	}
	for cell, want := range tests {
		if got := Printable(cell); got != want {
			t.Errorf("Printable(%q) = %q; want %q", cell, got, want)
		}
	}
}

type thing struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

var things = View[thing]{
	Columns: "ID NAME",
	More:    "LONG-NAME",
	Row:     func(t thing) []any { return []any{t.ID, t.Name, t.Name + "!"} },
}

func TestFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[Format]string{
		Table: "ID  NAME\n1   a, \"b\"\n",
		Wide:  "ID  NAME    LONG-NAME\n1   a, \"b\"  a, \"b\"!\n",
		JSON:  `[{"id":1,"name":"a, \"b\""}]` + "\n",
		CSV:   "id,name,long_name\n1,\"a, \"\"b\"\"\",\"a, \"\"b\"\"!\"\n",
	} {
		var out bytes.Buffer
		if err := things.All(&Output{Writer: &out, Format: format}, []thing{{1, `a, "b"`}}); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v; want %q", format, &out, err, want)
		}
	}
}

// A spreadsheet computes cells that begin like a formula, and a terminal executes control characters.
func TestCellsOfCSVDoNothing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"=1+1": "'=1+1", "+x": "'+x", "-x": "'-x", "@x": "'@x", "-": "'-", "-1.5": "-1.5", "+1": "+1", "a=b": "a=b", "": "", "\x1b[31mred\u202e": "\x1b[31mred\u202e",
	} {
		for _, shown := range []bool{false, true} {
			if shown {
				want = strings.NewReplacer("\x1b", "\uFFFD", "\u202e", "\uFFFD").Replace(want)
			}
			var out bytes.Buffer
			if err := things.One(&Output{Writer: &out, Format: CSV, Terminal: shown}, thing{-1, name}); err != nil || !strings.HasPrefix(out.String(), "id,name,long_name\n-1,"+want+",") {
				t.Errorf("%q: %q, %v", name, &out, err)
			}
		}
	}
}

// JSON escapes only some control characters, and sentences escape none.
func TestAnswersCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	const bad, shown = "a\u009b31m\u202eb", "a\uFFFD31m\uFFFDb"
	objects := things
	objects.Object = func(b []byte, t thing) []byte { return append(b, t.Name...) }
	for _, isTerminal := range []bool{false, true} {
		want := bad
		if isTerminal {
			want = shown
		}
		for name, write := range map[string]func(*Output) error{
			"object":      func(o *Output) error { return things.One(o, thing{1, bad}) },
			"list":        func(o *Output) error { return things.All(o, []thing{{1, bad}}) },
			"wire object": func(o *Output) error { return objects.One(o, thing{1, bad}) },
			"wire list":   func(o *Output) error { return objects.All(o, []thing{{1, bad}}) },
			"sentence":    func(o *Output) error { o.Format = Table; return o.Say(nil, "%s", bad) },
			"its answer":  func(o *Output) error { return o.Say(thing{1, bad}, "Done.") },
		} {
			var out bytes.Buffer
			if err := write(&Output{Writer: &out, Format: JSON, Terminal: isTerminal}); err != nil || !strings.Contains(out.String(), want) || !strings.HasSuffix(out.String(), "\n") {
				t.Errorf("%s: %q, %v; want %q", name, &out, err, want)
			}
		}
	}
}

func TestLinesCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	const text, want = "a\tb\n\x1b[2K\r\u202ec\u200dمی\u200cخواهم", "a\tb\n\uFFFD[2K\uFFFD\uFFFDc\uFFFDمی\u200cخواهم"
	if got := (&Output{Terminal: true}).Shown(text); got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

// Program text on a terminal shows that there are letters without a shape; elsewhere it is what it is.
func TestCodeHidesNothing(t *testing.T) {
	t.Parallel()
	const text = "{a,\t\u3164}\ufe00\u202eم\u200c\n"
	for isTerminal, want := range map[bool]string{false: text, true: "{a,\t\uFFFD}\uFFFD\uFFFDم\uFFFD\n"} {
		if got := (&Output{Terminal: isTerminal}).Code(text); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
}

func TestWhatIsSaidInCSV(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	answer := struct {
		thing
		Scopes []string   `json:"scopes"`
		Ends   *time.Time `json:"ends_at"`
		Key    string     `json:"key"`
	}{thing{1, `a, "b"`}, []string{"x", "y"}, nil, "foy_1"}
	err := (&Output{Writer: &out, Format: CSV}).Say(answer, "Keep it.")
	if want := "id,name,scopes,ends_at,key\n1,\"a, \"\"b\"\"\",\"x,y\",,foy_1\n"; err != nil || out.String() != want {
		t.Errorf("%q, %v; want %q", &out, err, want)
	}
}

func TestNothingIsAnEmptyList(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := things.All(&Output{Writer: &out, Format: JSON}, nil); err != nil || out.String() != "[]\n" {
		t.Errorf("%q, %v", &out, err)
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	const width = 40
	rows := []thing{{1, strings.Repeat("ä", 100)}, {2, "short"}}
	var out bytes.Buffer
	if err := things.All(&Output{Writer: &out, Format: Table, Width: width}, rows); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	if !strings.Contains(out.String(), "ä…") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("table %q", &out)
	}
	out.Reset()
	if err := things.All(&Output{Writer: &out, Format: Table, Width: width, Color: true}, rows); err != nil || !strings.Contains(out.String(), "\x1b[1mID") {
		t.Errorf("table %q, %v", &out, err)
	}
}

func TestTextsTakeCells(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "Ünï": 3, "U\u0308": 1, "می\u200cخ": 3, "界面": 4, "🦔": 2, "…": 1} {
		if got := cells(text); got != want {
			t.Errorf("%s: %d cells; want %d", text, got, want)
		}
	}
	for room, want := range map[int]string{2: "…", 3: "界…", 4: "界…", 5: "界面…", 6: "界面界"} {
		if got := cut("界面界", room); got != want {
			t.Errorf("cut to %d: %s; want %s", room, got, want)
		}
	}
}

// With eight columns, all become narrower than their names, and stay aligned.
func TestManyColumnsFitTheTerminal(t *testing.T) {
	t.Parallel()
	many := View[string]{
		Columns: "IDENTIFIER NAME TYPE TAG LATEST GLOBAL ORGANIZATION URL",
		Row: func(name string) []any {
			return []any{12345, name, "repository", "v1.2.3", "v1.2.4", true, name, "https://x.example/" + name}
		},
	}
	for _, room := range []int{60, 80} {
		var out bytes.Buffer
		if err := many.All(&Output{Writer: &out, Format: Table, Width: room}, []string{strings.Repeat("界", 50), "Banner"}); err != nil {
			t.Fatal(err)
		}
		var at []int
		for line := range strings.Lines(out.String()) {
			if n := cells(strings.TrimSuffix(line, "\n")); n > room {
				t.Errorf("a line of %d cells: %s", n, line)
			}
			if before, _, found := strings.Cut(line, "v1.2."); found {
				at = append(at, cells(before))
			}
		}
		if room == 80 && (len(at) != 2 || at[0] != at[1]) {
			t.Errorf("columns are shifted:\n%s", &out)
		}
	}
}

func TestWithoutATerminalNothingIsLost(t *testing.T) {
	t.Parallel()
	in := Input{Reader: strings.NewReader("y\n")}
	err := in.Confirm("Delete %s?", "it")
	if err == nil || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("error %v", err)
	}
	in.Yes = true
	if err := in.Confirm("Delete %s?", "it"); err != nil {
		t.Error(err)
	}
}
