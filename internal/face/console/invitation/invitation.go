// Package invitation is the page behind the link of an invite.
package invitation

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/face/console/dedup"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

// Pages serves the page behind the link of an invite.
type Pages struct {
	markup.Host
	Invites invite.Service
	// SignIn has the ways in which people sign in.
	SignIn   invite.SignInMethods
	Provider string // the name of the identity provider; "": none
	// Keep gives the browser its new session.
	Keep func(w http.ResponseWriter, session string)
	// SignedIn returns the user or guest that the browser is signed in as, and whether they may answer invites to their
	// address.
	SignedIn func(r *http.Request) (Visitor, bool)
	// AcceptAsGuest makes a guest a member, and signs them in.
	AcceptAsGuest func(ctx context.Context, sealed, inviteID string, names invite.Names, d access.SessionDraft) (session string, err error)

	accepted *dedup.Forms[joined]
	declined *dedup.Forms[invite.Opened]
}

// Visitor is a user or guest who is signed in.
type Visitor struct {
	Email  string
	Caller access.Caller
	Guest  string // sealed; "": they are the user Caller
}

// joined is the result of accepting, with whether the browser was signed in before, and whether the address belonged to a
// user.
type joined struct {
	invite.Accepted
	signedIn  bool
	knownUser bool
}

// Register adds the pages to a mux.
func (p *Pages) Register(to *wire.Mux) {
	p.accepted, p.declined = dedup.New[joined](nil), dedup.New[invite.Opened](nil)
	for _, path := range []string{"/invite/{token}", "/invite"} { // the last: a link that was cut off
		to.Handle(path, wire.Secret(wire.Methods{http.MethodGet: p.page(p.show), http.MethodPost: p.page(p.answer)}))
	}
}

// page answers with the page that do returns; a fault has a page of its own.
func (p *Pages) page(do func(w http.ResponseWriter, r *http.Request) (markup.Page, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := p.Check(w, r)
		var shown markup.Page
		status := http.StatusOK
		if err == nil {
			if shown, err = do(w, r); err != nil && !fault.IsOurs(err) {
				err = cmp.Or(p.Limit(w, r), err)
			}
		}
		if wire.DropIfDisconnected(w, r, err) {
			return
		}
		if err != nil {
			p.Report(w, r, err)
			status, shown = wire.SetHeaders(w, err), p.errorPage(w, r, err)
		}
		p.Write(w, r, templates, status, shown)
	})
}

// failure is a fault, with its invite if that is known, and with the sent form and its faults, if there was one.
type failure struct {
	error
	opened invite.Opened
	form   *Invitation
}

// Unwrap returns only the fault.
func (f failure) Unwrap() error { return f.error }

func (p *Pages) show(_ http.ResponseWriter, r *http.Request) (markup.Page, error) {
	o, as, err := p.open(r)
	if err != nil {
		return markup.Page{}, failure{error: err, opened: o}
	}
	return markup.Fill("invitation.html", p.invitation(r, o, as)), nil
}

// open returns the invite behind a link, and the visitor if the invite is for them: they need no mailed link.
func (p *Pages) open(r *http.Request) (invite.Opened, *Visitor, error) {
	o, err := p.Invites.Open(r.Context(), r.PathValue("token"))
	v, ok := p.SignedIn(r)
	asUser := v.Guest == "" && invite.IsKnownUser(err)
	switch {
	case o.ID == "" || v.Email != o.TargetEmail || !ok && !asUser:
		return o, nil, err
	case !ok:
		return o, nil, errOtherKey
	case asUser:
		err = nil
	}
	return o, &v, err
}

var errOtherKey = fault.New(fault.Denied, "You are signed in with a key that cannot accept invitations: sign in another way, or with a key that has the scope * and opens all organizations.")

// answer accepts or declines, and answers with the page that confirms it: a redirect could not carry the key, which must
// not stay in a browser's history.
func (p *Pages) answer(w http.ResponseWriter, r *http.Request) (markup.Page, error) {
	if err := p.FromHere(r); err != nil {
		return markup.Page{}, err
	}
	if err := markup.ReadForm(w, r, wire.MaxSignupBody); fault.Is(err, fault.Busy) {
		return markup.Page{}, err
	} else if err != nil {
		return markup.Page{}, fault.New(fault.Unparsable, "The form did not arrive as a whole. Open the link again and send it once more.")
	}
	token := r.PathValue("token")
	draft := access.SessionDraft{Address: p.Address(r), UserAgent: r.UserAgent(), RequestID: p.RequestID(w)}
	switch r.PostForm.Get("answer") {
	case "accept":
		names, form := NamesIn(r.PostForm), r.PostForm.Get("form")
		accept := func(ctx context.Context) (joined, error) {
			return p.accept(r.WithContext(ctx), token, names, draft)
		}
		made, err := p.accepted.Do(r.Context(), token, form, "", accept)
		if err != nil {
			return markup.Page{}, err
		}
		if made.Session != "" {
			p.Keep(w, made.Session)
		}
		return markup.Fill("accepted.html", p.welcome(r, made)), nil
	case "decline":
		return p.decline(r, token, draft)
	}
	return markup.Page{}, fault.New(fault.InvalidChoice, "The form says neither accept nor decline. Open the link again and press one of the buttons.")
}

func (p *Pages) accept(r *http.Request, token string, names invite.Names, draft access.SessionDraft) (joined, error) {
	o, as, err := p.open(r)
	if err != nil {
		return joined{}, failure{error: err, opened: o}
	}
	made := joined{signedIn: as != nil, knownUser: o.KnownUser}
	if as != nil {
		made.Accepted, err = p.acceptAs(r.Context(), *as, o, token, names, draft)
	} else {
		made.Accepted, err = p.Invites.AcceptInBrowser(r.Context(), token, names, draft, p.SignIn)
	}
	if err != nil {
		form := p.invitation(r, o, as)
		form.FirstName, form.LastName = names.FirstName.Or(form.FirstName), names.LastName.Value
		form.Faults = fault.Of(err)
		return joined{}, failure{error: err, opened: o, form: &form}
	}
	return made, nil
}

