// Package api is the JSON face of foyer: the operations of the contract, and those that foyer adds.
package api

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"foyer/internal/base/inflight"
	"foyer/internal/domain/access"
	"foyer/internal/domain/addresschange"
	"foyer/internal/domain/event"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/signin"
	"foyer/internal/domain/site"
	"foyer/internal/face/wire"
)

// API answers every path under /api. Its fields are set before Handler is called.
type API struct {
	Log            *slog.Logger
	Keys           *access.Keys
	Plugins        plugin.Service
	Invites        invite.Service
	Sites          site.Service
	Organizations  org.Service
	Events         event.Service
	SignIn         signin.Service
	Addresses      addresschange.Service
	BaseURL        string         // the start of links, without a trailing slash
	RateLimit      int            // requests per minute and user; 0: no limit
	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-For is trusted
	InFlight       *inflight.Limit
	KeepAddresses  bool            // the activity stores the addresses of clients
	Stopping       <-chan struct{} // closed when the server is told to stop, which ends waiting requests; nil: never

	byUser    *limiter[int64]
	byAddress *limiter[string] // requests without a valid key
	streams   *streamCount
	byPage    *limiter[reporter]
	untrusted *atomic.Bool // an untrusted proxy was logged
}

// handler answers one route. The guard answers with the error it returns.
type handler func(w http.ResponseWriter, r *http.Request, c access.Caller) error

// Route is one operation of the API.
type Route struct {
	Method string
	Path   string // without trailing slash
	Scope  access.Scope
	may    func(access.Caller) error // called before the body is read; nil: no key is needed
	do     handler
}

// isPublic reports whether a route needs no key.
func (r Route) isPublic() bool { return r.may == nil }

// reads reports whether a route changes nothing.
func (r Route) reads() bool { return r.Method == http.MethodGet }

// isAt reports whether a route has a path or one below it.
func (r Route) isAt(path string) bool { return r.Path == path || strings.HasPrefix(r.Path, path+"/") }

// takesIdempotencyKey reports whether the route takes an Idempotency-Key.
func (r Route) takesIdempotencyKey() bool {
	return !r.isPublic() && (r.Method == http.MethodPost || r.Method == http.MethodPatch)
}

func anyMember(access.Caller) error { return nil }

func anyUser(access.Caller) error { return nil }

const (
	organizations = "/api/organizations"
	organization  = organizations + "/{organization_id}"
	apps          = organization + "/pipeline_frontend_apps"
	versions      = apps + "/{id}/versions"
	sites         = organization + "/sites"
	placed        = sites + "/{id}/apps"
	invites       = organization + "/invites"
	members       = organization + "/members"
	webhooks      = organization + "/webhooks"
	self          = "/api/users/@me"
	sessions      = self + "/sessions"
	signup        = "/api/signup/{token}"

	anyScope                  access.Scope = 0
	readApps, writeApps                    = access.PluginRead, access.PluginWrite
	readMembers, writeMembers              = access.MemberRead, access.MemberWrite
)

// Routes is the whole API.
func (a *API) Routes() []Route {
	return slices.Concat(a.appRoutes(), a.siteRoutes(), a.peopleRoutes(), a.eventRoutes())
}

