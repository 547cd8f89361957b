package api

import (
	"net/http"

	"foyer/internal/access"
	"foyer/internal/page"
	"foyer/internal/plugin"
	"foyer/internal/wire"
)

// writeAppPage answers as the contract's lists that are documented with one app:
// that app's fields (the first item's, or those of an empty app), and in the
// same object the page.
func writeAppPage[T any](w http.ResponseWriter, r *http.Request, a *API, first plugin.Plugin, p page.Page, count int, items []T, item func([]byte, T) []byte) error {
	return wire.Write(w, http.StatusOK, func(b []byte) []byte {
		b = appendPluginFields(append(b, '{'), first)
		return append(wire.AppendPage(b, r, a.BaseURL, p, count, items, item), '}')
	})
}

// emptyApp stands where there is no app to show.
func emptyApp(c access.Caller) plugin.Plugin {
	return plugin.Plugin{Type: plugin.Local, OrganizationID: c.Organization.ID, OrganizationName: c.Organization.Name}
}

func firstOr(plugins []plugin.Plugin, c access.Caller) plugin.Plugin {
	if len(plugins) == 0 {
		return emptyApp(c)
	}
	return plugins[0]
}

func (a *API) listExporting(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	p, err := wire.ReadPage(r)
	if err != nil {
		return err
	}
	plugins, count, err := a.Plugins.Exporting(r.Context(), c, p)
	if err != nil {
		return err
	}
	return writeAppPage(w, r, a, firstOr(plugins, c), p, count, plugins, appendExporting)
}

func appendExporting(b []byte, p plugin.Plugin) []byte {
	b = appendPluginFields(append(b, '{'), p)
	b = append(wire.AppendName(b, "config"), '{')
	for i, d := range plugin.Defaults(p.ConfigSchema) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(wire.AppendString(b, d.Key), ':'), d.Value...)
	}
	return append(b, "}}"...)
}

func (a *API) listUnused(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	p, err := wire.ReadPage(r)
	if err != nil {
		return err
	}
	plugins, count, err := a.Plugins.Unused(r.Context(), c, p)
	if err != nil {
		return err
	}
	return writeAppPage(w, r, a, firstOr(plugins, c), p, count, plugins, appendUnused)
}

func appendUnused(b []byte, p plugin.Plugin) []byte {
	b = appendPluginFields(append(b, '{'), p)
	return append(wire.AppendTime(b, "last_used_at", p.LastUsedAt), '}')
}

func (a *API) listRepository(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	p, err := wire.ReadPage(r)
	if err != nil {
		return err
	}
	offers, count, err := a.Plugins.Catalogued(r.Context(), c, p)
	if err != nil {
		return err
	}
	first := emptyApp(c)
	if len(offers) > 0 {
		first = offers[0].Plugin
	}
	return writeAppPage(w, r, a, first, p, count, offers, appendOffer)
}

func appendOffer(b []byte, o plugin.Offer) []byte {
	b = appendPluginFields(append(b, '{'), o.Plugin)
	b = wire.AppendBool(b, "installed", o.Installed)
	return append(wire.AppendBool(b, "verified", o.Verified), '}')
}
