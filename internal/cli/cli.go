// Package cli is the command-line face of foyer.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/cli/terminal"
	"foyer/internal/face/wire"
)

// Exit codes.
const (
	OK      = 0
	Refused = 1 // the command was understood, but failed
	Misused = 2 // the command was not understood, or a setting is wrong

	Interrupted = 130 // ctx was done before the command was
)

var errInterrupted = errors.New("interrupted")

// serving is the command line of a server. Its start would take half as long again if it parsed all commands.
type serving struct {
	DataDir string `placeholder:"DIR" help:"Data folder. [FOYER_DATA_DIR; default ./foyer-data]"`
	Output  string `short:"o" enum:"table,wide,json,csv" default:"table" placeholder:"FORMAT" help:"Answer in a table, wide (all columns), json or csv."`
	JSON    bool   `name:"json" help:"Answer in JSON."`
	Yes     bool   `short:"y" help:"Do what cannot be undone without asking."`

	Serve serveCommand `cmd:"" help:"Start the server."`
}

// commands is the whole command line on one screen.
type commands struct {
	serving

	Login        loginCommand                        `cmd:"" help:"Keep a server and a key, which the commands below use."`
	Logout       logoutCommand                       `cmd:"" help:"Forget a server and its key."`
	App          under[remote, appCommands]          `cmd:"" help:"Apps of an organization."`
	Site         under[remote, siteCommands]         `cmd:"" help:"Sites, and the apps placed on them."`
	Invite       under[remote, inviteCommands]       `cmd:"" help:"Invites to an organization."`
	Member       under[remote, memberCommands]       `cmd:"" help:"Who is in an organization."`
	Key          under[remote, keyCommands]          `cmd:"" help:"Your API keys."`
	Organization under[remote, organizationCommands] `cmd:"" help:"Your organizations, and their settings."`
	User         under[remote, userCommands]         `cmd:"" help:"Who you are."`
	Webhook      under[remote, webhookCommands]      `cmd:"" help:"Where events of an organization are sent to."`
	Activity     under[remote, activityCommands]     `cmd:"" help:"Who did what, the newest first."`
	Admin        adminCommands                       `cmd:"" help:"For operators: the same, and more, on the database."`
	Completion   completionCommand                   `cmd:"" help:"Print what completes commands in a shell."`
	Version      versionCommand                      `cmd:"" help:"Show the version of this program."`
	Complete     completeCommand                     `cmd:"" name:"__complete" hidden:"" passthrough:""`
}

const description = `Foyer keeps an organization's frontend apps, its sites and its people behind an HTTP API.

To try it, run "foyer serve" with no setting at all. "foyer login URL" keeps the address of a server and a key; the other
commands then work there. --url or FOYER_URL with FOYER_KEY name another. "foyer admin" has the commands of operators, which
work on the database, even while servers run. The exit status is 0, 2 if the command line or a setting is refused before
anything is done, 1 if a command fails later; what a signal interrupts dies of it.`

// under has the commands of a noun, and their common flags.
type under[Flags, Commands any] struct {
	Flags    Flags    `embed:""`
	Commands Commands `embed:""`
}

func (u under[Flags, Commands]) Help() string {
	if h, ok := any(u.Commands).(kong.HelpProvider); ok {
		return h.Help()
	}
	return ""
}

// Run executes one command line and returns the exit code.
func Run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var c commands
	err := c.run(ctx, args, environ, stdin, stdout, stderr)
	if err == nil {
		return OK
	}
	if c.format() == terminal.JSON {
		fmt.Fprintln(stderr, terminal.NewOutput(stderr, terminal.JSON, true).Shown(string(errorObject(err))))
	} else {
		for _, line := range lines(err) {
			fmt.Fprintln(stderr, "foyer:", terminal.Printable(line))
		}
	}
	_, misused := errors.AsType[terminal.MisuseError](err)
	switch {
	case errors.Is(err, errInterrupted):
		return Interrupted
	case misused:
		return Misused
	}
	return Refused
}

// refusal lists the faults of a request, one per line, and when to try again.
func refusal(refused *client.Error) (all []string) {
	for _, f := range refused.Errors {
		all = append(all, (&client.Error{Errors: []client.Fault{f}}).Error())
	}
	if refused.RetryAfter > 0 {
		all = append(all, fmt.Sprintf("try again in %s", refused.RetryAfter.Round(time.Second)))
	}
	return all
}

// lines lists the faults of an error, one per line.
func lines(err error) []string {
	var all []string
	if refused, ok := errors.AsType[*client.Error](err); ok && len(refused.Errors) > 0 {
		return refusal(refused)
	}
	if faults, ok := errors.AsType[fault.List](err); ok {
		for _, f := range faults {
			all = append(all, f.Error())
		}
		return all
	}
	if asked, ok := errors.AsType[*url.Error](err); ok {
		if at, parseErr := url.Parse(asked.URL); parseErr == nil {
			said := " gave no answer: " // but it may have done the request
			if unreached, ok := errors.AsType[*net.OpError](err); ok && unreached.Op == "dial" {
				said = " cannot be asked: "
			}
			return []string{at.Scheme + "://" + at.Host + said + asked.Err.Error()}
		}
	}
	for line := range strings.SplitSeq(err.Error(), "\n") { // pgx indents the errors of its attempts, the same with TLS and without
		all = append(all, strings.TrimSpace(line))
	}
	return slices.Compact(all)
}