func (a *API) appRoutes() []Route {
	seeApps, changeApps := plugin.MayRead, plugin.MayManage
	return []Route{
		{"GET", apps, readApps, seeApps, find(a, readAppFilter, a.Plugins.Find, AppendPlugin)},
		{"POST", apps, writeApps, changeApps, a.createPlugin},
		{"GET", apps + "/{id}", readApps, seeApps, single(a.Plugins.Get, http.StatusOK, a.writePlugin)},
		{"PATCH", apps + "/{id}", writeApps, changeApps, change(readPlugin, a.Plugins.Update, http.StatusOK, a.writePlugin)},
		{"DELETE", apps + "/{id}", writeApps, changeApps, remove(a.Plugins.Delete)},
		{"GET", apps + "/{id}/check_for_updates", readApps, seeApps, a.checkForUpdates},
		{"GET", apps + "/{id}/source", readApps, seeApps, a.getSource},
		{"PATCH", apps + "/{id}/update_source", writeApps, changeApps, a.updateSource},
		{"GET", apps + "/{id}/upgrade", writeApps, changeApps, a.reviewUpgrade},
		{"POST", apps + "/{id}/upgrade", writeApps, changeApps, change(readMove, a.Plugins.Upgrade, http.StatusOK, a.writePlugin)},
		{"POST", apps + "/{id}/disable", writeApps, changeApps, change(readReason, a.Plugins.Disable, http.StatusOK, a.writePlugin)},
		{"POST", apps + "/{id}/enable", writeApps, changeApps, fieldless(single(a.Plugins.Enable, http.StatusOK, a.writePlugin))},
		{"GET", apps + "/{id}/sites", readApps, seeApps, listOf(a, a.Sites.PlacementsOf, appendPlacementOf)},
		{"GET", apps + "/{id}/health", readApps, seeApps, a.getHealth},
		{"GET", versions, readApps, seeApps, listOf(a, a.Plugins.Versions, appendVersion)},
		{"GET", versions + "/{version}", readApps, seeApps, a.getVersion},
		{"GET", versions + "/{version}/diff", readApps, seeApps, a.diffVersions},
		{"POST", versions + "/{version}/withdraw", writeApps, changeApps, a.withdrawVersion},
		{"POST", versions + "/{version}/restore", writeApps, changeApps, fieldless(a.restoreVersion)},
		{"GET", apps + "/activity", readApps, seeApps, a.listActivity},
		{"GET", apps + "/exports_unsubscribe_configs", readApps, seeApps, listUnderApp(a, a.Plugins.Exporting, itself, appendExporting)},
		{"GET", apps + "/repository", readApps, seeApps, listUnderApp(a, a.Plugins.ListCatalog, pluginOf, appendCatalogApp)},
		{"GET", apps + "/unused", readApps, seeApps, listUnderApp(a, a.Plugins.Unused, itself, appendUnused)},
	}
}

func (a *API) siteRoutes() []Route {
	seeApps, changeApps := plugin.MayRead, plugin.MayManage
	return []Route{
		{"GET", sites, readApps, seeApps, find(a, readSiteFilter, a.Sites.Find, a.appendSite)},
		{"POST", sites, writeApps, changeApps, a.createSite},
		{"GET", sites + "/{id}", readApps, seeApps, single(a.Sites.Get, http.StatusOK, a.writeSite)},
		{"PATCH", sites + "/{id}", writeApps, changeApps, change(readSiteChange, a.Sites.Update, http.StatusOK, a.writeSite)},
		{"DELETE", sites + "/{id}", writeApps, changeApps, remove(a.Sites.Delete)},
		{"GET", sites + "/{id}/health", readApps, seeApps, a.listHealth},
		{"GET", sites + "/{id}/history", readApps, seeApps, listOf(a, a.Sites.History, appendRevision)},
		{"POST", sites + "/{id}/restore", writeApps, changeApps, change(readRevision, a.Sites.Restore, http.StatusOK, a.writeSite)},
		{"GET", placed, readApps, seeApps, listOf(a, a.Sites.Apps, appendPlacement)},
		{"POST", placed, writeApps, changeApps, change(readPlacement, a.Sites.Place, http.StatusCreated, writePlacement)},
		{"GET", placed + "/{app_id}", readApps, seeApps, a.getPlacement},
		{"PATCH", placed + "/{app_id}", writeApps, changeApps, a.updatePlacement},
		{"DELETE", placed + "/{app_id}", writeApps, changeApps, a.deletePlacement},
		{"POST", placed + "/{app_id}/preview", access.All, site.MayPreview, a.previewApp},
	}
}

