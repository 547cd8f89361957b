package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"foyer/internal/cli/profile"
)

// The commands that work on servers and, below admin, on the database; before there was admin,
// they had the same names there.
var shared = []string{"app", "site", "invite", "member", "key", "organization", "activity"}

// Commands that have only ever worked on the database, under the names that they had before there was admin.
var operators = []string{"user list", "backup", "restore", "migrate", "organization create", "member add", "app credentials"}

// Those that came with admin, and have no other name.
var admins = []string{"user signin-link", "user delete", "user unlink", "organization delete", "activity verify"}

// Those that have only ever worked on servers.
var remotes = []string{"member get", "organization get"}

// Those that ask under their old names, too: restore always asked, and the others came with admin.
var askers = []string{"restore", "app pull", "app set"}

// rewriteOldName lets commands on the database go on under their old names, for one release, without a question, as then.
func (e *environment) rewriteOldName(args []string) ([]string, error) {
	words, flags := split(args)
	command := strings.Join(words[:min(2, len(words))], " ")
	if len(words) > 0 && slices.Contains(operators, words[0]) {
		command = words[0]
	}
	onDatabase := slices.Contains(operators, command)
	switch {
	case slices.Contains(admins, command):
		return nil, fmt.Errorf("it is for operators, on the database: its name is `foyer admin %s`", command)
	case len(words) == 0 || !onDatabase && !slices.Contains(shared, words[0]) || command == "key generate" || slices.Contains(remotes, command):
		return args, nil
	case flags["--help"]:
		if !onDatabase {
			return args, nil
		}
		return slices.Concat([]string{"admin"}, args), nil
	case onDatabase && e.meansServer(command, flags):
		return nil, fmt.Errorf("it works on the database, not on a server: its name is `foyer admin %s`", command)
	case !onDatabase && !e.meansDatabase(flags):
		return args, nil
	}
	fmt.Fprintf(e.stderr, "foyer: note: `foyer %s` works on the database here; its name there is now `foyer admin %s`.\n", command, command)
	args = slices.Concat([]string{"admin"}, args)
	if !slices.Contains(askers, command) {
		end := slices.Index(args, "--")
		if end < 0 {
			end = len(args)
		}
		args = slices.Insert(args, end, "--yes")
	}
	return args, nil
}

// meansServer reports whether a command is told which server to work on, or knows one and no database.
func (e *environment) meansServer(command string, flags map[string]bool) bool {
	if command == "app credentials" { // whose --url is that of a repository
		delete(flags, "--url")
	}
	if flags["--url"] || flags["--profile"] || e.variables["FOYER_URL"] != "" {
		return true
	}
	_, err := e.profiles().Get(profile.Default)
	return err == nil && !e.meansDatabase(flags)
}

// beforeProfile is what counts before the default profile, for commands that name nothing.
func (e *environment) beforeProfile() beforeProfile {
	switch {
	case e.variables["FOYER_URL"] != "":
		return "FOYER_URL"
	case e.meansDatabase(map[string]bool{}):
		return "the database here"
	case strings.TrimSpace(e.variables["FOYER_KEY"]) != "":
		return "FOYER_KEY"
	}
	return ""
}

type beforeProfile string // "": nothing does

// meansDatabase reports whether a command that could work on a server is meant for the database.
func (e *environment) meansDatabase(flags map[string]bool) bool {
	database := flags["--data-dir"] || flags["--as"]
	for _, name := range []string{"FOYER_DATABASE", "FOYER_DATABASE_FILE", "FOYER_DATA_DIR"} {
		database = database || e.variables[name] != ""
	}
	if !database {
		_, err := os.Stat("foyer-data")
		database = err == nil
	}
	return database && !flags["--url"] && !flags["--profile"] && e.variables["FOYER_URL"] == ""
}

// takeValues are the flags that come before a command's name with a value of their own.
var takeValues = []string{"--data-dir", "--output", "-o", "--url", "--profile", "--organization", "--as", "--if-match", "--idempotency-key"}

// flagsLast moves the flags that stand before a command behind it: kong knows those of a noun only
// after the noun.
func flagsLast(args []string) []string {
	i := 0
	for i < len(args) && strings.HasPrefix(args[i], "-") && args[i] != "--" {
		if slices.Contains(takeValues, args[i]) {
			i++
		}
		i++
	}
	if i == 0 || i >= len(args) || args[i] == "--" {
		return args
	}
	return slices.Concat(args[i:], args[:i])
}

// split returns the words of a command line up to its first arguments, and which flags it has.
func split(args []string) (words []string, flags map[string]bool) {
	flags = map[string]bool{}
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if !strings.HasPrefix(args[i], "-") {
			words = append(words, args[i])
			continue
		}
		name, _, hasValue := strings.Cut(args[i], "=")
		if name == "-h" {
			name = "--help"
		}
		flags[name] = true
		if !hasValue && slices.Contains(takeValues, name) {
			i++
		}
	}
	return words, flags
}
