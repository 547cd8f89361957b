package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"ap":                  "app",
		"app p":               "pull push",
		"admin user ":         "delete list set signin-link unlink",
		"app push --n":        "--name=",
		"app delete x --y":    "--yes",
		"app list --t":        "--type=",
		"admin app list --as": "--as=",
		"app --prof":          "--profile=",
		"activity --f":        "--follow",
		"admin activity --u":  "--user=",
		"activity head --f":   "",
		"__":                  "",
		"nonsense --pro":      "",
		"invite create --no-": "",

		"app list --state=":          "--state=disabled --state=broken --state=edited --state=failing",
		"app list --state = b":       "broken",
		"app list --state =":         "disabled broken edited failing",
		"member list --level o":      "owner",
		"app list -o ":               "table wide json csv",
		"app list --search=":         "",
		"app list --yes ":            "",
		"invite create --level=x":    "",
		"invite create --level=admi": "--level=admin",
	} {
		var model commands
		parser, err := model.parser(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(complete(parser.Model, strings.Split(words, " ")), " "); got != want {
			t.Errorf("%q: %s; want %s", words, got, want)
		}
	}
}

// Bash runs its script. Every machine that runs the tests has bash.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	_, script, _ := call(t, "completion", "bash")
	shell := exec.CommandContext(t.Context(), "bash", "-c", script+`
foyer() { echo "$*" >&2; echo "pull"; echo "push"; }
compopt() { :; }
COMP_WORDS=(foyer app p) COMP_CWORD=2
_foyer
echo "${COMPREPLY[*]}"`)
	out, err := shell.Output()
	if err != nil || string(out) != "pull push\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// Zsh runs its script from a file and from a pipe: with a file, the first call completes, too.
func TestZshCompletes(t *testing.T) {
	t.Parallel()
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		t.Skip("needs zsh")
	}
	_, script, _ := call(t, "completion", "zsh")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "_foyer"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	for installed, want := range map[string]string{"fpath=($PWD); autoload -U _foyer": "", "source ./_foyer": "compdef _foyer foyer\n"} {
		shell := exec.CommandContext(t.Context(), zsh, "-f", "-c", `
foyer() { echo "--type="; echo "pull"; echo "push" }
compadd() { echo "compadd $*" }
compdef() { echo "compdef $*" }
`+installed+`
words=(foyer app p) CURRENT=3
_foyer`)
		shell.Dir = dir
		out, err := shell.CombinedOutput()
		if want += "compadd -S  -- --type=\ncompadd -- pull push\n"; err != nil || string(out) != want {
			t.Errorf("%s: %q, %v; want %q", installed, out, err, want)
		}
	}
}
