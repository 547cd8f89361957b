package api

import (
	"fmt"
	"net/http"
	"strconv"

	"foyer/internal/base/fault"
	"foyer/internal/base/precondition"
	"foyer/internal/domain/access"
	"foyer/internal/domain/event"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/site"
	"foyer/internal/face/wire"
)

// appETag names a state of an app. The app alone and the app with its source share it. The source has a url and the
// user who disabled the app, so both are part of the ETag.
func (a *API) appETag(p plugin.Plugin) wire.ETag {
	text := strconv.AppendInt(make([]byte, 0, 300), p.ID, 10)
	text = strconv.AppendInt(append(text, ' '), p.Revision, 10)
	text = append(append(text, ' '), a.BaseURL...)
	text = append(append(text, ' '), p.OrganizationName...)
	return wire.ETagOf(append(append(text, '\n'), p.DisabledBy...))
}

// organizationETag is the same for all members, though each sees their own level.
func organizationETag(o org.Organization) wire.ETag {
	return wire.ETagOf(appendOrganization(nil, org.Mine{Organization: o}))
}

// textOf returns an object as its GET answers it to the caller, or nil for an unknown type.
func (a *API) textOf(object any, c access.Caller) []byte {
	switch o := object.(type) {
	case plugin.Plugin:
		return AppendPlugin(nil, o)
	case plugin.Sources:
		return a.appendSource(nil, o)
	case plugin.Version:
		return appendVersion(nil, o)
	case org.Organization:
		return appendOrganization(nil, org.Mine{Organization: o, Level: c.Level})
	case org.Mine:
		return appendOrganization(nil, o)
	case org.User:
		return AppendUser(nil, o)
	case org.Membership:
		return AppendMember(nil, o)
	case site.Site:
		return a.appendSite(nil, o)
	case site.Placement:
		return appendPlacement(nil, o)
	case invite.Invite:
		return AppendInvite(a.Keys.Now())(nil, o)
	case []invite.Invite:
		return wire.AppendList(nil, o, AppendInvite(a.Keys.Now()))
	case []invite.Outcome:
		return wire.AppendList(nil, o, appendOutcome(a.Keys.Now()))
	case event.Webhook:
		return AppendWebhook(nil, o)
	case event.Delivery:
		return appendDelivery(nil, o)
	}
	return nil
}

// etagOf returns the ETag of an object's GET: by default a digest of its text.
func (a *API) etagOf(object any) wire.ETag {
	switch o := object.(type) {
	case plugin.Plugin:
		return a.appETag(o)
	case plugin.Sources:
		return a.appETag(o.Plugin)
	case org.Organization:
		return organizationETag(o)
	case org.Mine:
		return organizationETag(o.Organization)
	case access.Session:
		return sessionETag(o)
	}
	text := a.textOf(object, access.Caller{})
	if text == nil && object != nil { // a nil object: the route has no ETag, see objectOf
		panic(fmt.Sprintf("%T has no ETag: textOf does not know it", object)) // all its states would share one ETag
	}
	return wire.ETagOf(text)
}

// objectOf finds the object that a request is going to change, if the caller may change it. It returns nil for an
// object without an ETag. The code that makes the change must call precondition.Check once the object is locked.
func (a *API) objectOf(r *http.Request, route Route, c access.Caller) (any, error) {
	switch ctx := r.Context(); {
	case route.isAt(versions + "/{version}"):
		if _, err := a.Plugins.Own(ctx, c, pathID(r, "id")); err != nil {
			return nil, err
		}
		return a.Plugins.Version(ctx, c, pathID(r, "id"), pathID(r, "version"))
	case route.isAt(apps + "/{id}"):
		return a.Plugins.Own(ctx, c, pathID(r, "id"))
	case route.isAt(placed + "/{app_id}"):
		return a.Sites.App(ctx, c, pathID(r, "id"), pathID(r, "app_id"))
	case route.isAt(sites + "/{id}"):
		return a.Sites.Get(ctx, c, pathID(r, "id"))
	case route.isAt(invites + "/{id}"):
		return a.Invites.Own(ctx, c, pathUUID(r, "id"))
	case route.isAt(members + "/{user_uuid}"):
		return a.Organizations.Member(ctx, c, pathUUID(r, "user_uuid"), route.Method == http.MethodDelete)
	case route.isAt(webhooks + "/{id}"):
		return a.Events.Get(ctx, c, pathID(r, "id"))
	case route.Path == organization:
		return a.Organizations.Get(ctx, c.Organization.ID)
	case route.Path == self:
		return a.Organizations.Self(ctx, c)
	case route.isAt(sessions + "/{id}"):
		return a.Keys.OwnSession(ctx, c, pathID(r, "id"))
	}
	return nil, nil
}

// expect lets a change through if its If-Match names the current state of the object. The transaction that stores the
// change checks that again.
func (a *API) expect(r *http.Request, route Route, c access.Caller) (*http.Request, error) {
	condition := r.Header["If-Match"]
	if condition == nil || route.isPublic() || route.reads() {
		return r, nil
	}
	object, err := a.objectOf(r, route, c)
	if err != nil {
		return nil, err
	}
	check := func(object any) error {
		if !a.etagOf(object).In(condition, false) {
			return errPrecondition
		}
		return nil
	}
	if err := check(object); err != nil || object == nil {
		return r, err
	}
	return r.WithContext(precondition.With(r.Context(), check)), nil
}

var errPrecondition = fault.New(fault.PreconditionFailed, "If-Match does not match the current ETag: nothing was changed. Read the object again.")
