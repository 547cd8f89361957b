package console

import (
	"cmp"
	"strings"

	"foyer/client"
	"foyer/internal/base/address"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/face/console/markup"
)

// Profile shows a user's name and address.
type Profile struct {
	Frame
	User   client.User
	Mails  bool // there is a mail server to confirm another address with
	Nobody bool // they have no address yet, and need not confirm one

	Verifies string // how they verify their address; "": they cannot
}

// verifies says how people verify their address here; "": they cannot.
func (c *Console) verifies() string {
	switch {
	case c.ByMail:
		return "a sign-in by a link in a mail verifies it"
	case c.Provider != "":
		return sentence("a sign-in with %s verifies it", c.Provider)
	}
	return ""
}

func showProfile(v *visit) (markup.Page, error) {
	user, err := v.client.Self(v.ctx())
	return markup.Fill("profile.html", Profile{v.frame("profile"), user, v.console.Mails, user.Email == org.NobodysEmail, v.console.verifies()}), err
}

func changeNames(v *visit) (next, error) {
	user, err := v.client.ChangeSelf(v.ctx(), client.SelfPatch{FirstName: v.edited("first_name"), LastName: v.edited("last_name")})
	if called := cmp.Or(user.FirstName, user.LastName); called != "" {
		return next{flash: sentence("You are now called %s.", called)}, err
	}
	return next{flash: "You have no name now: others see your address."}, err
}

func changeAddress(v *visit) (next, error) {
	email := v.line("email")
	before, err := v.client.Self(v.ctx())
	if err != nil {
		return next{}, err
	}
	after, err := v.client.ChangeSelf(v.ctx(), client.SelfPatch{Email: &email})
	plain, _ := address.Parse(email) // a wrong one has been refused
	switch {
	case after.Email != before.Email: // the first owner had none
		return next{flash: sentence("Your address is now %s.", after.Email)}, err
	case plain == before.Email:
		return next{flash: sentence("Your address is %s already.", before.Email)}, err
	}
	return next{flash: sentence("A mail with a link is on its way to %s: your address changes when you follow the link.", email)}, err
}

// Introduction asks the first owner who they are, before the first invite names them.
type Introduction struct {
	Frame
	User client.User
}

// nobody reports whether the viewer was made by the first start, has no address, and may set one in this session.
func (v *visit) nobody() bool {
	return v.identity.Person.Email == org.NobodysEmail && offer(v.caller).ChangeSettings && access.MaySeeSelf(v.caller) == nil
}

// introduce tells the server who the first owner is, and the name of their organization. It checks everything before it
// changes anything: the address can be set only once in this way.
func introduce(v *visit) (next, error) {
	if !v.nobody() { // the form is from another tab, or from an earlier page
		return next{}, wrong("", sentence("Nothing is changed: you have said who you are, and your address is %s. Your profile says how it can be changed.", v.identity.Person.Email))
	}
	email, first, last, called := v.line("email"), v.line("first_name"), v.line("last_name"), v.line("organization_name")
	if email == "" || strings.EqualFold(email, org.NobodysEmail) {
		return next{}, wrong("email", "Write an address at which mail reaches you.")
	}
	if _, err := org.CheckName(called); err != nil {
		return next{}, asField(asRefused(err), "name", "organization_name")
	}
	user, err := v.client.ChangeSelf(v.ctx(), client.SelfPatch{Email: &email, FirstName: &first, LastName: &last})
	if err == nil {
		_, err = v.organization.Change(v.ctx(), client.OrganizationPatch{Name: &called})
	}
	return next{flash: sentence("Invites to %s now come from %s.", called, user.Email)}, err
}
