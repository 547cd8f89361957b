package console

import (
	"context"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
)

// visit is a request for a page by somebody who is signed in.
type visit struct {
	console      *Console
	request      *http.Request
	home         string        // the path of the organization's pages, or of the first page
	caller       access.Caller // decides what is offered; the API decides what is done
	client       *client.Client
	organization *client.Organization
	refused      *client.Error // what was wrong with the form
	told         string        // what was done before
}

// visit finds out who makes a request. Even with an error it may return one.
func (c *Console) visit(w http.ResponseWriter, r *http.Request) (*visit, error) {
	session, err := c.sessionOf(r)
	if err != nil {
		return nil, err
	}
	identity, err := c.Keys.IdentifySession(r.Context(), session)
	if err != nil {
		return nil, err
	}
	asked, err := client.New("http://foyer.invalid", "", client.WithHTTPClient(&http.Client{Transport: inside{c.api, c.RequestID(w), session}}))
	if err != nil {
		return nil, err
	}
	v := &visit{console: c, request: r, home: c.root(), caller: identity.Caller(), client: asked, told: c.told(w, r)}
	if id := r.PathValue("organization"); id != "" {
		if v.caller, err = c.Keys.Enter(r.Context(), identity, id); err != nil {
			return v, err
		}
		v.home += "/" + url.PathEscape(v.caller.Organization.ID)
		v.organization = asked.Organization(v.caller.Organization.ID)
	}
	return v, nil
}

func (v *visit) ctx() context.Context { return v.request.Context() }

// here is the path of the page itself, as browsers see it.
func (v *visit) here() string { return v.console.prefix + v.request.URL.RequestURI() }

// typed is a field of the form, with line ends as in Go. It may hold anything: what is not UTF-8
// is replaced.
func (v *visit) typed(name string) string {
	return lineEnds.Replace(strings.ToValidUTF8(v.request.PostForm.Get(name), "\uFFFD"))
}

// line is a field of the form without white space around it.
func (v *visit) line(name string) string { return strings.TrimSpace(v.typed(name)) }

// edited is a field of the form; nil if it is what the page was filled with.
func (v *visit) edited(name string) *string {
	now := v.line(name)
	if now == v.line(name+"_was") {
		return nil
	}
	return &now
}

// wrong is a fault in a field of a form, as the API would tell it.
func wrong(field, detail string) error { return refusal(http.StatusBadRequest, field, detail) }

func refusal(status int, field, detail string) error {
	f := client.Fault{Attr: field, Detail: detail}
	return &client.Error{Fault: f, Errors: []client.Fault{f}, Status: status}
}

// gone is said of what a button no longer finds.
const gone = "It is gone: somebody may have answered, withdrawn or deleted it."

// refuse has the page show what was wrong with its form.
func (v *visit) refuse(refused client.Error) {
	if refused.Status == http.StatusNotFound {
		refused.Errors = []client.Fault{{Detail: gone}}
	}
	if refused.RetryAfter >= time.Minute {
		later := v.console.Keys.Now().Add(refused.RetryAfter + time.Minute).Truncate(time.Minute)
		refused.Errors = slices.Concat(refused.Errors, []client.Fault{{Detail: "Try again after " + moment(later) + "."}})
	}
	v.refused = &refused
}

// number is the number in the path or the form under a name.
func number(text string) (int64, error) {
	if n := patch.ID(text); n != 0 {
		return n, nil
	}
	return 0, access.ErrNotFound
}

// appID is the id of the app that the path names.
func (v *visit) appID() (int64, error) { return number(v.request.PathValue("id")) }

// Offer is what the pages offer somebody to do. It is what the API would let them.
type Offer struct {
	Caller                                 access.Caller
	SeeApps, ChangeApps, ShareApps         bool
	SeePeople, Invite, SeeLinks, SetLevels bool
	SeeAudit                               bool
	SeeSessions, EndSessions               bool
	Levels                                 []client.Level // up to one's own
}

