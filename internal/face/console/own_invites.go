package console

import (
	"context"
	"net/http"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/signin"
	"foyer/internal/face/console/invitation"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

const (
	ownInvitesPath = "/console/invitations"
	guestPath      = "/console/guest"
)

// OwnInvites lists the invites to the viewer, who is a guest before they are a user.
type OwnInvites struct {
	List[client.OwnInvite]
	Email string
	Guest bool
	Then  string // the path of the page to go on to

	Verifies string // how a user verifies their address; "": they cannot
}

func showOwnInvites(v *visit) (markup.Page, error) {
	l, err := list(v, "invitations", v.client.ListOwnInvites)
	then := v.console.within(v.request.URL.Query().Get("then"), v.console.root()+l.Around.In)
	return markup.Fill("own_invites.html", OwnInvites{List: l, Email: v.identity.Person.Email, Then: then, Verifies: v.console.verifies()}), err
}

func acceptOwnInvite(v *visit) (next, error) {
	id, err := v.inviteID()
	if err != nil {
		return next{}, err
	}
	o, err := v.client.AcceptOwnInvite(v.ctx(), id, "")
	return next{path: v.console.root() + "/" + o.ID, flash: sentence("You are in: this is %s.", o.Name)}, err
}

const declined = "You have declined the invitation."

func declineOwnInvite(v *visit) (next, error) {
	id, err := v.inviteID()
	if err != nil {
		return next{}, err
	}
	return next{flash: declined}, v.client.DeclineOwnInvite(v.ctx(), id)
}

// waiting reports whether there are invites that a user who signs in may answer at once.
func (c *Console) waiting(r *http.Request, caller access.Caller) bool {
	if !mayChangeSelf(caller) {
		return false
	}
	found, err := c.SignIn.Invites.Mine(r.Context(), caller, page.Page{Limit: 1})
	return err == nil && found.Count > 0 // else they find them in the menu
}

// SignedIn returns the user or guest that a browser is signed in as, and whether they may answer invites to their
// address.
func (c *Console) SignedIn(r *http.Request) (invitation.Visitor, bool) {
	if identity, _, err := c.identify(r); err == nil {
		caller := identity.Caller()
		return invitation.Visitor{Email: identity.Person.Email, Caller: caller}, mayChangeSelf(caller)
	}
	sealed := c.guestOf(r)
	g, err := c.SignIn.Guest(r.Context(), sealed)
	return invitation.Visitor{Email: g.Email, Guest: sealed}, err == nil
}

// guestCookie holds the identity of a guest.
func (c *Console) guestCookie(sealed string) *http.Cookie {
	return c.shortCookie("guest", sealed, signin.GuestTime)
}

func (c *Console) guestOf(r *http.Request) string {
	cookie, err := r.Cookie(c.guestCookie("").Name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// asGuest does something for a guest. A guest who has become a user meanwhile continues as that user.
func (c *Console) asGuest(do func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return c.linkPage(func(w http.ResponseWriter, r *http.Request) error {
		err := do(w, r)
		if !fault.Is(err, fault.NotAuthenticated) {
			return err
		}
		if _, _, none := c.identify(r); none != nil {
			return err
		}
		c.setFlash(w, "You are signed in already.")
		redirectTo(w, c.prefix+ownInvitesPath)
		return nil
	})
}

func (c *Console) showGuest(w http.ResponseWriter, r *http.Request) error {
	return c.guestPage(w, r, nil)
}

// guestPage lists the invites that a guest can answer, and shows what was wrong with an answer.
func (c *Console) guestPage(w http.ResponseWriter, r *http.Request, refused error) error {
	g, open, err := c.SignIn.GuestInvites(r.Context(), c.guestOf(r))
	if err != nil {
		return err
	}
	frame, status := c.bare(), http.StatusOK
	frame.Flash = c.takeFlash(w, r)
	if refused != nil {
		frame.Faults, frame.sent, status = asFaults(refused), r.PostForm, wire.SetHeaders(w, refused)
	}
	shown := OwnInvites{List: List[client.OwnInvite]{Frame: frame, Count: len(open)}, Email: g.Email, Guest: true, Then: c.root()}
	for _, o := range open {
		shown.Items = append(shown.Items, client.OwnInvite{ID: o.ID, Message: o.Message, Invitation: client.Invitation{
			OrganizationName: o.Organization.Name, FirstName: o.FirstName, Level: client.Level(o.Level), ExpiresAt: o.ExpiresAt,
			InvitedBy: client.Inviter{FirstName: o.CreatedBy.FirstName, LastName: o.CreatedBy.LastName, Email: o.CreatedBy.Email},
		}})
	}
	c.Write(w, r, templates, status, markup.Fill("own_invites.html", shown))
	return nil
}

// answerGuest accepts or declines one of a guest's invites. It shows a refusal above their list.
func (c *Console) answerGuest(w http.ResponseWriter, r *http.Request) error {
	if err := c.readOwn(w, r, maxForm); err != nil {
		return err
	}
	err := c.answer(w, r)
	if err == nil || fault.IsOurs(err) || fault.Is(err, fault.NotAuthenticated) {
		return err
	}
	if limited := c.Limit(w, r); limited != nil {
		return limited
	}
	if fault.Is(err, fault.NotFound) {
		err = fault.New(fault.NotFound, gone)
	}
	return c.guestPage(w, r, err)
}

// answer does what the form asks for once, however often it is sent.
func (c *Console) answer(w http.ResponseWriter, r *http.Request) error {
	sealed, d := c.guestOf(r), c.draft(w, r)
	in, err := c.entered.Do(r.Context(), sealed, r.PostForm.Get("form"), r.PostForm.Encode(), func(ctx context.Context) (signin.Entered, error) {
		id := r.PostForm.Get("id")
		switch r.PostForm.Get("do") {
		case "accept":
			session, err := c.SignIn.AcceptAsGuest(ctx, sealed, id, invitation.NamesIn(r.PostForm), d)
			return signin.Entered{Session: session}, err
		case "decline":
			return signin.Entered{}, c.SignIn.DeclineAsGuest(ctx, sealed, id, d)
		}
		return signin.Entered{}, fault.New(fault.InvalidChoice, "The form does not say what to do: open the page again.")
	})
	switch {
	case err != nil:
		return err
	case in.Session == "":
		c.setFlash(w, declined)
		redirectTo(w, c.prefix+guestPath)
		return nil
	}
	c.setFlash(w, "You have accepted the invitation: you are in.")
	return c.enter(w, r, in, "")
}