// acceptAs accepts as the visitor who is signed in.
func (p *Pages) acceptAs(
	ctx context.Context, v Visitor, o invite.Opened, token string, names invite.Names, d access.SessionDraft,
) (made invite.Accepted, err error) {
	made = invite.Accepted{User: org.User{Email: v.Email}, Organization: o.Organization, Level: o.Level}
	if v.Guest != "" {
		made.Session, err = p.AcceptAsGuest(ctx, v.Guest, o.ID, names, d)
		return made, err
	}
	_, err = p.Invites.AcceptMine(ctx, p.callerOf(v, d), o.ID, token)
	return made, err
}

// callerOf returns the visitor as the caller of a request.
func (p *Pages) callerOf(v Visitor, d access.SessionDraft) access.Caller {
	by := p.Invites.Keys.By(d, 0)
	v.Caller.RequestID, v.Caller.Address = by.RequestID, by.Address
	return v.Caller
}

func (p *Pages) decline(r *http.Request, token string, d access.SessionDraft) (markup.Page, error) {
	o, err := p.declined.Do(r.Context(), token, r.PostForm.Get("form"), "", func(ctx context.Context) (invite.Opened, error) {
		o, as, err := p.open(r.WithContext(ctx))
		switch {
		case err != nil:
		case as != nil && as.Guest == "":
			err = p.Invites.DeclineMine(ctx, p.callerOf(*as, d), o.ID, token)
		default:
			err = p.Invites.Decline(ctx, token, p.Invites.Keys.By(d, 0))
		}
		if err != nil {
			return o, failure{error: err, opened: o}
		}
		return o, nil
	})
	return markup.Fill("declined.html", Declined{OrganizationName: o.Organization.Name, Inviter: person(o.CreatedBy)}), err
}

// NamesIn returns the names in a form. They may hold anything: NUL, which no database stores, is refused as a control
// character; invalid UTF-8 is replaced.
func NamesIn(form url.Values) invite.Names {
	var n invite.Names
	if form.Has("first_name") {
		n.FirstName = patch.Of(strings.ToValidUTF8(form.Get("first_name"), "\uFFFD"))
	}
	if form.Has("last_name") {
		n.LastName = patch.Of(strings.ToValidUTF8(form.Get("last_name"), "\uFFFD"))
	}
	return n
}

// errorPage is the page for an error.
func (p *Pages) errorPage(w http.ResponseWriter, r *http.Request, err error) markup.Page {
	f, _ := errors.AsType[failure](err)
	name, inviter := f.opened.Organization.Name, person(f.opened.CreatedBy)
	switch first := fault.Of(err)[0]; first.Kind {
	case fault.NotFound:
		return markup.Fill("unknown.html", Unknown{ByKeyAlone: !p.SignIn.Mail && !p.SignIn.Provider})
	case fault.Expired:
		return markup.Fill("expired.html", Expired{OrganizationName: name, Inviter: inviter, ExpiresAt: f.opened.ExpiresAt})
	case fault.Denied:
		return markup.Fill("withdrawn.html", Withdrawn{
			OrganizationName: name, Inviter: inviter, Detail: first.Detail,
			SignsIn: invite.IsKnownUser(err), Other: p.other(r, f.opened.TargetEmail), Prefix: p.Base().EscapedPath(),
		})
	case fault.Internal:
		return markup.Fill("failed.html", Failed{Detail: first.Detail, RequestID: p.RequestID(w)})
	default:
		if f.form != nil {
			return markup.Fill("invitation.html", *f.form)
		}
		return markup.Fill("failed.html", Failed{Detail: first.Detail})
	}
}

// invitation is the page of an invite. The visitor in as is signed in, and the invite is for them; nil: there is none.
func (p *Pages) invitation(r *http.Request, o invite.Opened, as *Visitor) Invitation {
	return Invitation{
		OrganizationName: o.Organization.Name, Inviter: person(o.CreatedBy), TargetEmail: o.TargetEmail, FirstName: o.FirstName,
		Message: o.Message, Level: o.Level.String(), Apps: o.Organization.AppAccess, ExpiresAt: o.ExpiresAt, KnownUser: o.KnownUser, Form: dedup.Name(),
		SignedIn: as != nil, SignsIn: o.SignsIn(p.SignIn), Other: p.other(r, o.TargetEmail),
	}
}

// other returns the address that the browser is signed in as, unless it is email; "": it is not signed in.
func (p *Pages) other(r *http.Request, email string) string {
	if v, _ := p.SignedIn(r); v.Guest == "" && v.Email != email {
		return v.Email
	}
	return ""
}

func (p *Pages) welcome(r *http.Request, made joined) Accepted {
	return Accepted{
		OrganizationName: made.Organization.Name, OrganizationID: made.Organization.ID, Email: made.User.Email,
		Level: made.Level.String(), Apps: made.Organization.AppAccess, APIKey: made.APIKey, Scope: made.Scope, BaseURL: p.BaseURL,
		Prefix: p.Base().EscapedPath(), SignedIn: made.signedIn || made.Session != "", KnownUser: made.knownUser, ByMail: p.SignIn.Mail, Provider: p.Provider,
		Other: p.other(r, made.User.Email),
	}
}

func person(u org.User) Person { return Person{Name: u.FullName(), Email: u.Email} }
