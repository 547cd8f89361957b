package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

// visit is a request for a page by a user who is signed in.
type visit struct {
	console      *Console
	request      *http.Request
	home         string        // the path of the organization's pages, or of the first page
	caller       access.Caller // decides what is offered; the API decides what is done
	identity     *access.Identity
	around       access.Caller // in the organization of the navigation: the page's, or another one of theirs
	client       *client.Client
	organization *client.Organization
	refused      *client.Error // what was wrong with the form, or with the filter of a list
	flash        string        // what was done before
}

// visit finds out who makes a request. It may return a visit together with an error.
func (c *Console) visit(w http.ResponseWriter, r *http.Request) (*visit, error) {
	identity, session, err := c.identify(r)
	if err != nil {
		return nil, err
	}
	inflight.From(r.Context()).Of(identity.UserID)
	asked, err := client.New("http://foyer.invalid", "", client.WithHTTPClient(&http.Client{Transport: wire.Inside{
		Handler: c.api, RequestID: c.RequestID(w), Address: c.Address(r),
		Context: func(ctx context.Context) context.Context { return access.WithSession(ctx, session) },
	}}))
	if err != nil {
		return nil, err
	}
	v := &visit{console: c, request: r, home: c.root(), caller: identity.Caller(), identity: identity, client: asked, flash: c.takeFlash(w, r)}
	id := r.PathValue("organization")
	if id != "" {
		var entered access.Caller
		if entered, err = c.Keys.Enter(r.Context(), identity, id); err == nil {
			v.caller = entered
		}
	}
	if fault.Is(err, fault.NotFound) {
		err = fault.New(fault.NotFound, "There is no such organization, or you are not a member of it.")
	}
	if err != nil || id == "" {
		v.around = c.elsewhere(r.Context(), identity, r.URL.Query().Get(in))
		return v, cmp.Or(err, checkQuery(r))
	}
	v.around = v.caller
	v.home += "/" + url.PathEscape(v.caller.Organization.ID)
	v.organization = asked.Organization(v.caller.Organization.ID)
	return v, checkQuery(r)
}

// checkQuery refuses a query if a part of it would be ignored: a list would then show, or give away, more than was asked
// for.
func checkQuery(r *http.Request) error {
	query, err := wire.ReadQuery(r)
	for name, values := range query {
		if len(values) > 1 && name != "file" { // several files are edited on one page
			return fault.Field(fault.Invalid, name, "The query string has a parameter several times: only one of its values would count.")
		}
	}
	return err
}

// in is the query parameter with the organization from which somebody came to a page that belongs to none.
const in = "in"

// elsewhere returns the caller in an organization, for a page that belongs to none: the chosen one, else the first.
func (c *Console) elsewhere(ctx context.Context, identity *access.Identity, chosen string) access.Caller {
	for _, id := range []string{chosen, access.Current} {
		if around, err := c.Keys.Enter(ctx, identity, id); err == nil {
			return around
		}
	}
	return identity.Caller()
}

// Organization returns the organization that a browser is signed in to: the one whose pages linked here, else the first;
// without an id, none. A wrong session counts as a wrong request.
func (c *Console) Organization(w http.ResponseWriter, r *http.Request) access.Organization {
	session, err := c.sessionOf(r)
	if err != nil || c.Check(w, r) != nil {
		return access.Organization{}
	}
	identity, err := c.Keys.IdentifySession(r.Context(), session)
	if err == nil {
		return c.elsewhere(r.Context(), identity, r.URL.Query().Get(in)).Organization
	}
	if !fault.IsOurs(err) {
		_ = c.Limit(w, r) // everybody may have the page
	}
	return access.Organization{}
}

func (v *visit) ctx() context.Context { return v.request.Context() }

// here returns the path of the page itself, as browsers see it.
func (v *visit) here() string { return v.console.prefix + v.request.URL.RequestURI() }

// gone is the message about an item that no longer exists.
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