func (a *API) peopleRoutes() []Route {
	mayInvite, seeLinks, manage := invite.MayInvite, invite.MaySeeLinks, org.MayManageMembers
	return []Route{
		{"GET", invites, readMembers, anyMember, a.listInvites},
		{"POST", invites, writeMembers, mayInvite, a.createInvite},
		{"POST", invites + "/bulk", writeMembers, mayInvite, a.createInvites},
		{"DELETE", invites + "/{id}", writeMembers, anyMember, a.deleteInvite},
		{"POST", invites + "/{id}/resend", writeMembers, anyMember, fieldless(a.resendInvite)},
		{"POST", invites + "/{id}/link", access.All, seeLinks, fieldless(a.linkInvite)},
		{"GET", signup, anyScope, nil, a.showInvite},
		{"POST", signup, anyScope, nil, a.acceptInvite},
		{"DELETE", signup, anyScope, nil, a.declineInvite},

		{"POST", "/api/signin", anyScope, nil, a.requestSignIn},

		{"GET", organizations, anyScope, anyUser, list(a, a.Organizations.Mine, appendOrganization)},
		{"GET", organization, anyScope, anyMember, a.getOrganization},
		{"PATCH", organization, access.All, org.MayChangeSettings, a.updateOrganization},
		{"GET", organization + "/overview", anyScope, anyMember, a.getOverview},
		{"GET", organization + "/keys", access.All, access.MayManageKeys, list(a, a.Keys.OfMembers, appendMemberKey)},
		{"DELETE", organization + "/keys/{id}", access.All, access.MayManageKeys, remove(a.Keys.RevokeOfMember)},
		{"GET", organization + "/activity", readMembers, org.MaySeeActivity, a.listAudit},
		{"GET", organization + "/activity/head", readMembers, org.MaySeeActivity, a.activityHead},
		{"GET", members, readMembers, anyMember, find(a, readMemberFilter, a.Organizations.FindMembers, AppendMember)},
		{"GET", members + "/{user_uuid}", readMembers, anyMember, a.getMember},
		{"PATCH", members + "/{user_uuid}", writeMembers, manage, a.updateMember},
		{"DELETE", members + "/{user_uuid}", writeMembers, anyMember, a.deleteMember},
		{"GET", self, anyScope, anyUser, a.getSelf},
		{"PATCH", self, access.All, access.MaySeeSelf, a.updateSelf},
		{"GET", self + "/keys", anyScope, anyUser, list(a, a.Keys.Own, appendKey)},
		{"POST", self + "/keys", anyScope, anyUser, a.createKey},
		{"DELETE", self + "/keys/{id}", anyScope, anyUser, remove(a.Keys.RevokeOwn)},
		{"GET", self + "/invites", access.All, access.MaySeeSelf, list(a, a.Invites.Mine, appendOwnInvite)},
		{"DELETE", self + "/invites/{id}", access.All, access.MaySeeSelf, a.declineOwnInvite},
		{"POST", self + "/invites/{id}/accept", access.All, access.MaySeeSelf, a.acceptOwnInvite},
		{"GET", sessions, anyScope, access.MaySeeSelf, a.listSessions},
		{"DELETE", sessions, access.All, access.MaySeeSelf, a.deleteSessions},
		{"GET", sessions + "/{id}", anyScope, access.MaySeeSelf, a.getSession},
		{"DELETE", sessions + "/{id}", access.All, access.MaySeeSelf, remove(a.Keys.EndSession)},
	}
}

func (a *API) eventRoutes() []Route {
	return []Route{
		{"GET", webhooks, access.All, event.MaySee, list(a, a.Events.List, AppendWebhook)},
		{"POST", webhooks, access.All, event.MaySee, a.createWebhook},
		{"GET", webhooks + "/{id}", access.All, event.MaySee, single(a.Events.Get, http.StatusOK, writeWebhook)},
		{"PATCH", webhooks + "/{id}", access.All, event.MaySee, change(readWebhook, a.Events.Update, http.StatusOK, writeWebhook)},
		{"DELETE", webhooks + "/{id}", access.All, event.MaySee, remove(a.Events.Delete)},
		{"POST", webhooks + "/{id}/test", access.All, event.MaySee, fieldless(single(a.Events.SendTest, http.StatusAccepted, writeWebhook))},
		{"POST", webhooks + "/{id}/rotate", access.All, event.MaySee, fieldless(a.rotateWebhook)},
		{"GET", webhooks + "/{id}/deliveries", access.All, event.MaySee, listOf(a, a.Events.Deliveries, appendDelivery)},
		{"POST", webhooks + "/{id}/deliveries/{delivery_id}/redeliver", access.All, event.MaySee, fieldless(a.redeliver)},
		{"GET", organization + "/events", access.All, event.MaySee, a.listEvents},
	}
}

// Handler serves the routes and those that more adds. It answers all other requests with an error in JSON.
func (a *API) Handler(more func(*wire.Mux)) http.Handler {
	a.untrusted = new(atomic.Bool)
	a.byUser, a.byAddress = newLimiter[int64](a.RateLimit), newLimiter[string](peerLimit)
	a.streams = &streamCount{taken: map[int64]int{}}
	a.byPage = newLimiter[reporter](beaconLimit)
	to := wire.NewMux()
	paths := map[string]wire.Methods{}
	for _, route := range a.Routes() {
		if paths[route.Path] == nil {
			paths[route.Path] = wire.Methods{}
		}
		paths[route.Path][route.Method] = a.protect(route)
	}
	for path, methods := range paths {
		var h http.Handler = methods
		if strings.HasSuffix(path, "/{token}") {
			h = wire.Secret(h)
		}
		to.Handle(path, h)
	}
	to.Handle("/apps/{public_token}/{file}", wire.Get(http.HandlerFunc(a.serveBundle)))
	a.pages(to)
	more(to)
	return to
}
