package api

import (
	"context"
	"net/http"

	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/site"
	"foyer/internal/face/wire"
)

// overview has the counts of an organization's objects that the caller may see.
type overview struct {
	seesApps                                        bool
	apps, updates, broken, disabled, failing, sites int
	seesPeople                                      bool
	members, invites, expired, failed               int
}

// one is the smallest page, for lists that are only counted.
var one = page.Page{Limit: 1}

// counter counts lists until the first error.
type counter struct{ err error }

func count[T any](n *counter, find func() (page.Found[T], error)) int {
	if n.err != nil {
		return 0
	}
	var found page.Found[T]
	found, n.err = find()
	return found.Count
}

func (a *API) getOverview(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := a.overview(r.Context(), c)
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return appendOverview(b, o) })
}

func (a *API) overview(ctx context.Context, c access.Caller) (overview, error) {
	var o overview
	var n counter
	apps := func(f plugin.Filter) int {
		return count(&n, func() (page.Found[plugin.Plugin], error) { return a.Plugins.Find(ctx, c, f, one) })
	}
	invites := func(f invite.Filter) int {
		return count(&n, func() (page.Found[invite.Invite], error) { return a.Invites.Find(ctx, c, f, one) })
	}
	if o.seesApps = c.Scope.Includes(access.PluginRead) && plugin.MayRead(c) == nil; o.seesApps {
		o.apps, o.updates = apps(plugin.Filter{}), apps(plugin.Filter{Update: true})
		o.broken, o.disabled = apps(plugin.Filter{State: plugin.IsBroken}), apps(plugin.Filter{State: plugin.IsDisabled})
		o.failing = apps(plugin.Filter{State: plugin.IsFailing})
		o.sites = count(&n, func() (page.Found[site.Site], error) { return a.Sites.Find(ctx, c, site.Filter{}, one) })
	}
	if o.seesPeople = c.Scope.Includes(access.MemberRead); o.seesPeople {
		o.members = count(&n, func() (page.Found[org.Membership], error) {
			return a.Organizations.FindMembers(ctx, c, org.MemberFilter{}, one)
		})
		o.invites, o.expired = invites(invite.Filter{}), invites(invite.Filter{Statuses: []invite.Status{invite.IsExpired}})
		o.failed = invites(invite.Filter{Statuses: []invite.Status{invite.IsPending}, Delivery: invite.Failed})
	}
	return o, n.err
}

func appendOverview(b []byte, o overview) []byte {
	b = append(b, '{')
	if !o.seesApps {
		b = wire.AppendJSON(wire.AppendJSON(b, "apps", ""), "sites", "")
	} else {
		b = wire.AppendInt(append(wire.AppendName(b, "apps"), '{'), "count", int64(o.apps))
		b = wire.AppendInt(b, "updates", int64(o.updates))
		b = wire.AppendInt(b, "broken", int64(o.broken))
		b = wire.AppendInt(b, "disabled", int64(o.disabled))
		b = append(wire.AppendInt(b, "failing", int64(o.failing)), '}')
		b = wire.AppendInt(b, "sites", int64(o.sites))
	}
	if !o.seesPeople {
		return append(wire.AppendJSON(wire.AppendJSON(b, "members", ""), "invites", ""), '}')
	}
	b = wire.AppendInt(b, "members", int64(o.members))
	b = wire.AppendInt(append(wire.AppendName(b, "invites"), '{'), "count", int64(o.invites))
	b = wire.AppendInt(b, "expired", int64(o.expired))
	return append(wire.AppendInt(b, "failed", int64(o.failed)), '}', '}')
}