// number parses an id or a number from the path or the form.
func number(text string) (int64, error) {
	if n := patch.ID(text); n != 0 {
		return n, nil
	}
	return 0, access.ErrNotFound
}

// appID returns the id of the app that the path names.
func (v *visit) appID() (int64, error) { return number(v.request.PathValue("id")) }

// Frame is the part that all pages of the console share.
type Frame struct {
	Prefix           string // the path of the base url, before all of ours
	Root             string // the path of the first page
	Home             string // the path of the organization's pages
	OrganizationName string // "": the page is of none
	Section          string // the menu's section of the page
	SignedIn         bool
	Person           access.Person
	Offer            Offer
	Around           Around
	Flash            string         // what was done before
	Faults           []client.Fault // of the form that was sent
	Typed            []field        // of it, by their labels, to be copied: the form may no longer be offered
	sent             url.Values
}

// Docs is the path of the documentation, with samples for the organization.
func (f Frame) Docs() string { return f.Prefix + "/docs" + f.Around.In }

// Script is the path of the script of all pages.
func (f Frame) Script() string { return f.Prefix + markup.Enhancements.Path }

// Around is the organization of the navigation, and the links to the others.
type Around struct {
	Name, Home string // "": they are in none
	Offer      Offer
	In         string // the query of links to pages that belong to no organization
	Others     []NavLink
	More       bool // there are too many others to list here
}

// NavLink leads to another page.
type NavLink struct{ Name, Path string }

// maxOthers is how many organizations are listed on each page.
const maxOthers = 20

// navigation returns the organization around a page.
func (v *visit) navigation() Around {
	here := v.around.Organization
	if here.ID == "" {
		return Around{Offer: offer(v.around)}
	}
	a := Around{Name: here.Name, Home: v.console.root() + "/" + here.ID, Offer: offer(v.around)}
	all := v.identity.Callers()
	if len(all) > 1 {
		a.In = "?" + in + "=" + here.ID
	}
	for _, there := range all {
		if there.Organization.ID == here.ID {
			continue
		}
		if len(a.Others) == maxOthers {
			a.More = true
			break
		}
		a.Others = append(a.Others, NavLink{there.Organization.Name, v.samePage(there)})
	}
	return a
}

// samePage returns the path of this page in another organization, or of the nearest page that the user may see there.
func (v *visit) samePage(there access.Caller) string {
	_, below, within := strings.Cut(v.request.Pattern, "/{organization}")
	if !within && v.request.Pattern != "/console" && v.request.Pattern != "/console/" {
		return v.console.prefix + v.request.URL.Path + "?" + in + "=" + there.Organization.ID
	}
	below, _, _ = strings.Cut(strings.TrimSuffix(below, "/"), "/{")
	offers := offer(there)
	if below == "/audit" && !offers.SeeAudit {
		below = "/activity"
	}
	for !offers.sees(below) {
		below = below[:strings.LastIndexByte(below, '/')]
	}
	path := v.console.root() + "/" + there.Organization.ID + below
	if below == "/search" {
		path += v.query()
	}
	return path
}

func (v *visit) frame(section string) Frame {
	around := v.navigation()
	f := Frame{
		Prefix: v.console.prefix, Root: v.console.root(), Home: cmp.Or(around.Home, v.home), OrganizationName: v.caller.Organization.Name, Section: section, SignedIn: true,
		Person: v.identity.Person, Offer: offer(v.caller), Around: around, Flash: v.flash,
	}
	if v.refused != nil {
		f.Faults, f.sent = v.refused.Errors, v.request.PostForm
		if len(f.Faults) == 0 {
			f.Faults = []client.Fault{{Detail: v.refused.Error()}}
		}
		if v.refused.Status == http.StatusForbidden {
			f.Typed = v.written()
		}
	}
	return f
}

// Title is the page's title in browsers.
func (f Frame) Title(name string) string {
	if len(f.Faults) > 0 {
		name = "Error: " + name
	}
	if f.OrganizationName != "" {
		name += " · " + line(f.OrganizationName)
	}
	return name
}
