// Package admin has the operators' commands, which work on the database.
package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"foyer/internal/cli/terminal"
	"foyer/internal/config"
	"foyer/internal/server"
)

// Backup is the command that copies the database.
type Backup struct {
	File string `arg:"" help:"New file to write."`
}

// Help says what a backup is.
func (Backup) Help() string {
	return `The copy is consistent, and readable only by its owner. It does not hold the secret: keep that apart from it.
Run this as the service's user, with its settings. For PostgreSQL, use pg_dump.

Example:

    foyer admin backup /backup/foyer.db
`
}

// Run copies the database.
func (c Backup) Run(ctx context.Context, settings config.Config, out *terminal.Output) error {
	if err := settings.CheckDatabase(); err != nil {
		return err
	}
	if err := server.Backup(ctx, settings, c.File); err != nil {
		return err
	}
	secret := settings.SecretPath()
	if settings.Secret != "" {
		secret = "FOYER_SECRET"
	}
	return out.Say(map[string]string{"file": c.File, "database": settings.DatabasePath(), "secret": secret}, `Copied %s to %s.
The secret is not in it: keep %s too, apart from the backup. Without it, links already sent stop working (those of invites, and those in mails that confirm or
undo a change of address), webhooks fail until their secrets are rotated, and apps installed from urls with credentials cannot be upgraded until they are
given anew. Keys and sessions go on.`, settings.DatabasePath(), c.File, secret)
}

// Restore is the command that puts a backup in place.
type Restore struct {
	File  string `arg:"" help:"A file that foyer admin backup has written."`
	Force bool   `help:"Replace a database that is there already."`
}

// Help says what to do before and after.
func (Restore) Help() string {
	return `Stop the server first. The file is checked before anything is changed. On a new machine, put the secret back as well.
Run this as the service's user, with its settings. For PostgreSQL, use pg_restore.

Example:

    foyer admin restore /backup/foyer.db --force
`
}

// Run puts a backup in place.
func (c Restore) Run(ctx context.Context, settings config.Config, out *terminal.Output) error {
	err := server.Restore(ctx, settings, c.File, c.Force)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: --force replaces it, and what is in it is lost", err)
	}
	if err != nil {
		return err
	}
	return out.Say(map[string]string{"file": c.File, "database": settings.DatabasePath()},
		`Restored %s to %s.
The secret is not part of a backup: it belongs in %s, or in FOYER_SECRET.
Keys that were revoked, members who were removed and apps that were disabled after the backup was made are back: take them away anew, before the server starts.
Webhooks are sent nothing, and mails that were waiting are held: foyer admin resume lets them go on.`, c.File, settings.DatabasePath(), settings.SecretPath())
}

// Resume is the command that releases what a restore has held.
type Resume struct{}

// Help says what a restore holds.
func (Resume) Help() string {
	return `After a restore, webhooks are sent nothing, and mails that were waiting when the backup was made are held: they may have been sent since.`
}

// Run releases it.
func (Resume) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	webhooks, mails, err := d.Resume(ctx)
	if err != nil {
		return err
	}
	return out.Say(map[string]int64{"webhooks": webhooks, "mails": mails}, "Webhooks that go on: %d. Mails that go on: %d.", webhooks, mails)
}

// Migrate is the command that updates the schema.
type Migrate struct{}

// Help says when it is needed.
func (Migrate) Help() string {
	return `Servers do this when they start. Do it beforehand to see that it works. Servers of an older version refuse to start afterwards.`
}

// Run updates the schema: opening a database does that.
func (Migrate) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	done, err := d.Migrations(ctx)
	if err != nil {
		return err
	}
	return out.Say(map[string][]string{"migrations": done}, "The schema is up to date: %s.", done[len(done)-1])
}