func offer(c access.Caller) Offer {
	has := c.Scope.Includes
	o := Offer{
		Caller:     c,
		SeeApps:    has(access.PluginRead) && plugin.MayRead(c) == nil,
		ChangeApps: has(access.PluginWrite) && plugin.MayManage(c) == nil,
		ShareApps:  plugin.MayShare(c) == nil,
		SeePeople:  has(access.MemberRead),
		SeeAudit:   has(access.MemberRead) && org.MaySeeActivity(c) == nil,
		Invite:     has(access.MemberWrite) && invite.MayInvite(c) == nil,
		SeeLinks:   has(access.MemberWrite) && invite.MaySeeLinks(c) == nil,
		SetLevels:  has(access.MemberWrite) && org.MayManageMembers(c) == nil,
	}
	o.SeeSessions = access.MaySeeSelf(c) == nil
	o.EndSessions = o.SeeSessions && has(access.All)
	for _, level := range []client.Level{client.LevelMember, client.LevelAdmin, client.LevelOwner} {
		if int(level) <= int(c.Level) {
			o.Levels = append(o.Levels, level)
		}
	}
	return o
}

// Reaches reports whether somebody may change members of a level.
func (o Offer) Reaches(level client.Level) bool {
	return org.MayChange(o.Caller.Level, access.Level(level)) == nil
}

// Is reports whether a user is who looks at the page.
func (o Offer) Is(u client.User) bool { return u.ID == o.Caller.UserID }

// Leave reports whether their key lets somebody leave.
func (o Offer) Leave() bool { return o.Caller.Scope.Includes(access.MemberWrite) }

// Withdraw reports whether somebody may take an invite back, or send it again.
func (o Offer) Withdraw(i client.Invite) bool {
	return o.Caller.Scope.Includes(access.MemberWrite) && invite.MayDelete(o.Caller, i.CreatedBy.ID) == nil
}

// Frame is what the pages of the console have around them.
type Frame struct {
	Root             string // the path of the first page
	Home             string // the path of the organization's pages
	OrganizationName string // "": the page is of none
	Section          string // of the menu, that the page is in
	SignedIn         bool
	Offer            Offer
	Said             string         // what was done before it is shown
	Faults           []client.Fault // of the form that was sent
	sent             url.Values
}

func (v *visit) frame(section string) Frame {
	f := Frame{
		Root: v.console.root(), Home: v.home, OrganizationName: v.caller.Organization.Name, Section: section, SignedIn: true,
		Offer: offer(v.caller), Said: v.told,
	}
	if v.refused != nil {
		f.Faults, f.sent = v.refused.Errors, v.request.PostForm
		if len(f.Faults) == 0 {
			f.Faults = []client.Fault{{Detail: v.refused.Error()}}
		}
	}
	return f
}

// Marks are the attributes of a field of the form that tell its notes, by their ids, and whether it
// was refused.
func (f Frame) Marks(do, name string, notes ...string) template.HTMLAttr {
	marks := ""
	if f.Sent(do) && slices.ContainsFunc(f.Faults, func(fault client.Fault) bool { return fault.Attr == name }) {
		marks, notes = `aria-invalid="true" `, slices.Concat([]string{"faults"}, notes)
	}
	if len(notes) > 0 {
		marks += `aria-describedby="` + strings.Join(notes, " ") + `"`
	}
	return template.HTMLAttr(marks) //nolint:gosec // the ids are ours
}

// Filled is what a field of the form is filled with: what was sent, if that was refused.
func (f Frame) Filled(do, name, otherwise string) string {
	if f.Sent(do) {
		return strings.ToValidUTF8(f.sent.Get(name), "\uFFFD")
	}
	return otherwise
}

// Sent reports whether the page is shown again because its form was refused.
func (f Frame) Sent(do string) bool { return f.sent.Get("do") == do }

// Chosen reports whether a box of the form was ticked, which may have been refused.
func (f Frame) Chosen(do, name, value string, otherwise bool) bool {
	if f.Sent(do) {
		return slices.Contains(f.sent[name], value)
	}
	return otherwise
}

// Title is what a page is called where browsers list it.
func (f Frame) Title(name string) string {
	if len(f.Faults) > 0 {
		name = "Error: " + name
	}
	if f.OrganizationName != "" {
		name += " · " + line(f.OrganizationName)
	}
	return name
}
