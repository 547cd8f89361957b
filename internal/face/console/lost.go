package console

import (
	"net/http"
	"net/url"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
)

// leadOn says what a page that is not there was about, and where to go on from it.
func (v *visit) leadOn(shown *ErrorPage, status int) {
	if v.organization != nil {
		shown.Back = Way{"Go to the overview", v.home}
	}
	if status == http.StatusNotFound && v.request.Method == http.MethodGet {
		shown.Heading = "Page not found"
	}
	for _, kind := range []struct {
		id, what, list, back string
		scope                activity.Scope
	}{
		{"id", "app", "/apps", "Go to the apps", activity.Plugin},
		{"site", "site", "/sites", "Go to the sites", activity.Site},
		{"webhook", "webhook", "/webhooks", "Go to the webhooks", activity.Webhook},
		{"member", "member", "/members", "Go to the members", ""},
	} {
		id := v.request.PathValue(kind.id)
		if id == "" || v.organization == nil {
			continue
		}
		shown.Back = Way{kind.back, v.home + kind.list}
		if shown.Heading != "Page not found" || shown.Detail != fault.Of(access.ErrNotFound)[0].Detail {
			return
		}
		shown.Detail = "There is no such " + kind.what + ", or no such part of it: it may have been deleted, or belong to another organization."
		if shown.Offer.SeeAudit && kind.scope != "" {
			shown.Activity = v.home + "/audit?" + url.Values{"scope": {string(kind.scope)}, "item": {id}}.Encode()
		}
		return
	}
}
