// Package api is the JSON face of foyer: the operations of the contract and those
// that foyer adds.
package api

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"foyer/internal/access"
	"foyer/internal/invite"
	"foyer/internal/org"
	"foyer/internal/plugin"
	"foyer/internal/router"
	"foyer/internal/wire"
)

// API answers every path under /api. Its fields are set before Handler is called.
type API struct {
	Log            *slog.Logger
	Keys           *access.Keys
	Plugins        plugin.Service
	Invites        invite.Service
	Organizations  org.Service
	BaseURL        string         // what links start with, without a trailing slash
	RateLimit      int            // requests a minute and key; 0: no limit
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed

	byKey     *limiter[int64]
	byAddress *limiter[string] // requests without a valid key
}

// handler answers one route; a returned error is written by wire.WriteError.
type handler func(w http.ResponseWriter, r *http.Request, c access.Caller) error

// Route is one operation of the API.
type Route struct {
	Method string
	Path   string // without trailing slash
	Scope  access.Scope
	may    func(access.Caller) error // asked before the body is read; nil: no key is needed
	do     handler
}

func anyMember(access.Caller) error { return nil }

func anyUser(access.Caller) error { return nil }

// Routes is the whole API on one screen.
func (a *API) Routes() []Route {
	const (
		organizations = "/api/organizations"
		organization  = organizations + "/{organization_id}"
		apps          = organization + "/pipeline_frontend_apps"
		invites       = organization + "/invites"
		members       = organization + "/members"
		self          = "/api/users/@me"
		signup        = "/api/signup/{token}"

		anyScope                  access.Scope = 0
		readApps, writeApps                    = access.PluginRead, access.PluginWrite
		readMembers, writeMembers              = access.MemberRead, access.MemberWrite
	)
	seeApps, changeApps := plugin.MayRead, plugin.MayManage
	mayInvite, seeLinks, manage := invite.MayInvite, invite.MaySeeLinks, org.MayManageMembers
	return []Route{
		{"GET", apps, readApps, seeApps, list(a, a.Plugins.List, AppendPlugin)},
		{"POST", apps, writeApps, changeApps, a.createPlugin},
		{"GET", apps + "/{id}", readApps, seeApps, a.getPlugin},
		{"PATCH", apps + "/{id}", writeApps, changeApps, a.updatePlugin},
		{"DELETE", apps + "/{id}", writeApps, changeApps, a.deletePlugin},
		{"GET", apps + "/{id}/check_for_updates", readApps, seeApps, a.checkForUpdates},
		{"GET", apps + "/{id}/source", readApps, seeApps, a.getSource},
		{"PATCH", apps + "/{id}/update_source", writeApps, changeApps, a.updateSource},
		{"POST", apps + "/{id}/upgrade", writeApps, changeApps, a.upgradePlugin},
		{"GET", apps + "/{id}/versions", readApps, seeApps, a.listVersions},
		{"GET", apps + "/{id}/versions/{version}/diff", readApps, seeApps, a.diffVersions},
		{"GET", apps + "/activity", readApps, seeApps, a.listActivity},
		{"GET", apps + "/exports_unsubscribe_configs", readApps, seeApps, listUnderApp(a, a.Plugins.Exporting, itself, appendExporting)},
		{"GET", apps + "/repository", readApps, seeApps, listUnderApp(a, a.Plugins.Catalogued, offered, appendOffer)},
		{"GET", apps + "/unused", readApps, seeApps, listUnderApp(a, a.Plugins.Unused, itself, appendUnused)},

		{"GET", invites, readMembers, anyMember, a.listInvites},
		{"POST", invites, writeMembers, mayInvite, a.createInvite},
		{"POST", invites + "/bulk", writeMembers, mayInvite, a.createInvites},
		{"DELETE", invites + "/{id}", writeMembers, anyMember, a.deleteInvite},
		{"POST", invites + "/{id}/resend", writeMembers, anyMember, a.resendInvite},
		{"POST", invites + "/{id}/link", writeMembers, seeLinks, a.linkInvite},
		{"GET", signup, anyScope, nil, a.showInvite},
		{"POST", signup, anyScope, nil, a.acceptInvite},
		{"DELETE", signup, anyScope, nil, a.declineInvite},

		{"GET", organizations, anyScope, anyUser, list(a, a.Organizations.Mine, appendOrganization)},
		{"GET", organization, anyScope, anyMember, a.getOrganization},
		{"GET", members, readMembers, anyMember, list(a, a.Organizations.MemberPage, appendMember)},
		{"PATCH", members + "/{user_uuid}", writeMembers, manage, a.updateMember},
		{"DELETE", members + "/{user_uuid}", writeMembers, anyMember, a.deleteMember},
		{"GET", self, anyScope, anyUser, a.getSelf},
		{"GET", self + "/keys", anyScope, anyUser, list(a, a.Keys.Own, appendKey)},
		{"POST", self + "/keys", anyScope, anyUser, a.createKey},
		{"DELETE", self + "/keys/{id}", anyScope, anyUser, a.deleteKey},
	}
}

// Handler serves the routes, and what more adds, and answers everything else in JSON.
func (a *API) Handler(more func(*router.Router)) http.Handler {
	a.byKey, a.byAddress = newLimiter[int64](a.RateLimit), newLimiter[string](peerLimit)
	to := &router.Router{}
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
	more(to)
	to.Handle("/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = wire.WriteError(w, access.ErrNotFound) }))
	return to
}
