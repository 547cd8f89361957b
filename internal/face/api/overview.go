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

// overview has the counts of an organization's objects; nil: the caller may not see them.
type overview struct {
	apps    *struct{ count, updates, broken, disabled, failing int }
	sites   *int
	members *int
	invites *struct{ count, expired, failed int }
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
	if c.Scope.Includes(access.PluginRead) && plugin.MayRead(c) == nil {
		o.apps = &struct{ count, updates, broken, disabled, failing int }{
			apps(plugin.Filter{}), apps(plugin.Filter{Update: true}), apps(plugin.Filter{State: plugin.IsBroken}), apps(plugin.Filter{State: plugin.IsDisabled}),
			apps(plugin.Filter{State: plugin.IsFailing}),
		}
		o.sites = new(count(&n, func() (page.Found[site.Site], error) { return a.Sites.Find(ctx, c, site.Filter{}, one) }))
	}
	if c.Scope.Includes(access.MemberRead) {
		o.members = new(count(&n, func() (page.Found[org.Membership], error) {
			return a.Organizations.FindMembers(ctx, c, org.MemberFilter{}, one)
		}))
		o.invites = &struct{ count, expired, failed int }{
			invites(invite.Filter{}), invites(invite.Filter{Statuses: []invite.Status{invite.IsExpired}}),
			invites(invite.Filter{Statuses: []invite.Status{invite.IsPending}, Delivery: invite.Failed}),
		}
	}
	return o, n.err
}

func appendOverview(b []byte, o overview) []byte {
	b = append(b, '{')
	if o.apps == nil {
		b = wire.AppendJSON(wire.AppendJSON(b, "apps", ""), "sites", "")
	} else {
		b = wire.AppendInt(append(wire.AppendName(b, "apps"), '{'), "count", int64(o.apps.count))
		b = wire.AppendInt(b, "updates", int64(o.apps.updates))
		b = wire.AppendInt(b, "broken", int64(o.apps.broken))
		b = wire.AppendInt(b, "disabled", int64(o.apps.disabled))
		b = append(wire.AppendInt(b, "failing", int64(o.apps.failing)), '}')
		b = wire.AppendInt(b, "sites", int64(*o.sites))
	}
	if o.members == nil {
		return append(wire.AppendJSON(wire.AppendJSON(b, "members", ""), "invites", ""), '}')
	}
	b = wire.AppendInt(b, "members", int64(*o.members))
	b = wire.AppendInt(append(wire.AppendName(b, "invites"), '{'), "count", int64(o.invites.count))
	b = wire.AppendInt(b, "expired", int64(o.invites.expired))
	return append(wire.AppendInt(b, "failed", int64(o.invites.failed)), '}', '}')
}
