package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/cli/terminal"
)

var versions = terminal.View[client.Version]{
	Columns: "VERSION TAG CURRENT CREATED MESSAGE WITHDRAWN",
	More:    "BY COMMIT SHA256",
	Row: func(v client.Version) []any {
		withdrawn, by := "", ""
		if v.Withdrawn != nil {
			withdrawn = v.Withdrawn.Reason
		}
		if v.CreatedBy != nil {
			by = v.CreatedBy.Email
		}
		return []any{v.Version, v.Tag, v.Current, v.CreatedAt, v.Message, withdrawn, by, v.Commit, v.SHA256}
	},
}

type appVersions struct{ anApp }

func (c appVersions) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return listOf(ctx, o, out, c.app(), versions, o.AllVersions)
}

type appVersion struct {
	aVersion
	etag
}

func (c appVersion) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	id, err := appID(ctx, o, c.App)
	if err != nil {
		return err
	}
	var tag string
	v, err := o.With(client.ETag(&tag)).GetVersion(ctx, id, c.Version)
	if err != nil {
		return noVersion(err, c.App, c.Version)
	}
	if out.Format == terminal.JSON && !c.ETag {
		return out.Say(v, "")
	}
	return one(out, versions, v.Version, c.etag, tag)
}

type appDiff struct {
	anApp
	Version int64 `arg:"" optional:"" help:"The number of the version. Without it, the newest."`
	Against int64 `placeholder:"N" help:"The number of the version to compare it with, if not the one before."`
}

var errNoTable = terminal.Misused(errors.New("differences of files are not a table: leave -o csv out, or give --json"))

func (c appDiff) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	if out.Format == terminal.CSV {
		return errNoTable
	}
	id, err := appID(ctx, o, c.App)
	if err != nil {
		return err
	}
	if c.Version == 0 {
		newest, err := o.ListVersions(ctx, id, client.Range{Limit: 1})
		if err != nil {
			return orMissing(err, "app", c.App)
		}
		if len(newest.Results) == 0 {
			return fault.New(fault.NotFound, "App %s has no version yet.", c.App)
		}
		c.Version = newest.Results[0].Version
	}
	diffs, err := o.DiffVersions(ctx, id, c.Version, c.Against)
	if err != nil {
		return noVersion(err, c.App, c.Version)
	}
	if out.Format == terminal.JSON {
		return out.Say(diffs, "")
	}
	return showDiffs(out, diffs.Files)
}

func showDiffs(out *terminal.Output, files []client.FileDiff) error {
	for _, f := range files {
		if _, err := io.WriteString(out, out.Code(f.Diff)); err != nil {
			return err
		}
	}
	return nil
}

type appReview struct{ move }

func (c appReview) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	if out.Format == terminal.CSV {
		return errNoTable
	}
	id, err := appID(ctx, o, c.App)
	if err != nil {
		return err
	}
	to, err := o.ReviewUpgrade(ctx, id, c.upgrade())
	if err != nil {
		return orMissing(err, "app", c.App)
	}
	if out.Format == terminal.JSON {
		return out.Say(to, "")
	}
	tag, bundle := to.Tag, "no bundle, so that pages stop running it"
	if tag == "" && to.Version != nil {
		tag = fmt.Sprintf("version %d", *to.Version)
	}
	if to.Commit != "" {
		tag += ", commit " + to.Commit
	}
	if to.Bundle != nil {
		bundle = fmt.Sprintf("a bundle of %d bytes", to.Bundle.Size)
		if to.Bundle.Kept {
			bundle += " of an earlier version, since it does not compile"
		}
	}
	if err := out.Say(nil, "An upgrade would go to %s, with %s, and change %s.", terminal.Printable(tag), bundle, terminal.Count(len(to.Files), "file")); err != nil {
		return err
	}
	return showDiffs(out, to.Files)
}

var sitesOfApp = terminal.View[client.SitePlacement]{
	Columns: "SITE NAME ENABLED POSITION PINNED RUNNING PATHS HELD",
	Row: func(p client.SitePlacement) []any {
		return []any{p.Site.ID, p.Site.Name, p.Enabled, p.Position, p.Version, p.Running, strings.Join(p.Paths, " "), p.Held}
	},
}

type appSites struct{ anApp }

func (c appSites) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return listOf(ctx, o, out, c.app(), sitesOfApp, o.AllSitesOfApp)
}

// aVersion names a version of an app.
type aVersion struct {
	anApp
	Version int64 `arg:"" help:"The number of the version."`
}

// version is the app, of which the version is shown.
func (v aVersion) version() thing[client.Version] {
	return thing[client.Version]{"app", v.App, appID, versions}
}

type appWithdraw struct {
	aVersion
	Reason string `required:"" help:"Why: 1 to 500 characters."`
	GoTo   int64  `placeholder:"VERSION" help:"The version to go to, if the app is at the one that is withdrawn."`

	ifMatch
	idempotent
	dryRun
}

func (c appWithdraw) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Stop version %d of app %s on all pages?", c.Version, c.App); err != nil {
		return err
	}
	return c.version().with(ctx, o, out, func(id int64) (client.Version, error) {
		v, err := o.WithdrawVersion(ctx, id, c.Version, client.Withdrawal{Reason: c.Reason, Version: c.GoTo})
		return v, noVersion(err, c.App, c.Version)
	})
}

type appRestore struct {
	aVersion
	ifMatch
	idempotent
	dryRun
}

func (c appRestore) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	return c.version().with(ctx, o, out, func(id int64) (client.Version, error) {
		v, err := o.RestoreVersion(ctx, id, c.Version)
		return v, noVersion(err, c.App, c.Version)
	})
}

func noVersion(err error, app string, number int64) error {
	return orMissing(err, "app", fmt.Sprintf("%s with a version %d", app, number))
}
