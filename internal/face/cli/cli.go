// Package cli is the command-line face of foyer.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"foyer/internal/base/fault"
	"foyer/internal/config"
	"foyer/internal/server"
)

// version is set by the linker.
var version = "unknown"

// Exit codes.
const (
	OK      = 0
	Refused = 1 // the command was understood, but could not be carried out
	Misused = 2 // it was not understood, or a setting is wrong
)

// commands is the whole command line on one screen.
type commands struct {
	DataDir string `placeholder:"DIR" help:"Data folder. [FOYER_DATA_DIR; default ./foyer-data]"`
	JSON    bool   `name:"json" help:"Answer in JSON."`

	ShowVersion kong.VersionFlag `name:"version" hidden:""` // as other programs have it

	Serve        serveCommand         `cmd:"" help:"Start the server."`
	Organization organizationCommands `cmd:"" help:"Organizations: make one, list them, change settings."`
	User         userCommands         `cmd:"" help:"People."`
	Member       memberCommands       `cmd:"" help:"Who is in an organization."`
	Key          keyCommands          `cmd:"" help:"API keys."`
	App          appCommands          `cmd:"" help:"Apps of an organization."`
	Site         siteCommands         `cmd:"" help:"Sites, and the apps placed on them."`
	Invite       inviteCommands       `cmd:"" help:"Invites to an organization."`
	Activity     activityCommands     `cmd:"" help:"Who did what, the newest first, and whether that is as it was written."`
	Backup       backupCommand        `cmd:"" help:"Copy a SQLite database while servers use it."`
	Restore      restoreCommand       `cmd:"" help:"Put a backup in the place of a SQLite database."`
	Migrate      migrateCommand       `cmd:"" help:"Bring the schema of the database up to date."`
	Version      versionCommand       `cmd:"" help:"Show the version of this program."`
}

const description = `Foyer keeps an organization's frontend apps and its invites behind an HTTP API.

To try it, run "foyer serve" with no setting at all. The other commands work directly on its database, even while
servers run; FOYER_DATABASE names another. The exit status is 0, 2 if the command line or a setting is refused before
anything is done, 1 if a command fails later.`

// misuse is an error in how the program was called.
type misuse struct{ error }

// Unwrap returns what is wrong.
func (m misuse) Unwrap() error { return m.error }

// Run executes one command line and returns the exit code.
func Run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := run(ctx, args, environ, stdin, stdout, stderr)
	if err == nil {
		return OK
	}
	for _, line := range lines(err) {
		fmt.Fprintln(stderr, "foyer:", line)
	}
	if _, ok := errors.AsType[misuse](err); ok {
		return Misused
	}
	return Refused
}

// input is where a command reads what must not be on the command line.
type input struct{ io.Reader }

// or returns the value of a flag, or a line that is read if that is "-".
func (in input) or(value string) (string, error) {
	if value != "-" {
		return value, nil
	}
	lines := bufio.NewScanner(in)
	lines.Scan()
	return lines.Text(), lines.Err()
}

// lines is all that is wrong, one fault per line.
func lines(err error) []string {
	if faults, ok := errors.AsType[fault.List](err); ok {
		all := make([]string, len(faults))
		for i, f := range faults {
			all[i] = f.Error()
		}
		return all
	}
	return strings.Split(err.Error(), "\n")
}

func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return misuse{fmt.Errorf("%q is not UTF-8", arg)}
		}
	}
	c := commands{Serve: newServeCommand()}
	helped := false
	parser, err := kong.New(&c,
		kong.Name("foyer"), kong.Description(description), kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, WrapUpperBound: helpWidth}),
		kong.Vars{"version": version},
		kong.Exit(func(int) { helped = true }),
		kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "help":
		args = slices.Concat(args[1:], []string{"--help"})
	}
	parsed, err := parser.Parse(args)
	if helped {
		return nil
	}
	if err != nil {
		return misuse{err}
	}
	e := environment{variables: environ, flags: flagValues(parsed), creates: slices.Contains(creators, parsed.Command())}
	defer func() { err = errors.Join(err, e.close()) }()
	if err := errors.Join(
		parsed.BindSingletonProvider(e.config),
		parsed.BindSingletonProvider(e.open),
	); err != nil {
		return err
	}
	err = parsed.Run(&output{Writer: stdout, json: c.JSON}, logs{stderr}, input{stdin})
	if e.err != nil {
		return e.err // kong's names the type of an argument
	}
	return err
}

const helpWidth = 120

// creators are the commands, besides serve, that make a database if there is none.
// Others would hide a typo in its path.
var creators = []string{"migrate", "organization create"}

// environment gives commands what they ask for: the settings, the database.
type environment struct {
	variables []string
	flags     map[string]string
	creates   bool // the command is one of creators
	opened    *server.Domain
	err       error // why a command did not get what it asked for
}

func (e *environment) config() (config.Config, error) {
	c, err := config.Load(e.variables, e.flags)
	if err != nil {
		e.err = misuse{err}
	}
	return c, e.err
}

func (e *environment) open(ctx context.Context, c config.Config) (*server.Domain, error) {
	if !e.creates {
		if e.err = c.CheckDatabase(); e.err != nil {
			return nil, e.err
		}
	}
	e.opened, e.err = server.Open(ctx, c, slog.New(slog.DiscardHandler))
	return e.opened, e.err
}

func (e *environment) close() error {
	if e.opened == nil {
		return nil
	}
	return e.opened.Close()
}

// flagValues lists the flags that are texts, by name.
func flagValues(c *kong.Context) map[string]string {
	values := map[string]string{}
	for _, f := range c.Flags() {
		if text, ok := f.Target.Interface().(string); ok {
			values[f.Name] = text
		}
	}
	return values
}
