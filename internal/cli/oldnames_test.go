package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"foyer/internal/cli/profile"
)

// A command works on the server or the database as docs/cli.md describes.
func TestOldNamesGoOn(t *testing.T) {
	t.Chdir(t.TempDir()) // it has no ./foyer-data
	home := "HOME=" + t.TempDir()
	if err := profile.In(map[string]string{"HOME": strings.TrimPrefix(home, "HOME=")}).Put(profile.Default, profile.Profile{URL: "https://x.example"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ line, environ, want string }{
		{"app list", "", "app list"},
		{"app list", "FOYER_DATABASE=x", "admin app list --yes"},
		{"app list", "FOYER_DATABASE_FILE=x", "admin app list --yes"},
		{"app list", "FOYER_DATA_DIR=x", "admin app list --yes"},
		{"app list --data-dir=x", "", "admin app list --data-dir=x --yes"},
		{"--data-dir x app list", "", "admin app list --data-dir x --yes"},
		{"app list --as=a@x.example", "", "admin app list --as=a@x.example --yes"},
		{"app list --as=a@x.example", "FOYER_URL=https://x.example", "app list --as=a@x.example"},
		{"app list", "FOYER_DATA_DIR=x FOYER_URL=https://x.example", "app list"},
		{"app list --url=https://x.example", "FOYER_DATA_DIR=x", "app list --url=https://x.example"},
		{"--url https://x.example app list", "FOYER_DATA_DIR=x", "app list --url https://x.example"},
		{"app list --profile=x", "FOYER_DATA_DIR=x", "app list --profile=x"},
		{"app create --url=https://x.example", "FOYER_DATA_DIR=x", "app create --url=https://x.example"},
		{"backup x", "FOYER_URL=https://x.example", "refused: foyer admin backup"},
		{"organization create --name=x", "FOYER_URL=https://x.example", "refused: foyer admin organization create"},
		{"member add --profile=x", "", "refused: foyer admin member add"},
		{"app credentials 1 --url=https://git.example", "", "admin app credentials 1 --url=https://git.example --yes"},
		{"organization create --name=x", home, "refused: foyer admin organization create"},
		{"migrate", home, "refused: foyer admin migrate"},
		{"app credentials 1 --url=https://git.example", home + " FOYER_DATA_DIR=x", "admin app credentials 1 --url=https://git.example --yes"},
		{"backup x", home + " FOYER_DATA_DIR=x", "admin backup x --yes"},
		{"restore x", "", "admin restore x --yes"},
		{"app pull x --app=a", "FOYER_DATA_DIR=x", "admin app pull x --app=a"},
		{"app set a --global=false", "FOYER_DATA_DIR=x", "admin app set a --global=false"},
		{"activity --limit 2", "FOYER_DATA_DIR=x", "admin activity --limit 2 --yes"},
		{"activity --user a@x.example --json", "FOYER_DATA_DIR=x", "admin activity --user a@x.example --json --yes"},
		{"activity head", "FOYER_DATA_DIR=x", "admin activity head --yes"},
		{"activity --organization x verify", "FOYER_DATA_DIR=x", "refused: foyer admin activity verify"},
		{"user delete a@x.example", "FOYER_DATA_DIR=x", "refused: foyer admin user delete"},
		{"organization delete x", "", "refused: foyer admin organization delete"},
		{"member add", "", "admin member add --yes"},
		{"backup --help", "", "admin backup --help"},
		{"app list --help", "FOYER_DATA_DIR=x", "app list --help"},
		{"key generate", "FOYER_DATA_DIR=x", "key generate"},
		{"member get a@x.example", "FOYER_DATA_DIR=x", "member get a@x.example"},
		{"organization get", "FOYER_DATA_DIR=x", "organization get"},
		{"admin app list", "FOYER_DATA_DIR=x", "admin app list"},
		{"serve", "FOYER_DATA_DIR=x", "serve"},
		{"app push -- --as", "", "app push -- --as"},
		{"app delete -- 7", "FOYER_DATA_DIR=x", "admin app delete --yes -- 7"},
	} {
		var warned bytes.Buffer
		args, err := newEnvironment(strings.Fields(c.environ), &warned).rewriteOldName(flagsLast(strings.Fields(c.line)))
		got := strings.Join(args, " ")
		if name, refused := strings.CutPrefix(c.want, "refused: "); refused {
			if err == nil || !strings.Contains(err.Error(), "`"+name+"`") {
				t.Errorf("%s %s: %s, %v; want it refused", c.environ, c.line, got, err)
			}
		} else if got != c.want || err != nil {
			t.Errorf("%s %s: %s, %v; want %s", c.environ, c.line, got, err, c.want)
		}
		if lines := strings.Count(warned.String(), "\n"); lines == 1 != (strings.HasPrefix(got, "admin") && !strings.HasPrefix(c.line, "admin") && !strings.Contains(c.line, "--help")) {
			t.Errorf("%s %s: %d lines of warning", c.environ, c.line, lines)
		}
		_, name, _ := strings.Cut(warned.String(), "is now `foyer ")
		if name = strings.TrimSuffix(name, "`.\n"); !strings.HasPrefix(got, name) {
			t.Errorf("%s %s: the warning names %s", c.environ, c.line, name)
		}
	}
}

// The note about an old name has the new one, without any value of a flag.
func TestOldNamesAreNamed(t *testing.T) {
	t.Parallel()
	for line, name := range map[string]string{
		"activity":                             "activity",
		"activity --scope Key":                 "activity",
		"activity --item 7 --user a@x.example": "activity",
		"activity --limit 5 --offset 2":        "activity",
		"--limit 5 activity head":              "activity head",
		"app --organization x list":            "app list",
		"key create --scope * --email x":       "key create",
	} {
		var warned bytes.Buffer
		if _, err := newEnvironment([]string{"FOYER_DATA_DIR=x"}, &warned).rewriteOldName(flagsLast(strings.Fields(line))); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if want := "is now `foyer admin " + name + "`.\n"; !strings.HasSuffix(warned.String(), want) {
			t.Errorf("%s: %q; want it to end with %q", line, warned.String(), want)
		}
	}
}

// Each server command of a shared noun either exists below admin, too, or is in the list of those that only servers have.
func TestOldNamesAreThere(t *testing.T) {
	t.Parallel()
	var c commands
	parser, err := c.parser(nil)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		have[leaf.FullPath()] = true
	}
	for path := range have {
		words := strings.Fields(path)[1:]
		if command := strings.Join(words, " "); slices.Contains(shared, words[0]) && have["foyer admin "+command] == slices.Contains(remotes, command) {
			t.Errorf("%s: below admin %t", command, have["foyer admin "+command])
		}
	}
}
