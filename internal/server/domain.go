package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"foyer/internal/base/seal"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/domain/addresschange"
	"foyer/internal/domain/event"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/signin"
	"foyer/internal/domain/site"
	"foyer/internal/face/api"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/backup"
	"foyer/internal/infra/job"
	"foyer/internal/infra/upstream/egress"
)

// Domain holds the services that the faces call, on one open database.
type Domain struct {
	Keys          *access.Keys
	Organizations org.Service
	Plugins       plugin.Service
	Sites         site.Service
	Invites       invite.Service
	SignIn        signin.Service
	Addresses     addresschange.Service
	Events        event.Service
	Jobs          *job.Queue
	DB            *db.DB // for queries that belong to no service
}

// Open opens the database in the settings, and migrates it. It is for commands, which know the urls that pages request
// only if the base url is set.
func Open(ctx context.Context, c config.Config, log *slog.Logger) (*Domain, error) {
	d, secret, err := openDatabase(ctx, c, log, false)
	if err != nil {
		return nil, err
	}
	domain, err := newDomain(c, secret, c.Base(c.Listen), d, log)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	domain.Sites.Manifests.BaseURL = c.BaseURL
	return domain, nil
}

// openDatabase opens the database in the settings, migrates it, and finds its secret.
func openDatabase(ctx context.Context, c config.Config, log *slog.Logger, serves bool) (*db.DB, string, error) {
	if err := checkNotLost(c); err != nil {
		return nil, "", fmt.Errorf("%s: %w", c.DatabaseSetting(), err)
	}
	d, err := db.Open(ctx, c.Database)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", c.DatabaseSetting(), err)
	}
	secret, err := ensureSecret(ctx, c, d, log, serves)
	if err != nil {
		return nil, "", errors.Join(err, d.Close())
	}
	return d, secret, nil
}

// checkNotLost refuses to start with a new database if there is a secret of an old one: a disk may not be mounted, or
// somebody has removed the file.
func checkNotLost(c config.Config) error {
	if !c.SQLite() {
		return nil
	}
	if info, err := os.Stat(c.DatabasePath()); err == nil && info.Size() > 0 {
		return nil
	}
	if _, err := os.Stat(c.SecretPath()); err != nil {
		return nil //nolint:nilerr // there is no secret, or it cannot be read, which is told later
	}
	return fmt.Errorf("there is a secret, %s, but the database that belongs to it, %s, is gone or empty: mount its disk, put it back, "+
		"or restore a backup with `foyer admin restore`; to begin anew, remove the secret", c.SecretPath(), c.DatabasePath())
}

// ensureSecret returns the secret. It makes one for an empty database. If the secret of a used database is lost, a
// server makes another one and logs that; a command works without, as most can.
func ensureSecret(ctx context.Context, c config.Config, d *db.DB, log *slog.Logger, serves bool) (string, error) {
	secret, err := c.ServerSecret()
	if c.Secret != "" && serves {
		warnOfStored(ctx, c, log)
	}
	if err != nil || secret != "" || !c.SQLite() {
		return secret, err
	}
	lost, err := org.Any(ctx, d)
	if err != nil || lost && !serves {
		return "", err
	}
	secret, made, err := c.MakeSecret()
	switch {
	case !made:
	case lost:
		log.WarnContext(ctx, "the secret was lost, and another one made: links of invites and in mails about a change of address, webhooks, "+
			"and stored credentials no longer work, until the first one is restored and foyer is started anew", "path", c.SecretPath())
	default:
		log.InfoContext(ctx, "made a secret, since there was none", "path", c.SecretPath())
	}
	return secret, err
}

// warnOfStored logs that the data folder has another secret than the one that is set.
func warnOfStored(ctx context.Context, c config.Config, log *slog.Logger) {
	set := c.Secret
	c.Secret = ""
	if stored, err := c.ServerSecret(); err != nil || stored == "" || stored == set {
		return
	}
	log.WarnContext(ctx, "FOYER_SECRET is not the secret in the data folder, which is not used: what depends on that one, such as links of invites, "+
		"webhooks and stored credentials, no longer works; unset FOYER_SECRET to use it again, or remove the file if it was replaced on purpose", "path", c.SecretPath())
}

