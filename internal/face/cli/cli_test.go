package cli

import (
	"bytes"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/config"
)

// call runs one command line on a data folder of its own.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	environ := []string{"FOYER_DATA_DIR=" + filepath.Join(t.TempDir(), "data")}
	code = Run(t.Context(), args, environ, strings.NewReader(""), &out, &complaints)
	return code, out.String(), complaints.String()
}

func TestServeHasAFlagForEachSettingThatIsNoSecret(t *testing.T) {
	t.Parallel()
	code, help, _ := call(t, "serve", "--help")
	if code != OK {
		t.Errorf("exit code %d; want 0", code)
	}
	help = strings.Join(strings.Fields(help), " ")
	for _, s := range config.Settings {
		if got := strings.Contains(help, "--"+s.Flag()+"="); got == s.Secret {
			t.Errorf("--%s: %t; a flag is for what is no secret", s.Flag(), got)
		}
		if !strings.Contains(help, s.Variable()) || !strings.Contains(help, s.Default) {
			t.Errorf("%s: its name and default %q are not shown", s.Variable(), s.Default)
		}
	}
}

func TestArgumentsMustBeUTF8(t *testing.T) {
	t.Parallel()
	if code, _, complaints := call(t, "organization", "create", "--name=\xff"); code != Misused || !strings.Contains(complaints, "UTF-8") {
		t.Errorf("exit code %d, %s; want 2", code, complaints)
	}
}

func TestEveryFaultIsALine(t *testing.T) {
	t.Parallel()
	err := fault.List{{Field: "name", Detail: "Must be given."}, {Detail: "No."}}.Err()
	if got := strings.Join(lines(err), "|"); got != "name: Must be given.|No." {
		t.Errorf("lines %s", got)
	}
}

func TestCellsCannotCommandTheTerminal(t *testing.T) {
	t.Parallel()
	tests := map[any]string{
		"":                      "-",
		"Ünï 🦔":                 "Ünï 🦔",
		"\x1b[31mred\a":         "\uFFFD[31mred\uFFFD",
		"a\tb\nc\u202ed\u200be": "a\uFFFDb\uFFFDc\uFFFDd\uFFFDe",
		7:                       "7",
		time.Time{}:             "-",
		time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)): "2026-01-02T02:04:05Z",
	}
	for cell, want := range tests {
		if got := printable(cell); got != want {
			t.Errorf("printable(%q) = %q; want %q", cell, got, want)
		}
	}
}

func TestEveryPage(t *testing.T) {
	t.Parallel()
	for _, count := range []int{0, 1, page.MaxLimit, page.MaxLimit + 1, 2 * page.MaxLimit} {
		for _, early := range []int{0, 1} { // how many items a page ends early
			all, err := everyPage(func(p page.Page) (page.Found[int], error) {
				after, _ := strconv.Atoi(p.After)
				items := []int{}
				for i := after + 1; i <= count && len(items) < p.Limit-early; i++ {
					items = append(items, i)
				}
				return page.Found[int]{Items: items, Count: count, More: after+len(items) < count, Last: strconv.Itoa(after + len(items))}, nil
			})
			if err != nil || len(all) != count || count > 0 && all[count-1] != count {
				t.Errorf("%d items, %v; want %d", len(all), err, count)
			}
		}
	}
	broken := errors.New("broken")
	if _, err := everyPage(func(page.Page) (page.Found[int], error) { return page.Found[int]{}, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v; want %v", err, broken)
	}
}

func TestWithoutACommandThereIsHelp(t *testing.T) {
	t.Parallel()
	if code, out, _ := call(t); code != OK || !strings.HasPrefix(out, "Usage: foyer") {
		t.Errorf("exit code %d, %s", code, out)
	}
}
