package cli

import (
	"context"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/plugin"
	"foyer/internal/face/api"
	"foyer/internal/server"
)

type appDisable struct {
	actor
	ID     int64  `arg:"" help:"Its id."`
	Reason string `required:"" help:"Why: 1 to 500 characters."`
}

// Run stops an app on all pages.
func (c appDisable) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	p, err := d.Plugins.Disable(ctx, by, c.ID, patch.Of(c.Reason))
	if err != nil {
		return named(err, "app", c.ID)
	}
	return apps.one(out, p)
}

type appEnable struct {
	actor
	ID int64 `arg:"" help:"Its id."`
}

// Run lets an app run again.
func (c appEnable) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	p, err := d.Plugins.Enable(ctx, by, c.ID)
	if err != nil {
		return named(err, "app", c.ID)
	}
	return apps.one(out, p)
}

var versions = view[plugin.Version]{
	columns: "VERSION TAG CURRENT CREATED WITHDRAWN",
	row: func(v plugin.Version) []any {
		return []any{v.Number, v.Tag, v.Current, v.CreatedAt, v.Withdrawn.Reason}
	},
	object: api.AppendVersion,
}

type appWithdraw struct {
	actor
	ID      int64  `arg:"" help:"Its id."`
	Version int64  `arg:"" help:"The number of the version."`
	Reason  string `required:"" help:"Why: 1 to 500 characters."`
	GoTo    int64  `placeholder:"VERSION" help:"The version to go to, if the app is at the one that is withdrawn."`
}

// Run stops a version on all pages.
func (c appWithdraw) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	v, err := d.Plugins.Withdraw(ctx, by, c.ID, plugin.Withdrawal{Number: c.Version, Reason: patch.Of(c.Reason), GoTo: c.GoTo})
	if err != nil {
		return noVersion(err, c.ID, c.Version)
	}
	return versions.one(out, v)
}

type appRestore struct {
	actor
	ID      int64 `arg:"" help:"Its id."`
	Version int64 `arg:"" help:"The number of the version."`
}

// Run lets a version run again.
func (c appRestore) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	v, err := d.Plugins.Restore(ctx, by, c.ID, c.Version)
	if err != nil {
		return noVersion(err, c.ID, c.Version)
	}
	return versions.one(out, v)
}

func noVersion(err error, id, number int64) error {
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "There is no app %d with a version %d in this organization.", id, number)
	}
	return err
}
