package console

import (
	"strconv"
	"strings"

	"foyer/client"
	"foyer/internal/console/markup"
)

func showInvites(v *visit) (markup.Page, error) {
	l, err := list(v, "invites", v.organization.ListInvites)
	return markup.Fill("invites.html", l), err
}

// invitePeople invites each address, of which there is one on a line.
func invitePeople(v *visit) (next, error) {
	level, err := strconv.Atoi(v.line("level"))
	if err != nil {
		return next{}, wrong("level", "Choose a level.")
	}
	mail := v.typed("send_email") == "on"
	var drafts []client.InviteDraft
	for _, address := range addresses(v.typed("addresses")) {
		drafts = append(drafts, client.InviteDraft{TargetEmail: address, Level: client.Level(level), Message: v.typed("message"), SendEmail: &mail})
	}
	if len(drafts) == 0 {
		return next{}, wrong("addresses", "Write at least one address.")
	}
	_, err = v.organization.CreateInvites(v.request.Context(), drafts)
	return next{said: "invited"}, err
}

// addresses are what stands between line breaks, commas and semicolons.
func addresses(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\n,; \t", r) })
}

func resendInvite(v *visit) (next, error) {
	_, err := v.organization.ResendInvite(v.request.Context(), v.line("id"))
	return next{said: "resent"}, err
}

func withdrawInvite(v *visit) (next, error) {
	return next{said: "withdrawn"}, v.organization.DeleteInvite(v.request.Context(), v.line("id"))
}

// Link shows the link of an invite. Whoever has it becomes the person invited, so no address
// leads to this page.
type Link struct {
	Frame
	client.InviteLink
}

func linkInvite(v *visit) (next, error) {
	link, err := v.organization.LinkInvite(v.request.Context(), v.line("id"))
	return next{page: new(markup.Fill("link.html", Link{v.frame("invites"), link}))}, err
}

func showMembers(v *visit) (markup.Page, error) {
	l, err := list(v, "members", v.organization.ListMembers)
	return markup.Fill("members.html", l), err
}

func setLevel(v *visit) (next, error) {
	level, err := strconv.Atoi(v.line("level"))
	if err == nil {
		_, err = v.organization.SetLevel(v.request.Context(), v.line("id"), client.Level(level))
	}
	return next{said: "saved"}, err
}

func removeMember(v *visit) (next, error) {
	return next{said: "removed"}, v.organization.RemoveMember(v.request.Context(), v.line("id"))
}
