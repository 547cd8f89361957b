package cli

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"foyer/client"
	"foyer/internal/cli/terminal"
)

type inviteCommands struct {
	Create inviteCreate `cmd:"" help:"Invite somebody."`
	Bulk   inviteBulk   `cmd:"" help:"Invite everybody in a file."`
	List   inviteList   `cmd:"" help:"List invites, the newest first."`
	Resend inviteResend `cmd:"" help:"Give an invite a new expiry and a new link, and mail it."`
	Link   inviteLink   `cmd:"" help:"Show the link of an invite, to pass it on by hand."`
	Delete inviteDelete `cmd:"" help:"Take an invite back."`
}

func (inviteCommands) Help() string {
	return `Invites are named by their ids, or by the address.

Examples:

    foyer invite create --email=ada@example.com --level=admin --message="Welcome!"
    foyer invite bulk team.csv
    foyer invite list --status=any

The server sends the mail. On the database, it is foyer admin invite in place of foyer invite, and the command queues the mail: set FOYER_SMTP as on the server, or
no mail is queued.
`
}

// levels by their names.
var levels = map[string]client.Level{"member": client.LevelMember, "admin": client.LevelAdmin, "owner": client.LevelOwner}

func levelName(l client.Level) string {
	for name, level := range levels {
		if level == l {
			return name
		}
	}
	return strconv.Itoa(int(l))
}

var invites = terminal.View[client.Invite]{
	Columns: "ID EMAIL LEVEL CREATED STATUS INVITED-BY MAIL TRIES WHY",
	More:    "FIRST-NAME ACCEPTED MESSAGE",
	Row: func(i client.Invite) []any {
		return []any{
			i.ID, i.TargetEmail, levelName(i.Level), i.CreatedAt, i.Status, i.CreatedBy.Email,
			i.Delivery.State, i.Delivery.Attempts, i.Delivery.Detail, i.FirstName, i.AcceptedAt, i.Message,
		}
	},
}

const noMail = "foyer: warning: no mail goes out, since the server has no mail server (FOYER_SMTP): pass the link on by hand" +
	" with the command `invite link`, or run `invite resend` once it has one."

// warnUnmailed warns if an invite was to be mailed, and was not.
func warnUnmailed(i client.Invite, to terminal.Log) (warned bool) {
	if i.Delivery.State != "none" {
		return false
	}
	fmt.Fprintln(to, noMail)
	return true
}

type inviteCreate struct {
	Email     string            `required:"" placeholder:"EMAIL" help:"Whom to invite."`
	Level     string            `enum:"member,admin,owner" default:"member" placeholder:"LEVEL" help:"What they will be: member (the default), admin or owner."`
	FirstName string            `placeholder:"NAME" help:"Their first name."`
	Message   string            `placeholder:"TEXT" help:"What to tell them."`
	ExpiresIn terminal.Lifetime `placeholder:"D" help:"How long the invite can be accepted, like 7d or 36h: 30d at most. Without it, as long as the organization says."`
	SendEmail bool              `default:"true" negatable:"" help:"Send a mail, if there is a mail server."`

	idempotent
	dryRun
}

func (c inviteCreate) Run(ctx context.Context, o *client.Organization, out *terminal.Output, to terminal.Log) error {
	i, err := o.CreateInvite(ctx, client.InviteDraft{
		TargetEmail: c.Email, FirstName: c.FirstName, Level: levels[c.Level], Message: c.Message, SendEmail: &c.SendEmail,
		ExpiresIn: int64(math.Ceil(time.Duration(c.ExpiresIn).Seconds())), // less than one is not none
	})
	if err != nil {
		return err
	}
	if c.SendEmail {
		warnUnmailed(i, to)
	}
	return invites.One(out, i)
}

type inviteList struct {
	Status   string `placeholder:"STATUS" help:"Those that are pending, expired or accepted, several with commas between them, or any. Without it, pending,expired."`
	Delivery string `placeholder:"STATE" help:"Those whose mail is none, queued, sent, deferred or failed."`
	Search   string `placeholder:"TEXT" help:"Those with this in the address or the first name."`
}

func (c inviteList) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	f := client.InviteFilter{Delivery: c.Delivery, Search: c.Search}
	if c.Status != "" {
		f.Status = []string{c.Status}
	}
	return all(out, invites, o.AllInvites(ctx, f))
}

// anInvite is the argument that names an invite.
type anInvite struct {
	Invite string `arg:"" help:"Its id, or the address."`
}

func (a anInvite) id(ctx context.Context, o *client.Organization) (string, error) {
	if parsed, err := uuid.Parse(a.Invite); err == nil {
		return parsed.String(), nil
	}
	if !strings.Contains(a.Invite, "@") {
		return "", missing("invite", a.Invite)
	}
	var ids []string
	email := stored(a.Invite)
	for i, err := range o.AllInvites(ctx, client.InviteFilter{Search: email}) {
		if err != nil {
			return "", err
		}
		if strings.EqualFold(i.TargetEmail, email) {
			ids = append(ids, i.ID)
		}
	}
	return terminal.TheOne(ids, "invites of "+a.Invite, missing("invite", a.Invite))
}

type inviteResend struct {
	anInvite
	ifMatch
	idempotent
	dryRun
}

func (c inviteResend) Run(ctx context.Context, o *client.Organization, out *terminal.Output, to terminal.Log) error {
	id, err := c.id(ctx, o)
	if err != nil {
		return err
	}
	i, err := o.ResendInvite(ctx, id)
	if err != nil {
		return orMissing(err, "invite", c.Invite)
	}
	warnUnmailed(i, to)
	return invites.One(out, i)
}

type inviteLink struct {
	anInvite
	ifMatch
	idempotent
}

func (inviteLink) Help() string {
	return `Whoever has the link becomes the person invited. On the database (foyer admin invite), the link starts with
FOYER_BASE_URL and is derived from the secret: give both as the server has them.`
}

func (c inviteLink) Run(ctx context.Context, o *client.Organization, out *terminal.Output) error {
	id, err := c.id(ctx, o)
	if err != nil {
		return err
	}
	link, err := o.LinkInvite(ctx, id)
	if err != nil {
		return orMissing(err, "invite", c.Invite)
	}
	return out.Say(link, "%s\nIt works until %s.", link.URL, terminal.Printable(link.ExpiresAt))
}

type inviteDelete struct {
	anInvite
	ifMatch
	dryRun
}

func (c inviteDelete) Run(ctx context.Context, o *client.Organization, out *terminal.Output, in terminal.Input) error {
	if err := in.Confirm("Take invite %s back?", c.Invite); err != nil {
		return err
	}
	id, err := c.id(ctx, o)
	if err != nil {
		return err
	}
	if err := o.DeleteInvite(ctx, id); err != nil {
		return orMissing(err, "invite", c.Invite)
	}
	return out.Say(map[string]any{"id": id}, "Deleted invite %s.", id)
}
