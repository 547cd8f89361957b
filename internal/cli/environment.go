package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/kong"

	"foyer/client"
	"foyer/internal/base/origin"
	"foyer/internal/cli/admin"
	"foyer/internal/cli/profile"
	"foyer/internal/cli/terminal"
	"foyer/internal/config"
	"foyer/internal/server"
)

// creators are the commands besides serve that create a missing database. In others, that would hide a typo in the path.
var creators = []string{"admin migrate", "admin organization create"}

// environment provides what commands ask for: the settings, the database, a server.
type environment struct {
	environ   []string
	variables map[string]string
	stderr    io.Writer
	command   string // the command that runs
	flags     map[string]string

	config       func() (config.Config, error)
	domain       *server.Domain
	organization *client.Organization
	err          error // why a command did not get what it asked for
	failure      error // the last internal error that the API on the database has logged
}

func newEnvironment(environ []string, stderr io.Writer) *environment {
	e := &environment{environ: environ, variables: config.Variables(environ), stderr: stderr}
	e.config = sync.OnceValues(e.load)
	return e
}

func (e *environment) bind(to *kong.Context) error {
	for _, provide := range []any{e.config, e.open, e.target, e.client, e.currentOrganization} {
		if err := to.BindSingletonProvider(provide); err != nil {
			return err
		}
	}
	return nil
}

func (e *environment) load() (config.Config, error) {
	c, err := config.Load(e.environ, e.flags)
	if err != nil {
		e.err = terminal.Misused(err)
	}
	if e.command != "serve" { // serve logs them
		for _, name := range c.Unknown {
			fmt.Fprintln(e.stderr, "foyer: warning: no setting has this name:", name)
		}
	}
	return c, e.err
}

func (e *environment) open(ctx context.Context, c config.Config) (*server.Domain, error) {
	if e.domain != nil {
		return e.domain, nil
	}
	if !slices.Contains(creators, e.command) {
		if e.err = c.CheckDatabase(); e.err != nil {
			return nil, e.err
		}
	}
	e.domain, e.err = server.Open(ctx, c, slog.New(slog.DiscardHandler))
	return e.domain, e.err
}

func (e *environment) close() error {
	if e.domain == nil {
		return nil
	}
	return e.domain.Close()
}

// client returns a client of the server that a command is for, or of the API on the database.
func (e *environment) client(ctx context.Context) (*client.Client, error) {
	var c *client.Client
	if strings.HasPrefix(e.command, "admin ") {
		c, e.err = e.inside(ctx)
	} else {
		c, e.err = e.remote(ctx)
	}
	if e.err != nil {
		return nil, e.err
	}
	asked := callOptions(e.flags)
	e.organization = e.organization.With(asked...)
	return c.With(asked...), nil
}

// currentOrganization returns the organization that a command is for.
func (e *environment) currentOrganization(*client.Client) (*client.Organization, error) {
	return e.organization, e.err
}

// target is the target of a command on the database.
func (e *environment) target() admin.Target {
	return admin.NewTarget(e.flags["organization"], e.flags["as"])
}

func (e *environment) inside(ctx context.Context) (*client.Client, error) {
	settings, err := e.config()
	if err != nil {
		return nil, err
	}
	d, err := e.open(ctx, settings)
	if err != nil {
		return nil, err
	}
	c, o, err := e.target().Client(ctx, d, settings.Base(settings.Listen), slog.New(causes{slog.DiscardHandler, &e.failure}))
	e.organization = o
	return c, err
}

func (e *environment) remote(ctx context.Context) (*client.Client, error) {
	at, err := e.server()
	if err != nil {
		return nil, terminal.Misused(err)
	}
	c, err := client.New(at.URL, at.Key, client.WithUserAgent("foyer/"+Version()))
	if err != nil {
		return nil, terminal.Misused(fmt.Errorf("%s: %w", e.namesServer(), err))
	}
	given := e.flags["organization"]
	id := cmp.Or(given, at.Organization, client.Current)
	if given != "" && given != client.Current {
		if id, err = organizationID(ctx, c, given); err != nil {
			return nil, err
		}
	}
	e.organization = c.Organization(id)
	return c, nil
}

// server returns the server and key that a command uses.
func (e *environment) server() (profile.Profile, error) {
	kept := e.profiles()
	url, key := e.flags["url"], e.variables["FOYER_KEY"]
	if url == "" && e.flags["profile"] == "" {
		url = e.variables["FOYER_URL"]
	}
	switch {
	case e.flags["data-dir"] != "":
		return profile.Profile{}, errors.New("--data-dir names a database, but this command works on a server: foyer admin works on the database")
	case url != "" && e.flags["profile"] != "":
		return profile.Profile{}, errors.New("--url and --profile name two servers: give one of them")
	case key != "" && otherHost(url, e.variables["FOYER_URL"]): // such as that of an app's repository, by mistake
		return profile.Profile{}, errors.New("--url names another server than FOYER_URL, and FOYER_KEY belongs to FOYER_URL: unset FOYER_URL to send the key to --url")
	case url == "" && e.flags["profile"] == "" && key != "":
		return profile.Profile{}, errors.New("FOYER_KEY is set, but no server for it: set FOYER_URL or give --url; --profile=NAME uses the key that is kept")
	case url == "":
		return kept.Get(e.flags["profile"])
	case key != "" || !isServer(url): // remote refuses a wrong url for being one, not for having no key
		return profile.Profile{URL: url, Key: key}, nil
	}
	return kept.Of(url)
}

// isServer reports whether a url can be that of a server.
func isServer(url string) bool {
	_, err := client.New(url, "")
	return err == nil
}

// otherHost reports whether a url names another host than the known one. It is false if none is known, or the url names
// none.
func otherHost(given, known string) bool {
	to, err := url.Parse(given)
	if known == "" || err != nil || to.Host == "" {
		return false
	}
	from, err := url.Parse(known)
	return err != nil || origin.Host(to) != origin.Host(from)
}

// namesServer names the source of the server's url.
func (e *environment) namesServer() string {
	switch {
	case e.flags["url"] != "":
		return "--url"
	case e.flags["profile"] == "" && e.variables["FOYER_URL"] != "":
		return "FOYER_URL"
	}
	return fmt.Sprintf("profile %s in %s", cmp.Or(e.flags["profile"], profile.Default), e.profiles())
}

func (e *environment) profiles() profile.File { return profile.In(e.variables) }

// cause returns why a command failed. The API only says that something went wrong, and logs the reason: a user who runs a
// command on the database may read the log.
func (e *environment) cause(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case err != nil && ctx.Err() != nil && e.command != "serve":
		return errInterrupted
	case e.err != nil:
		return e.err // kong's names the type of an argument
	case ok && refused.Status == http.StatusInternalServerError && e.failure != nil:
		return e.failure
	}
	return err
}

// causes keeps the internal errors that the API logs.
type causes struct {
	slog.Handler
	last *error
}

// Enabled implements slog.Handler.
func (causes) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

// Handle implements slog.Handler.
func (c causes) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			*c.last = errors.New(a.Value.String())
		}
		return true
	})
	return nil
}
