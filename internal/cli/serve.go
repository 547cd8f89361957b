package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/signal"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"foyer/internal/cli/terminal"
	"foyer/internal/config"
	"foyer/internal/server"
)

type serveCommand struct {
	kong.Plugins
}

// newServeCommand has a flag for each setting that is not secret, except the data
// folder: every command has that flag.
func newServeCommand() serveCommand {
	var flags []reflect.StructField
	for _, s := range config.Settings {
		if s.Secret || s.Name == "DATA_DIR" {
			continue
		}
		flags = append(flags, reflect.StructField{
			Name: s.Name, Type: reflect.TypeFor[string](),
			Tag: reflect.StructTag(fmt.Sprintf(`name:%q placeholder:"VALUE" help:%q`, s.Flag(), help(s))),
		})
	}
	return serveCommand{kong.Plugins{reflect.New(reflect.StructOf(flags)).Interface()}}
}

func help(s config.Setting) string {
	if s.Default == "" {
		return fmt.Sprintf("%s [%s]", s.Help, s.Variable())
	}
	return fmt.Sprintf("%s [%s; default %s]", s.Help, s.Variable(), s.Default)
}

// Help names the settings that have no flag.
func (serveCommand) Help() string {
	var b strings.Builder
	b.WriteString(`Every setting is an environment variable (in brackets below) and a flag; the flag wins.
Secrets are environment variables only. Add _FILE to the name of one to read it from a file:

`)
	for _, s := range config.Settings {
		if s.Secret {
			fmt.Fprintf(&b, "    %-26s %s\n", s.Variable(), s.Help)
		}
	}
	b.WriteString(`
Examples:

    foyer serve
    FOYER_DATABASE_FILE=/etc/foyer/database foyer serve --listen=:8000 --base-url=https://foyer.example.com
`)
	return b.String()
}

func (serveCommand) Run(ctx context.Context, c config.Config, out *terminal.Output, to terminal.Log) error {
	if err := c.CheckServer(); err != nil {
		return terminal.Misused(err)
	}
	tracer, err := server.Tracer(Version())
	if err != nil {
		return terminal.Misused(err)
	}
	signal.Ignore(syscall.SIGPIPE) // the reader of the log may exit
	lines := slog.New(slog.NewJSONHandler(to, nil))
	slog.SetLogLoggerLevel(slog.LevelDebug) // net/http logs there what hosts send that nobody asked for
	slog.SetDefault(lines)
	err = server.Server{Config: c, Version: Version(), Log: lines, Stdout: out, Tracer: tracer, Leave: time.Second}.Run(ctx)
	if _, wrong := errors.AsType[config.WrongError](err); wrong {
		return terminal.Misused(err)
	}
	return err
}
