package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"foyer/client"
	"foyer/internal/base/patch"
	"foyer/internal/cli/terminal"
)

type activityCommands struct {
	List activityList `cmd:"" default:"withargs" help:"Who did what, the newest first. Can be left out."`
	Head activityHead `cmd:"" help:"Show the number and hash of the last entry, to be kept elsewhere."`
}

func (activityCommands) Help() string {
	return `The flags are those of "foyer activity list".

Examples:

    foyer activity --scope=Plugin --item=Banner
    foyer activity --user=ada@example.com --limit=10
    foyer activity --follow
    foyer activity head
`
}

type activityList struct {
	Scope string `placeholder:"SCOPE" help:"Only changes of this kind of thing: Plugin, Site, OrganizationInvite, OrganizationMembership, Key, Organization, Session or Webhook."`
	Item  string `placeholder:"ID" help:"Only changes of this thing, by its id or, with --scope, its name."`
	User  string `placeholder:"EMAIL" help:"Only changes that this user made."`
	terminal.Window
	Follow bool `help:"Show the last --limit entries, the oldest first, and then new ones as they are numbered, until interrupted."`
}

func (c activityList) Run(ctx context.Context, all *client.Client, o *client.Organization, out *terminal.Output, to terminal.Log) error {
	switch {
	case c.Follow && c.Offset > 0:
		return terminal.Misused(errors.New("--follow and --offset do not go together"))
	case c.Follow && out.Format == terminal.CSV:
		return terminal.Misused(errors.New("--follow answers in lines, or with --json in objects"))
	}
	item, err := c.itemID(ctx, all, o)
	if err != nil {
		return err
	}
	f := client.AuditFilter{Scope: c.Scope, ItemID: item, User: c.User}
	if c.Follow {
		if f.After, err = beforeLast(ctx, o, f, c.Limit); err != nil {
			return err
		}
		return follow(ctx, o, f, out, to)
	}
	found, err := newest(ctx, o, f, client.Range{Limit: c.Limit, Offset: c.Offset})
	if err != nil {
		return err
	}
	return terminal.Activity.All(out, found)
}

// newest reads as many entries as the range asks for, although a page of large entries ends early.
func newest(ctx context.Context, o *client.Organization, f client.AuditFilter, r client.Range) ([]client.AuditEntry, error) {
	var found []client.AuditEntry
	for {
		page, err := o.ListAudit(ctx, f, r)
		found = append(found, page.Results...)
		r.Limit -= len(page.Results)
		r.Offset += len(page.Results)
		if err != nil || r.Limit <= 0 || page.Next == "" || len(page.Results) == 0 {
			return found, err
		}
	}
}

// beforeLast returns the number of the entry before the last n that match a filter.
func beforeLast(ctx context.Context, o *client.Organization, f client.AuditFilter, n int) (int64, error) {
	head, err := o.ActivityHead(ctx)
	if err != nil {
		return 0, err
	}
	last, err := newest(ctx, o, f, client.Range{Limit: n})
	for _, e := range last {
		if e.Number != nil {
			head.Number = min(head.Number, *e.Number-1)
		}
	}
	return head.Number, err
}

// itemID returns the id of the thing that a person names. Its kind is the scope.
func (c activityList) itemID(ctx context.Context, all *client.Client, o *client.Organization) (string, error) {
	_, notUUID := uuid.Parse(c.Item)
	numbered := slices.Contains([]string{"Plugin", "Site", "Webhook", "Key"}, c.Scope) // for these, a UUID is a name
	if c.Item == "" || patch.ID(c.Item) != 0 || notUUID == nil && !numbered {
		return c.Item, nil
	}
	var id int64
	var err error
	switch c.Scope {
	case "Plugin":
		id, err = appID(ctx, o, c.Item)
	case "Site":
		id, err = siteID(ctx, o, c.Item)
	case "Webhook":
		id, err = webhookID(ctx, o, c.Item)
	case "Key":
		id, err = memberKeyID(ctx, o, c.Item)
	case "OrganizationInvite":
		return anInvite{c.Item}.id(ctx, o)
	case "OrganizationMembership":
		m, err := aMember{c.Item}.find(ctx, o)
		return m.ID, err
	case "Organization":
		return organizationID(ctx, all, c.Item)
	default:
		return "", terminal.Misused(errors.New("--item names a thing of a kind: give --scope, or its id"))
	}
	return strconv.FormatInt(id, 10), err
}

// followEvery is how often the server is asked for new entries.
const followEvery = 2 * time.Second

// follow shows the entries after one, until ctx is done. It continues after the server was unreachable.
func follow(ctx context.Context, o *client.Organization, f client.AuditFilter, out *terminal.Output, to terminal.Log) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	away := false
	for {
		var err error
		f.After, err = showAfter(ctx, o, f, out)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !passes(err):
			return err
		case err != nil && !away:
			fmt.Fprintf(to, "foyer: note: %s; it is asked again until it answers.\n", terminal.Printable(strings.Join(lines(err), " ")))
		}
		away = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// showAfter shows the entries after one, and returns the number of the last.
func showAfter(ctx context.Context, o *client.Organization, f client.AuditFilter, out *terminal.Output) (last int64, err error) {
	last = f.After
	for e, err := range o.StreamAudit(ctx, f) {
		switch {
		case err != nil:
			return last, err
		case e.Number == nil: // it comes again with its number
			continue
		}
		if err := showLine(out, e); err != nil {
			return last, err
		}
		last = *e.Number
	}
	return last, nil
}

// passes reports whether a retry may help: the server was unreachable, or is busy.
func passes(err error) bool {
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return refused.Status >= http.StatusInternalServerError || refused.Type == "server_error" || client.IsThrottled(err)
	}
	_, unwritten := errors.AsType[*fs.PathError](err)
	return !unwritten
}

// showLine shows an entry in a line, without knowing the width of others.
func showLine(out *terminal.Output, e client.AuditEntry) error {
	if out.Format == terminal.JSON {
		return terminal.Activity.One(out, e)
	}
	row := terminal.Activity.Row(e)
	if out.Format != terminal.Wide {
		row = row[:len(strings.Fields(terminal.Activity.Columns))]
	}
	var cells []string
	for _, cell := range row {
		cells = append(cells, terminal.Printable(cell))
	}
	_, err := fmt.Fprintln(out, strings.Join(cells, "  "))
	return err
}

type activityHead struct{}

func (activityHead) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	head, err := o.ActivityHead(ctx)
	if err != nil {
		return err
	}
	return terminal.ActivityHead.One(out, head)
}
