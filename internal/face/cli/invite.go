package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/invite"
	"foyer/internal/face/api"
	"foyer/internal/server"
)

type inviteCommands struct {
	Create inviteCreate `cmd:"" help:"Invite somebody."`
	List   inviteList   `cmd:"" help:"List invites, the newest first."`
	Resend inviteResend `cmd:"" help:"Give an invite a new expiry and a new link, and mail it."`
	Link   inviteLink   `cmd:"" help:"Show the link of an invite, to pass it on by hand."`
	Delete inviteDelete `cmd:"" help:"Take an invite back."`
}

// Help gives examples.
func (inviteCommands) Help() string {
	return `Examples:

    foyer invite create --email=ada@example.com --level=admin --message="Welcome!"
    foyer invite list

The server sends the mail, but this command queues it: set FOYER_SMTP as on the server, or no mail is queued.
`
}

// warnUnmailed says on standard error that an invite is not mailed because this
// process has no mail server, though the server may.
func warnUnmailed(d *server.Domain, to logs) {
	if !d.Invites.Mails {
		fmt.Fprintln(to, "foyer: warning: no mail goes out, since FOYER_SMTP is not set here. Set it as the server has it and run `foyer invite resend`,"+
			" or pass the link on by hand with `foyer invite link`.")
	}
}

type inviteCreate struct {
	actor
	Email     string  `required:"" placeholder:"EMAIL" help:"Whom to invite."`
	Level     string  `enum:"member,admin,owner" default:"member" placeholder:"LEVEL" help:"What they will be: member (the default), admin or owner."`
	FirstName *string `placeholder:"NAME" help:"Their first name."`
	Message   *string `placeholder:"TEXT" help:"What to tell them."`
	SendEmail bool    `default:"true" negatable:"" help:"Send a mail, if there is a mail server."`
}

// Run invites somebody.
func (c inviteCreate) Run(ctx context.Context, d *server.Domain, out *output, to logs) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	i, err := d.Invites.Create(ctx, by, invite.Draft{
		TargetEmail: patch.Of(c.Email), FirstName: given(c.FirstName), Level: patch.Of(c.Level),
		Message: given(c.Message), SendEmail: patch.Of(c.SendEmail),
	})
	if err != nil {
		return err
	}
	if c.SendEmail {
		warnUnmailed(d, to)
	}
	return invites(d).one(out, i)
}

type inviteList struct {
	actor
	Status   string `placeholder:"STATUS" help:"Those that are pending, expired or accepted, several with commas between them, or any. Without it, pending,expired."`
	Delivery string `placeholder:"STATE" help:"Those whose mail is none, queued, sent, deferred or failed."`
	Search   string `placeholder:"TEXT" help:"Those with this in the address or the first name."`
}

func (c inviteList) filter() (f invite.Filter, err error) {
	f.Search = c.Search
	if c.Status != "" {
		if f.Statuses, err = invite.ParseStatuses(c.Status); err != nil {
			return f, err
		}
	}
	if c.Delivery != "" {
		f.Delivery, err = invite.ParseDelivery(c.Delivery)
	}
	return f, err
}

// Run lists invites.
func (c inviteList) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	f, err := c.filter()
	if err != nil {
		return err
	}
	all, err := everyPage(func(p page.Page) (page.Found[invite.Invite], error) { return d.Invites.Find(ctx, by, f, p) })
	if err != nil {
		return err
	}
	return invites(d).all(out, all)
}

// inviteID is an id as it is kept; what is not a UUID names no invite.
type inviteID string

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *inviteID) UnmarshalText(text []byte) error {
	*id = inviteID(text)
	if parsed, err := uuid.ParseBytes(text); err == nil {
		*id = inviteID(parsed.String())
	}
	return nil
}

type inviteResend struct {
	actor
	ID inviteID `arg:"" help:"Its id."`
}

// Run sends an invite again.
func (c inviteResend) Run(ctx context.Context, d *server.Domain, out *output, to logs) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	i, err := d.Invites.Resend(ctx, by, string(c.ID))
	if err != nil {
		return named(err, "invite", c.ID)
	}
	warnUnmailed(d, to)
	return invites(d).one(out, i)
}

type inviteLink struct {
	actor
	ID inviteID `arg:"" help:"Its id."`
}

// Help says what the link needs.
func (inviteLink) Help() string {
	return `The link starts with FOYER_BASE_URL and is derived from the secret: give both as the server has them.
Whoever has the link becomes the person invited.`
}

// Run shows the link of an invite.
func (c inviteLink) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	url, expires, err := d.Invites.Link(ctx, by, string(c.ID))
	if err != nil {
		return named(err, "invite", c.ID)
	}
	return out.say(json.RawMessage(api.AppendLink(nil, url, expires)), "%s\nIt works until %s.", url, printable(expires))
}

type inviteDelete struct {
	actor
	ID inviteID `arg:"" help:"Its id."`
}

// Run takes an invite back.
func (c inviteDelete) Run(ctx context.Context, d *server.Domain, out *output) error {
	by, err := c.caller(ctx, d)
	if err != nil {
		return err
	}
	if err := d.Invites.Delete(ctx, by, string(c.ID)); err != nil {
		return named(err, "invite", c.ID)
	}
	return out.say(map[string]any{"id": c.ID}, "Deleted invite %s.", c.ID)
}

// invites shows invites as they are now: an expired one says so.
func invites(d *server.Domain) view[invite.Invite] {
	now := d.Keys.Now()
	return view[invite.Invite]{
		columns: "ID EMAIL LEVEL EXPIRES STATUS INVITED-BY MAIL TRIES WHY",
		row: func(i invite.Invite) []any {
			return []any{
				i.ID, i.TargetEmail, i.Level, i.ExpiresAt.Truncate(time.Second), i.Status(now), i.CreatedBy.Email,
				i.Mail.State, i.Mail.Attempts, i.Mail.Reason,
			}
		},
		object: api.InviteAppender(now),
	}
}