// errorObject renders err in the API's format of errors.
func errorObject(err error) []byte {
	type object struct {
		Type   string  `json:"type"`
		Code   string  `json:"code"`
		Detail string  `json:"detail"`
		Attr   *string `json:"attr"`
	}
	var all []object
	if refused, ok := errors.AsType[*client.Error](err); ok {
		for _, f := range refused.Errors {
			o := object{Type: f.Type, Code: f.Code, Detail: f.Detail}
			if f.Attr != "" {
				o.Attr = &f.Attr
			}
			all = append(all, o)
		}
	}
	if all == nil && !fault.Is(err, fault.Internal) {
		return wire.AppendError(nil, err)
	}
	if all == nil {
		for _, line := range lines(err) {
			all = append(all, object{Type: "command_error", Code: "failed", Detail: line})
		}
	}
	text, _ := json.Marshal(struct { // never fails: it has only texts
		object
		Errors []object `json:"errors"`
	}{all[0], all})
	return text
}

func (c *commands) format() terminal.Format {
	if c.JSON {
		return terminal.JSON
	}
	return terminal.Format(c.Output)
}

func (c *commands) run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	c.JSON = wantsJSON(args) // for errors before the parser has set it
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return terminal.Misused(fmt.Errorf("%q is not UTF-8", arg))
		}
	}
	helped := false
	parser, err := c.parser(args, kong.Writers(stdout, stderr), kong.Exit(func(int) { helped = true }), kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case len(args) == 1 && args[0] == "--version": // as other programs have it; no command takes it
		args = []string{"version"}
	case args[0] == "help":
		args = slices.Concat(args[1:], []string{"--help"})
	}
	e := newEnvironment(environ, stderr)
	args, err = e.rewriteOldName(flagsLast(args))
	if err != nil {
		return terminal.Misused(err)
	}
	parsed, err := parser.Parse(args)
	if helped {
		return nil
	}
	if err == nil {
		err = checkGiven(parsed)
	}
	if err != nil {
		c.JSON = c.JSON || wantsJSON(args)
		return terminal.Misused(misunderstood(err))
	}
	e.command, e.flags = parsed.Command(), flagValues(parsed)
	defer func() { err = errors.Join(err, e.close()) }()
	if err := e.bind(parsed); err != nil {
		return err
	}
	out := terminal.NewOutput(stdout, c.format(), e.variables["NO_COLOR"] != "" || e.variables["TERM"] == "dumb")
	dry := e.flags["dry-run"] != ""
	if dry {
		fmt.Fprintln(stderr, "foyer: note: a dry run: nothing is changed, and this is what the answer would be")
	}
	err = parsed.Run(out, terminal.Log{Writer: stderr}, terminal.Input{Reader: stdin, Questions: stderr, Done: ctx.Done(), Yes: c.Yes || dry}, e.profiles(), e.beforeProfile(), parser.Model)
	return e.cause(ctx, err)
}

// misunderstood describes what is wrong with a command line.
func misunderstood(err error) error {
	text := strings.NewReplacer(`one of "",`, `one of `, // "" stands for a flag that is not given
		"expected a valid 64 bit int but got", "must be a whole number, not").Replace(err.Error())
	wrong, ok := errors.AsType[*kong.ParseError](err)
	if ok && strings.HasPrefix(text, "unexpected argument") && strings.Contains(text, "@") &&
		slices.ContainsFunc(wrong.Context.Flags(), func(f *kong.Flag) bool { return f.Name == "email" }) {
		text += ": give an address as --email=ADDRESS"
	}
	return errors.New(text)
}

// wantsJSON reports whether a command line that could not be parsed asks for JSON.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch {
		case arg == "--":
			return false
		case slices.Contains([]string{"--json", "--json=true", "-ojson", "-o=json", "-yojson", "--output=json"}, arg):
			return true
		case slices.Contains([]string{"-o", "-yo", "--output"}, arg) && i+1 < len(args) && args[i+1] == "json":
			return true
		}
	}
	return false
}

const helpWidth = 120

func (c *commands) parser(args []string, options ...kong.Option) (*kong.Kong, error) {
	c.Serve = newServeCommand()
	var grammar any = c
	if len(args) > 0 && args[0] == "serve" {
		grammar = &c.serving
	}
	return kong.New(grammar, slices.Concat([]kong.Option{
		kong.Name("foyer"), kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, WrapUpperBound: helpWidth}),
	}, options)...)
}

// flagValues returns the given flags by name: strings, and booleans that are on.
func flagValues(c *kong.Context) map[string]string {
	values := map[string]string{}
	for _, f := range c.Flags() {
		switch {
		case f.Target.Kind() == reflect.String:
			values[f.Name] = f.Target.String()
		case f.Target.Kind() == reflect.Bool && f.Target.Bool():
			values[f.Name] = "true"
		}
	}
	return values
}
