package console

import (
	"foyer/client"
	"foyer/internal/face/console/markup"
)

// Profile is what somebody is called.
type Profile struct {
	Frame
	User client.User
}

// EditSelf reports whether they may change that in this session.
func (p Profile) EditSelf() bool { return p.Offer.EndSessions } // the same is asked for

func showProfile(v *visit) (markup.Page, error) {
	user, err := v.client.Self(v.ctx())
	return markup.Fill("profile.html", Profile{v.frame("profile"), user}), err
}

func changeNames(v *visit) (next, error) {
	first, last := v.line("first_name"), v.line("last_name")
	user, err := v.client.ChangeSelf(v.ctx(), client.SelfPatch{FirstName: &first, LastName: &last})
	return next{said: sentence("You are now called %s.", name(user))}, err
}