// newDomain accepts an empty secret, since most commands need none; config.CheckServer refuses a server without one.
func newDomain(c config.Config, secret, baseURL string, d *db.DB, log *slog.Logger) (*Domain, error) {
	links, err := invite.NewLinks(secret, baseURL)
	if err != nil {
		return nil, err
	}
	apps := Apps(c, secret, d, log)
	sites := site.Service{DB: d, Manifests: site.NewManifests(d), Box: seal.Box{Secret: secret, Purpose: "foyer try pages v1"}}
	sites.Manifests.BaseURL = baseURL
	apps.Shown, sites.Shown = api.AppendPlugin, api.AppendSite(sites)
	apps.Follow = sites.FollowApp // last, because it copies sites
	keys, jobs := access.NewKeys(d), job.New(d)
	keys.KeepAddresses = c.ActivityAddresses
	orgs := org.Service{DB: d, Keys: keys, MaxInviteTTL: c.InviteTTL, Follow: sites.FollowOrganization, Shown: api.AppendMember}
	events := event.Service{
		DB: d, Client: egress.NewForWebhooks(c.WebhookAllow), Box: seal.Box{Secret: secret, Purpose: "foyer webhooks v1"}, Shown: api.AppendWebhook,
	}
	invites := invite.Service{
		DB: d, Keys: keys, Jobs: jobs, Links: links, TTL: c.InviteTTL, Mails: c.SMTP != "",
		Limits: invite.Limits{Invites: c.InviteLimit, Mails: c.MailLimit}, Cache: invite.NewCache(),
		Shown: api.AppendInvite, ShownMember: api.AppendMember,
	}
	orgs.Withdraw = invites.Withdraw
	signIn := signin.Service{
		DB: d, Keys: keys, Jobs: jobs, Organizations: orgs, Invites: invites, BaseURL: baseURL, Mails: c.SignsInBy(config.ByMail), Domains: c.OIDC.Domains,
		Box: seal.Box{Secret: secret, Purpose: "foyer sign-in v1"}, Provider: provider(c, d.Now, baseURL),
	}
	addresses := addresschange.Service{
		DB: d, Keys: keys, Jobs: jobs, Organizations: orgs, SignIn: signIn, BaseURL: baseURL, Mails: c.SMTP != "", MailLimit: c.MailLimit,
		Box: seal.Box{Secret: secret, Purpose: "foyer changes of addresses v1"},
	}
	orgs.UserErasers = append(orgs.UserErasers, invites.EraseUser, signIn.EraseUser, addresses.EraseUser, orgs.LockUser, keys.EraseUser)
	// A transaction that invites locks the caller's membership and then the invite; one that accepts locks the invite;
	// both then wait for the organization. So memberships are erased first, then invites. The eraser of sites locks the
	// apps, and that of apps locks the organization. Placements are erased with the sites.
	orgs.OrganizationErasers = append(orgs.OrganizationErasers,
		orgs.EraseMembers, invites.EraseOrganization, sites.EraseOrganization, apps.EraseOrganization, keys.EraseOrganization,
		signIn.EraseOrganization)
	orgs.Tidy = apps.Tidy
	return &Domain{
		Keys:          keys,
		Organizations: orgs,
		Plugins:       apps,
		Sites:         sites,
		Invites:       invites,
		SignIn:        signIn,
		Addresses:     addresses,
		Events:        events,
		Jobs:          jobs,
		DB:            d,
	}, nil
}

// API returns the API for the domain, without limits on requests.
func (d *Domain) API(baseURL string, log *slog.Logger) *api.API {
	return &api.API{
		Log: log, Keys: d.Keys, BaseURL: baseURL,
		Plugins: d.Plugins, Sites: d.Sites, Invites: d.Invites, Organizations: d.Organizations, Events: d.Events, SignIn: d.SignIn,
		Addresses: d.Addresses,
	}
}

// Close waits for running transactions and closes the database.
func (d *Domain) Close() error { return d.DB.Close() }

// Backup copies the SQLite database in the settings to a new file, while servers may be using it.
func Backup(ctx context.Context, c config.Config, path string) error {
	return backup.Make(ctx, c.Database, path)
}

// Restore replaces the SQLite database in the settings, which must not be in use, with a backup. The error is
// fs.ErrExist if there is a database already, unless replace is set.
func Restore(ctx context.Context, c config.Config, path string, replace bool) error {
	return backup.Restore(ctx, path, c.Database, replace, func(ctx context.Context, tx *db.Tx) error {
		if err := event.Hold(ctx, tx); err != nil {
			return err
		}
		return job.Hold(ctx, tx, mailJobs...)
	})
}

// Resume resumes the webhooks and mails that Restore has held, and returns how many of each there were.
func (d *Domain) Resume(ctx context.Context) (webhooks, mails int64, err error) {
	err = d.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if webhooks, err = event.Resume(ctx, tx); err != nil {
			return err
		}
		mails, err = job.Resume(ctx, tx)
		return err
	})
	return webhooks, mails, err
}

// Migrations lists the migrations that the database has.
func (d *Domain) Migrations(ctx context.Context) ([]string, error) {
	return db.All[string](ctx, d.DB, nil, `SELECT name FROM migrations ORDER BY name`)
}
