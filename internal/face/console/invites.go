package console

import (
	"context"
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

// accepted is the status of an invite that is kept for the record, and can no longer be withdrawn.
const accepted = string(invite.IsAccepted)

// Invites lists the invites of an organization.
type Invites struct {
	List[client.Invite]
	Filter InviteForm
	Mails  bool       // there is a mail server
	Link   LinkOfItem // that was asked for
}

// Withdraws reports whether the viewer may withdraw any invite of the list.
func (p Invites) Withdraws() bool { return slices.ContainsFunc(p.Items, p.Offer.Withdraw) }

// InviteForm is the page's filter, as typed.
type InviteForm struct{ Status, Delivery, Search string }

// Any reports whether the list is narrowed down.
func (f InviteForm) Any() bool { return f != InviteForm{} }

// LinkOfItem is the link of an invite. Anybody who has it can act as the invited person, so no address leads to it: the
// list shows it once, after a click.
type LinkOfItem struct {
	ID string
	client.InviteLink
}

func showInvites(v *visit) (markup.Page, error) { return v.invites(LinkOfItem{}) }

func (v *visit) invites(link LinkOfItem) (markup.Page, error) {
	q := v.request.URL.Query()
	form := InviteForm{q.Get("status"), q.Get("delivery"), strings.TrimSpace(q.Get("search"))}
	filter := client.InviteFilter{Delivery: form.Delivery, Search: form.Search}
	if form.Status != "" {
		filter.Status = []string{form.Status}
	}
	l, err := list(v, "invites", func(ctx context.Context, part client.Range) (client.Page[client.Invite], error) {
		return v.organization.ListInvites(ctx, filter, part)
	})
	return markup.Fill("invites.html", Invites{l, form, v.console.Mails, link}), err
}

// onEach does something to each item that the form's ids name, and returns the failures.
func (v *visit) onEach(do func(id string) error) (done int, failed []string, err error) {
	ids := v.request.PostForm["id"]
	if err := checkChosen(ids); err != nil {
		return 0, nil, err
	}
	for _, id := range ids {
		if uuid.Validate(id) != nil {
			return done, nil, access.ErrNotFound
		}
		err := do(id)
		refused, ok := errors.AsType[*client.Error](err)
		switch {
		case err == nil:
			done++
		case !ok || len(ids) == 1 || !correctable(refused.Status):
			return done, nil, err
		default:
			detail := refused.Detail
			if client.IsNotFound(err) {
				detail = gone
			}
			if !slices.Contains(failed, detail) {
				failed = append(failed, detail)
			}
		}
	}
	return done, failed, nil
}

// onInvites does something to the chosen invites, and reports which, or how many.
func (v *visit) onInvites(one func() string, several string, do func(id string) error) (next, error) {
	done, failed, err := v.onEach(do)
	if err != nil {
		return next{}, err
	}
	if len(failed) == 0 && done == 1 {
		return next{flash: one()}, nil
	}
	number := strconv.Itoa(done)
	if len(failed) > 0 {
		number += " of " + strconv.Itoa(len(v.request.PostForm["id"]))
	}
	flash := fmt.Sprintf(several, number)
	if len(failed) > 0 {
		flash += " Not done for others: " + strings.Join(failed, " ")
	}
	return next{flash: flash}, nil
}

func resendInvites(v *visit) (next, error) {
	one := "There is a new link for %s, for an admin or owner to pass on; the one before no longer works."
	several := "%s invites have new links, for an admin or owner to pass on; those before no longer work."
	if v.console.Mails {
		one = "A new link is on its way to %s; the one before no longer works."
		several = "%s invites are sent again; the links before no longer work."
	}
	var last client.Invite
	return v.onInvites(func() string { return sentence(one, last.TargetEmail) }, several, func(id string) (err error) {
		last, err = v.organization.ResendInvite(v.ctx(), id)
		return err
	})
}

func withdrawInvites(v *visit) (next, error) {
	one := func() string { return "The invite is withdrawn: its link no longer works." }
	return v.onInvites(one, "%s invites are withdrawn: their links no longer work.", func(id string) error {
		filter := client.InviteFilter{Status: []string{accepted}, ID: id}
		found, err := v.organization.ListInvites(v.ctx(), filter, client.Range{Limit: 1})
		switch {
		case err != nil:
			return err
		case len(found.Results) > 0:
			return wrong("", sentence("%s has accepted the invite.", found.Results[0].TargetEmail))
		}
		return v.organization.DeleteInvite(v.ctx(), id)
	})
}

func forgetInvite(v *visit) (next, error) {
	one := func() string { return "The accepted invite is forgotten. Nothing else has changed." }
	return v.onInvites(one, "%s accepted invites are forgotten. Nothing else has changed.", func(id string) error { return v.organization.DeleteInvite(v.ctx(), id) })
}

// inviteID returns the id of the invite that the form names.
func (v *visit) inviteID() (string, error) {
	id := v.line("id")
	if uuid.Validate(id) != nil {
		return "", access.ErrNotFound
	}
	return id, nil
}

func linkInvite(v *visit) (next, error) {
	id, err := v.inviteID()
	if err != nil {
		return next{}, err
	}
	link := LinkOfItem{ID: id}
	if link.InviteLink, err = v.organization.LinkInvite(v.ctx(), link.ID); err != nil {
		return next{}, err
	}
	page, err := v.invites(link)
	return next{page: &page}, err
}
