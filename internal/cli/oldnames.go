package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"foyer/internal/cli/profile"
)

// shared commands work on servers and, below admin, on the database. Before there was admin, they had the same names on
// both.
var shared = []string{"app", "site", "invite", "member", "key", "organization", "activity"}

// operators have only ever worked on the database. These are their names before there was admin.
var operators = []string{"user list", "backup", "restore", "migrate", "organization create", "member add", "app credentials"}

// admins came with admin, and have no other name.
var admins = []string{"user signin-link", "user delete", "user unlink", "organization delete", "activity verify"}

// remotes have only ever worked on servers.
var remotes = []string{"member get", "organization get"}

// askers ask for confirmation under these names, too: their questions came with admin.
var askers = []string{"app pull", "app set"}

// rewriteOldName keeps the old names of commands on the database working for one release, without a confirmation, as
// before.
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

// meansServer reports whether the command line names a server, or there is a default one and no database.
func (e *environment) meansServer(command string, flags map[string]bool) bool {
	if command == "app credentials" { // its --url is a repository's
		delete(flags, "--url")
	}
	if flags["--url"] || flags["--profile"] || e.variables["FOYER_URL"] != "" {
		return true
	}
	_, err := e.profiles().Get(profile.Default)
	return err == nil && !e.meansDatabase(flags)
}

// beforeProfile returns what takes precedence over the default profile in commands that name no server.
func (e *environment) beforeProfile() beforeProfile {
	switch {
	case e.variables["FOYER_URL"] != "":
		return "FOYER_URL"
	case e.meansDatabase(nil):
		return "the database here"
	case e.variables["FOYER_KEY"] != "":
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

// takeValues are the flags before a command's name that take a value, and those of activity, whose list needs no name.
var takeValues = []string{
	"--data-dir", "--output", "-o", "--url", "--profile", "--organization", "--as", "--if-match", "--idempotency-key",
	"--scope", "--item", "--user", "--limit", "--offset",
}

// flagsLast moves flags from before a command to its end: kong knows the flags of a noun only after the noun.
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

// split returns the words of a command line up to its first arguments, and the names of its flags.
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
