package console

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"foyer/client"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/face/console/markup"
)

// Invites lists the invites of an organization.
type Invites struct {
	List[client.Invite]
	Mails bool // there is a mail server
	Most  int  // how many one form may make
}

func showInvites(v *visit) (markup.Page, error) {
	l, err := list(v, "invites", v.organization.ListInvites)
	return markup.Fill("invites.html", Invites{l, v.console.Mails, invite.MaxBulk}), err
}

// invitePeople invites each of the addresses.
func invitePeople(v *visit) (next, error) {
	level, err := strconv.Atoi(v.line("level"))
	if err != nil {
		return next{}, wrong("level", "Choose a level.")
	}
	addresses := addresses(v.typed("addresses"))
	switch {
	case len(addresses) == 0:
		return next{}, wrong("addresses", "Write at least one address.")
	case len(addresses) > invite.MaxBulk:
		return next{}, wrong("addresses", fmt.Sprintf("At most %d fit in one form, not %d.", invite.MaxBulk, len(addresses)))
	}
	message, mail := v.typed("message"), v.console.Mails && (v.typed("send_email") == "on" || !offer(v.caller).SeeLinks)
	drafts := make([]client.InviteDraft, len(addresses))
	for i, address := range addresses {
		drafts[i] = client.InviteDraft{TargetEmail: address, Level: client.Level(level), Message: message, SendEmail: &mail}
	}
	_, err = v.organization.CreateInvites(v.ctx(), drafts)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		refused.Errors = ofForm(refused.Errors, drafts)
	}
	if mail {
		return next{said: "Invited: the links are on their way."}, err
	}
	return next{said: "Invited. No mail is sent: an admin or owner passes each link on."}, err
}

// ofForm makes faults in drafts, such as 2.target_email, those of the form: of an address, or of a
// field that all drafts share, and then once.
func ofForm(faults []client.Fault, drafts []client.InviteDraft) []client.Fault {
	var all []client.Fault
	for _, f := range faults {
		place, field, _ := strings.Cut(f.Attr, ".")
		if n, err := strconv.Atoi(place); err == nil && n >= 0 && n < len(drafts) {
			f.Attr = field
			if field == "target_email" {
				f.Attr, f.Detail = "addresses", line(drafts[n].TargetEmail)+": "+f.Detail
			}
		}
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}

// onID does something to what the form's id names.
func (v *visit) onID(said string, do func(id string) error) (next, error) {
	id := v.line("id")
	if uuid.Validate(id) != nil {
		return next{}, access.ErrNotFound
	}
	return next{said: said}, do(id)
}

func resendInvite(v *visit) (next, error) {
	said := "There is a new link, for an admin or owner to pass on; the one before works no longer."
	if v.console.Mails {
		said = "A new link is on its way; the one before works no longer."
	}
	return v.onID(said, func(id string) error {
		_, err := v.organization.ResendInvite(v.ctx(), id)
		return err
	})
}

func withdrawInvite(v *visit) (next, error) {
	return v.onID("The invite is withdrawn: its link works no longer.", func(id string) error { return v.organization.DeleteInvite(v.ctx(), id) })
}

// Link shows the link of an invite. Whoever has it becomes the person invited, so no address
// leads to this page.
type Link struct {
	Frame
	client.InviteLink
}

func linkInvite(v *visit) (next, error) {
	var link client.InviteLink
	then, err := v.onID("", func(id string) (err error) {
		link, err = v.organization.LinkInvite(v.ctx(), id)
		return err
	})
	then.page = new(markup.Fill("link.html", Link{v.frame("invites"), link}))
	return then, err
}

func showMembers(v *visit) (markup.Page, error) {
	l, err := list(v, "members", v.organization.ListMembers)
	return markup.Fill("members.html", l), err
}

func setLevel(v *visit) (next, error) {
	level, err := strconv.Atoi(v.line("level"))
	if err != nil {
		return next{}, wrong("level", "Choose a level.")
	}
	return v.onID("The role is changed.", func(id string) error {
		_, err := v.organization.SetLevel(v.ctx(), id, client.Level(level))
		return err
	})
}

func removeMember(v *visit) (next, error) {
	return v.onID("They are no member any more.", func(id string) error { return v.organization.RemoveMember(v.ctx(), id) })
}

func leave(v *visit) (next, error) {
	self, err := v.client.Self(v.ctx())
	if err == nil {
		err = v.organization.RemoveMember(v.ctx(), self.UUID)
	}
	return next{path: v.console.root(), said: "You have left the organization.", signOut: v.caller.BoundTo != ""}, err // such a key ends with the membership
}
