package admin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/cli/terminal"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/server"
)

// Activity has the commands on the activity of all organizations.
type Activity struct {
	List   activityList   `cmd:"" default:"withargs" help:"Who did what, the newest first. Can be left out."`
	Head   activityHead   `cmd:"" help:"Show the number and hash of the last entry, to be kept elsewhere."`
	Verify activityVerify `cmd:"" help:"Check whether entries were changed, removed or added: the exit status is 1 if so."`
}

// Help gives examples.
func (Activity) Help() string {
	return `The flags are those of "foyer admin activity list".

Examples:

    foyer admin activity --scope=Plugin --item=12
    foyer admin activity --user=ada@example.com --limit=10
    foyer admin activity head
    foyer admin activity verify
    foyer admin activity verify --organization=0190… --head=214:5feceb66…
`
}

type activityList struct {
	where
	Scope string `enum:",Plugin,Site,OrganizationInvite,OrganizationMembership,Key,Organization,Session,Webhook" default:"" placeholder:"SCOPE" help:"Only changes of this kind of thing: Plugin, Site, OrganizationInvite, OrganizationMembership, Key, Organization, Session or Webhook."`
	Item  string `placeholder:"ID" help:"Only changes of the thing with this id."`
	User  string `placeholder:"EMAIL" help:"Only changes that this user made."`
	terminal.Window
}

// Validate refuses an item that is not an id.
func (c activityList) Validate() error {
	if _, err := uuid.Parse(c.Item); c.Item != "" && err != nil && patch.ID(c.Item) == 0 {
		return fault.New(fault.Invalid, "--item must be an id, a number or a UUID: the list of the things of its kind shows it")
	}
	return nil
}

func (c activityList) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	id, err := c.chain(ctx, d)
	if err != nil {
		return err
	}
	if c.User != "" {
		if c.User, err = org.ParseEmail("user", c.User); err != nil {
			return err
		}
	}
	f := activity.Filter{OrganizationID: id, ItemID: c.Item, UserEmail: c.User}
	if c.Scope != "" {
		f.Scopes = []activity.Scope{activity.Scope(c.Scope)}
	}
	entries, err := newest(ctx, d, f, page.Page{Limit: c.Limit, Offset: c.Offset})
	if err != nil {
		return err
	}
	return terminal.Activity.All(out, entries)
}

// newest reads as many entries as the page asks for, although a page of large entries ends early.
func newest(ctx context.Context, d *server.Domain, f activity.Filter, p page.Page) (entries []client.AuditEntry, err error) {
	for more := true; more && p.Limit > 0; {
		found, err := activity.List(ctx, d.DB, f, p)
		if err != nil {
			return nil, err
		}
		for _, e := range found.Items {
			shown, err := asClient[client.AuditEntry](api.AppendAudit(nil, e))
			if err != nil {
				return nil, err
			}
			entries = append(entries, shown)
		}
		p.Limit -= len(found.Items)
		p.Offset += len(found.Items)
		more = found.More
	}
	return entries, nil
}

// chain returns the id of the organization whose activity is meant. The activity outlives the organization.
func (w where) chain(ctx context.Context, d *server.Domain) (string, error) {
	o, err := w.find(ctx, d)
	if err == nil || w.Organization == "" {
		return o.ID, err
	}
	if chains, listErr := activity.Chains(ctx, d.DB); listErr == nil && slices.Contains(chains, strings.ToLower(w.Organization)) {
		return strings.ToLower(w.Organization), nil
	}
	return "", err
}

// asClient decodes what the API writes into the client's type.
func asClient[T any](object []byte) (of T, err error) {
	err = json.Unmarshal(object, &of)
	return of, err
}

type activityHead struct{ where }

func (c activityHead) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	id, err := c.chain(ctx, d)
	if err != nil {
		return err
	}
	head, err := activity.HeadOf(ctx, d.DB, id)
	if err != nil {
		return err
	}
	shown, err := asClient[client.ActivityHead](api.AppendHead(nil, head))
	if err != nil {
		return err
	}
	return terminal.ActivityHead.One(out, shown)
}

type activityVerify struct {
	Organization string `placeholder:"ID" help:"Only the activity of this organization."`
	Head         string `placeholder:"NUMBER:HASH" help:"A head that was kept elsewhere: it shows if all was made anew since. Needs the organization if there are several."`

	kept activity.Kept
}

// Validate parses the head.
func (c *activityVerify) Validate() error {
	if c.Head == "" {
		return nil
	}
	number, hash, _ := strings.Cut(strings.ToLower(c.Head), ":") // some tools keep hashes in capitals
	c.kept = activity.Kept{Number: patch.ID(number), Hash: hash}
	if _, err := hex.DecodeString(hash); err != nil || len(hash) != sha256.Size*2 || c.kept.Number == 0 {
		return fault.New(fault.Invalid, "--head must be the number and the hash of an entry, as `foyer admin activity head` shows them: NUMBER:HASH")
	}
	return nil
}

func (c *activityVerify) Run(ctx context.Context, d *server.Domain, out *terminal.Output) error {
	var organizations []string
	if c.Organization != "" || c.Head != "" {
		id, err := where{c.Organization}.chain(ctx, d)
		if err != nil {
			return err
		}
		organizations = []string{id}
	} else {
		var err error
		if organizations, err = activity.Chains(ctx, d.DB); err != nil {
			return err
		}
	}
	var found []verified
	var wrong []error
	for _, id := range organizations {
		v, err := activity.Verify(ctx, d.DB, id, c.kept)
		if err != nil {
			return err
		}
		found = append(found, verified{id, v})
		if v.Wrong != "" {
			wrong = append(wrong, fmt.Errorf("organization %s: %s", id, v.Wrong))
		}
	}
	return errors.Join(verifications.All(out, found), errors.Join(wrong...))
}

type verified struct {
	organization string
	activity.Verified
}

var verifications = terminal.View[verified]{
	Columns: "ORGANIZATION ENTRIES HEAD WRONG",
	Row:     func(v verified) []any { return []any{v.organization, v.Entries, v.Head.Number, v.Wrong} },
	Object: func(b []byte, v verified) []byte {
		b = wire.AppendField(append(b, '{'), "organization_id", v.organization)
		b = wire.AppendInt(b, "entries", v.Entries)
		b = api.AppendHead(wire.AppendName(b, "head"), v.Head)
		return append(wire.AppendField(b, "wrong", v.Wrong), '}')
	},
}
