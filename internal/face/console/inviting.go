package console

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/invite"
	"foyer/internal/face/console/markup"
)

// Inviting is the page on which people are invited, and then told what became of whom.
type Inviting struct {
	Frame
	Mails    bool // there is a mail server
	Most     int  // how many one form may make
	Preview  invite.Preview
	Outcomes []Outcome // of the form that was sent
	Left     []string  // addresses that were refused, to be mended
}

// Outcome is what became of an address.
type Outcome struct {
	Address string
	Invite  client.Invite
	Fault   string // why it was not invited; "": it was
}

// Did is what the form was sent for.
func (p Inviting) Did() string {
	if p.Sent("preview") {
		return "preview"
	}
	return "invite"
}

// Invited counts those that were invited.
func (p Inviting) Invited() int { return len(p.Outcomes) - len(p.Left) }

func showInviting(v *visit) (markup.Page, error) {
	if v.nobody() {
		user, err := v.client.Self(v.ctx())
		return markup.Fill("introduction.html", Introduction{v.frame("invites"), user}), err
	}
	return v.inviting(nil, nil, invite.Preview{}), nil
}

func (v *visit) inviting(outcomes []Outcome, left []string, preview invite.Preview) markup.Page {
	f := v.frame("invites")
	if preview.Subject != "" { // what was typed stays
		f.sent = v.request.PostForm
	}
	return markup.Fill("inviting.html", Inviting{f, v.console.Mails, invite.MaxBulk, preview, outcomes, left})
}

// drafts are the invites that the form asks for.
func (v *visit) drafts() ([]client.InviteDraft, error) {
	level, err := strconv.Atoi(v.line("level"))
	if err != nil {
		return nil, wrong("level", "Choose a role.")
	}
	addresses := addresses(v.typed("addresses"))
	switch {
	case len(addresses) == 0:
		return nil, wrong("addresses", "Write at least one address.")
	case len(addresses) > invite.MaxBulk:
		return nil, wrong("addresses", fmt.Sprintf("At most %d fit in one form, not %d.", invite.MaxBulk, len(addresses)))
	}
	message, mail := v.typed("message"), v.console.Mails && (v.typed("send_email") == "on" || !offer(v.caller).SeeLinks)
	days, err := v.days("expires_days", maxInviteDays)
	if err != nil {
		return nil, err
	}
	drafts := make([]client.InviteDraft, len(addresses))
	for i, address := range addresses {
		drafts[i] = client.InviteDraft{TargetEmail: address, Level: client.Level(level), Message: message, SendEmail: &mail, ExpiresIn: int64(days) * int64(aDay/time.Second)}
	}
	return drafts, nil
}

const (
	aDay = 24 * time.Hour
	// maxInviteDays is how long an invite may live.
	maxInviteDays = 30
)

// days reads a number of days; 0: none was typed.
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

// invitePeople invites each of the addresses that can be, and says what became of whom.
func invitePeople(v *visit) (next, error) {
	if v.nobody() { // the form is from another tab, or from before
		return next{}, wrong("email", "Say first who you are: invites name you.")
	}
	drafts, err := v.drafts()
	if err != nil {
		return next{}, err
	}
	made, err := v.organization.CreateInvites(v.ctx(), drafts)
	wrongOnes := map[int]string{}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		wrongOnes = ofAddresses(*refused)
		if len(wrongOnes) == 0 || len(wrongOnes) == len(drafts) {
			refused.Errors = ofForm(refused.Errors, drafts)
			return next{}, err
		}
		made, err = v.organization.CreateInvites(v.ctx(), without(drafts, wrongOnes))
	}
	if err != nil {
		return next{}, err
	}
	outcomes, left := outcomes(drafts, wrongOnes, made)
	page := v.inviting(outcomes, left, invite.Preview{})
	return next{page: &page}, nil
}

// without are the drafts that nothing is wrong with.
func without(drafts []client.InviteDraft, wrongOnes map[int]string) []client.InviteDraft {
	var all []client.InviteDraft
	for i, draft := range drafts {
		if wrongOnes[i] == "" {
			all = append(all, draft)
		}
	}
	return all
}

// outcomes says what became of each draft, and which addresses are left.
func outcomes(drafts []client.InviteDraft, wrongOnes map[int]string, made []client.Invite) (all []Outcome, left []string) {
	for i, draft := range drafts {
		o := Outcome{Address: draft.TargetEmail, Fault: wrongOnes[i]}
		if o.Fault != "" {
			left = append(left, draft.TargetEmail)
		} else {
			o.Invite, made = made[0], made[1:]
		}
		all = append(all, o)
	}
	return all, left
}

// ofAddresses are the faults of addresses, by their places; none if anything else is wrong.
func ofAddresses(refused client.Error) map[int]string {
	found := map[int]string{}
	if refused.Status != http.StatusBadRequest {
		return nil
	}
	for _, f := range refused.Errors {
		place, field, _ := strings.Cut(f.Attr, ".")
		n, err := strconv.Atoi(place)
		if err != nil || field != "target_email" {
			return nil
		}
		found[n] = f.Detail
	}
	return found
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
	page := v.inviting(nil, nil, preview)
	return next{page: &page}, nil
}

// asRefused is a fault of a form as the API would tell it.
func asRefused(err error) error {
	if fault.IsOurs(err) {
		return err
	}
	var all []client.Fault
	for _, f := range fault.Of(err) {
		all = append(all, client.Fault{Attr: f.Field, Detail: f.Detail})
	}
	return &client.Error{Fault: all[0], Errors: ofFields(all), Status: http.StatusBadRequest}
}

// ofFields names the fields of drafts as those of the form.
func ofFields(faults []client.Fault) []client.Fault {
	for i, f := range faults {
		if f.Attr == "target_email" {
			faults[i].Attr = "addresses"
		}
	}
	return faults
}
