package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
)

// frameError frames an error like other pages, and keeps what was typed in a form that cannot be shown again.
func (v *visit) frameError(shown *ErrorPage, status int) {
	if v.refused != nil && status == http.StatusNotFound { // the page with the button is gone, too
		shown.Detail = gone
	}
	v.refused = nil // it is shown once
	shown.Frame = v.frame("")
	if status == http.StatusNotFound || status == http.StatusForbidden {
		shown.Typed = v.written()
	}
}

// leadOn says what a missing page was about, and where to continue.
func (v *visit) leadOn(shown *ErrorPage, status int) {
	if v.organization != nil {
		shown.Back = NavLink{"Go to the overview", v.home}
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
		if shown.Offer.sees(kind.list) {
			shown.Back = NavLink{kind.back, v.home + kind.list}
		}
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

// writtenIn are the fields with longer texts, which people may not have at hand to type again.
var writtenIn = []string{"name", "description", "reason", "message", "origins", "paths", "addresses"}

// written returns the fields of the form that somebody has typed in, by their labels.
func (v *visit) written() (all []field) {
	add := func(label, text string) {
		if strings.TrimSpace(text) != "" {
			all = append(all, field{label, text})
		}
	}
	for _, f := range fieldsOf(v.request.PostForm) {
		key, value := strings.CutPrefix(f.Name, "config.")
		switch {
		case v.edited(f.Name) == nil:
		case value:
			add(line(key), f.Value)
		case slices.Contains(writtenIn, f.Name):
			add(labels[f.Name], f.Value)
		}
	}
	for _, e := range v.edits() {
		if e.typed && !e.untouched() {
			add(labels["text"]+" of "+code(e.name), e.text)
		}
	}
	return all
}
