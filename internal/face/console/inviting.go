package console

import (
	"fmt"
	"slices"
	"strconv"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/invite"
	"foyer/internal/face/console/markup"
)

// Inviting is the page on which people are invited. Then it shows the outcome for each.
type Inviting struct {
	Frame
	Mails    bool // there is a mail server
	Most     int  // the most that one form may make
	Preview  invite.Preview
	Outcomes []Outcome // of the form that was sent
	Left     []string  // addresses that were refused, to be corrected
}

// Outcome is the outcome for an address.
type Outcome struct {
	Address string
	Invite  client.Invite
	Fault   string // why it was not invited; "": it was
}

// Refused counts the addresses that were not invited.
func (p Inviting) Refused() (n int) {
	for _, o := range p.Outcomes {
		if o.Fault != "" {
			n++
		}
	}
	return n
}

// Invited counts the invited addresses.
func (p Inviting) Invited() int { return len(p.Outcomes) - p.Refused() }

func showInviting(v *visit) (markup.Page, error) {
	if v.nobody() {
		user, err := v.client.Self(v.ctx())
		return markup.Fill("introduction.html", Introduction{v.frame("invites"), user}), err
	}
	return v.inviting(nil, nil, invite.Preview{}), nil
}

func (v *visit) inviting(outcomes []Outcome, left []string, preview invite.Preview) markup.Page {
	f := v.frame("invites")
	if preview.Subject != "" || len(left) > 0 { // the typed text stays
		f.sent = v.request.PostForm
	}
	return markup.Fill("inviting.html", Inviting{f, v.console.Mails, invite.MaxBulk, preview, outcomes, left})
}

// drafts returns the invites that the form asks for.
func (v *visit) drafts() ([]client.InviteDraft, error) {
	level, err := strconv.Atoi(v.line("level"))
	if err != nil {
		return nil, wrong("level", "Choose a role.")
	}
	all := addresses(v.typed("addresses"))
	switch {
	case len(all) == 0:
		return nil, wrong("addresses", "Write at least one address.")
	case len(all) > invite.MaxBulk:
		return nil, wrong("addresses", fmt.Sprintf("At most %d fit in one form, not %d.", invite.MaxBulk, len(all)))
	}
	message, mail := v.typed("message"), v.console.Mails && (v.ticked("send_email") || !offer(v.caller).SeeLinks)
	days, err := v.days("expires_days", maxInviteDays)
	if err != nil {
		return nil, err
	}
	drafts := make([]client.InviteDraft, len(all))
	for i, address := range all {
		drafts[i] = client.InviteDraft{TargetEmail: address, Level: client.Level(level), Message: message, SendEmail: &mail, ExpiresIn: int64(days) * daySeconds}
	}
	return drafts, nil
}

// maxInviteDays is the longest life of an invite.
const maxInviteDays = 30

// days parses a number of days; 0: none was typed.
func (v *visit) days(field string, most int) (int, error) {
	text := v.line(field)
	if text == "" {
		return 0, nil
	}
	days, err := strconv.Atoi(text)
	if err != nil || days < 1 || days > most {
		return 0, wrong(field, "Must be a whole number from 1 to "+strconv.Itoa(most)+", or empty.")
	}
	return days, nil
}

// unique is the API's code for an address that is in the form twice. Invited once more, it would get another link instead.
const unique = "unique"

// invitePeople invites each valid address, and shows the outcome for each.
func invitePeople(v *visit) (next, error) {
	if v.nobody() { // the form is from another tab, or from an earlier page
		return next{}, wrong("email", "Say first who you are: invites name you.")
	}
	drafts, err := v.drafts()
	if err != nil {
		return next{}, err
	}
	made, err := v.organization.CreateInvitesPartly(v.ctx(), drafts)
	if err != nil {
		return next{}, err
	}
	outcomes, refused := outcomesOf(drafts, made)
	if len(refused) > 0 && !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Fault == "" }) {
		return next{}, refused.err() // the form is shown again, with what is wrong
	}
	var left []string
	for i, o := range outcomes {
		if o.Fault != "" && made[i].Error.Code != unique {
			left = append(left, o.Address)
		}
	}
	return next{page: new(v.inviting(outcomes, left, invite.Preview{}))}, nil
}

// outcomesOf returns the outcome of each draft; refused has the reasons why some were not made.
func outcomesOf(drafts []client.InviteDraft, made []client.InviteOutcome) (all []Outcome, refused faults) {
	for i, became := range made {
		o := Outcome{Address: drafts[i].TargetEmail}
		if became.Error != nil {
			o.Fault = became.Error.Detail
			for _, f := range ofForm(became.Error.Errors, drafts[i]) {
				if !slices.Contains(refused, f) { // a fault that all share is shown once
					refused = append(refused, f)
				}
			}
		} else {
			o.Invite = *became.Invite
		}
		all = append(all, o)
	}
	return all, refused
}

// ofForm turns faults of a draft into faults of the form, which has all addresses in one field.
func ofForm(faults []client.Fault, draft client.InviteDraft) []client.Fault {
	for i, f := range faults {
		if f.Attr == "target_email" {
			faults[i].Attr, faults[i].Detail = "addresses", line(draft.TargetEmail)+": "+f.Detail
		}
	}
	return faults
}

// previewMail shows the mail that the first of the addresses would get.
func previewMail(v *visit) (next, error) {
	drafts, err := v.drafts()
	if err != nil {
		return next{}, err
	}
	first := drafts[0]
	draft := invite.Draft{TargetEmail: patch.Of(first.TargetEmail), Level: patch.Of(strconv.Itoa(int(first.Level))), Message: patch.Of(first.Message)}
	if first.ExpiresIn > 0 {
		draft.ExpiresIn = patch.Of(first.ExpiresIn)
	}
	preview, err := v.console.Preview(v.ctx(), v.caller, draft)
	if err != nil {
		return next{}, asRefused(err)
	}
	return next{page: new(v.inviting(nil, nil, preview))}, nil
}

// asRefused returns a fault of a form as the API's error.
func asRefused(err error) error {
	if fault.IsOurs(err) {
		return err
	}
	return asField(asFaults(err).err(), "target_email", "addresses")
}

func asFaults(err error) (all faults) {
	for _, f := range fault.Of(err) {
		all.add(f.Field, f.Detail)
	}
	return all
}
