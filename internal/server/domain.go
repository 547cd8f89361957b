package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"foyer/internal/access"
	"foyer/internal/activity"
	"foyer/internal/config"
	"foyer/internal/db"
	"foyer/internal/invite"
	"foyer/internal/job"
	"foyer/internal/org"
	"foyer/internal/page"
	"foyer/internal/plugin"
)

// Domain is all that faces call, on one open database.
type Domain struct {
	Keys          *access.Keys
	Sessions      access.Sessions
	Organizations org.Service
	Plugins       plugin.Service
	Invites       invite.Service
	Jobs          *job.Queue

	db *db.DB
}

// Open opens the database that the settings name, and brings its schema up to date.
func Open(ctx context.Context, c config.Config, log *slog.Logger) (*Domain, error) {
	return open(ctx, c, log, false)
}

func open(ctx context.Context, c config.Config, log *slog.Logger, serves bool) (*Domain, error) {
	d, err := db.Open(ctx, c.Database)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.DatabaseSetting(), err)
	}
	secret, err := ensureSecret(ctx, c, d, log, serves)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	domain, err := newDomain(c, secret, d, log)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return domain, nil
}

// ensureSecret finds the secret, or makes that of an empty database. Where it is lost, only
// a server makes another, which says so; a command does without, as most can.
func ensureSecret(ctx context.Context, c config.Config, d *db.DB, log *slog.Logger, serves bool) (string, error) {
	secret, err := c.ServerSecret()
	if err != nil || secret != "" || !c.SQLite() {
		return secret, err
	}
	lost, err := org.Service{}.Any(ctx, d)
	if err != nil || lost && !serves {
		return "", err
	}
	secret, made, err := c.MakeSecret()
	switch {
	case !made:
	case lost:
		log.WarnContext(ctx, "the secret was lost, and another one made: links that were mailed, sessions of the console and stored credentials "+
			"no longer work, until the first one is restored and foyer is started anew", "path", c.SecretPath())
	default:
		log.InfoContext(ctx, "made a secret, since there was none", "path", c.SecretPath())
	}
	return secret, err
}

// newDomain needs no secret, since most commands do not: config.CheckServer refuses
// a server without one.
func newDomain(c config.Config, secret string, d *db.DB, log *slog.Logger) (*Domain, error) {
	apps, err := Apps(c, secret, d, log)
	if err != nil {
		return nil, err
	}
	links, err := newLinks(secret, c.Base(c.Listen))
	if err != nil {
		return nil, err
	}
	sessions, err := access.NewSessions(secret)
	if err != nil {
		return nil, err
	}
	keys, jobs := &access.Keys{DB: d}, job.New(d)
	return &Domain{
		Keys:          keys,
		Sessions:      sessions,
		Organizations: org.Service{DB: d, Keys: keys},
		Plugins:       apps,
		Invites: invite.Service{
			DB: d, Keys: keys, Jobs: jobs, Links: links, TTL: c.InviteTTL, Mails: c.SMTP != "",
			Limits: invite.Limits{Invites: c.InviteLimit, Mails: c.MailLimit}, Memory: invite.NewMemory(),
		},
		Jobs: jobs,
		db:   d,
	}, nil
}

func newLinks(secret, baseURL string) (invite.Links, error) {
	if secret == "" {
		return invite.Links{}, nil
	}
	return invite.NewLinks(secret, baseURL)
}

// Close waits for the transactions under way and closes the database.
func (d *Domain) Close() error { return d.db.Close() }

// Activity returns a page of what was done in an organization, whatever its scope.
func (d *Domain) Activity(ctx context.Context, f activity.Filter, p page.Page) (page.Found[activity.Stored], error) {
	return activity.List(ctx, d.db, f, p)
}

// Migrations names the migrations that the database has had.
func (d *Domain) Migrations(ctx context.Context) ([]string, error) { return d.db.Applied(ctx) }

// Backup copies the SQLite database that the settings name to a new file, while
// servers go on using it.
func Backup(ctx context.Context, c config.Config, path string) error {
	return db.Backup(ctx, c.Database, path)
}

// ErrExists is what Restore says if there is already a database.
var ErrExists = db.ErrExists

// Restore puts a backup in the place of the SQLite database that the settings
// name, which must not be in use. Only replace lets it be there already.
func Restore(ctx context.Context, c config.Config, path string, replace bool) error {
	return db.Restore(ctx, path, c.Database, replace)
}
