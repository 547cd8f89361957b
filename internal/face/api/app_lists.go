package api

import (
	"net/http"

	"foyer/internal/domain/access"
	"foyer/internal/domain/configschema"
	"foyer/internal/domain/plugin"
	"foyer/internal/face/wire"
)

// emptyApp is shown when there is no app.
func emptyApp(c access.Caller) plugin.Plugin {
	return plugin.Plugin{Type: plugin.Local, OrganizationID: c.Organization.ID, OrganizationName: c.Organization.Name}
}

// listUnderApp is list in the contract's form for lists with one app: the page's object also has the fields of an app,
// which is the first item's or empty. app returns the app that an item is about.
func listUnderApp[T any](a *API, read reader[T], app func(T) plugin.Plugin, item func([]byte, T) []byte) handler {
	return func(w http.ResponseWriter, r *http.Request, c access.Caller) error {
		p, found, err := read.ask(r, c)
		if err != nil {
			return err
		}
		first := emptyApp(c)
		if len(found.Items) > 0 {
			first = app(found.Items[0])
		}
		return wire.WritePageAfter(w, r, fieldsOf(first), a.BaseURL, p, found, item)
	}
}

func fieldsOf(p plugin.Plugin) func([]byte) []byte {
	return func(b []byte) []byte { return appendPluginFields(b, p) }
}

func itself(p plugin.Plugin) plugin.Plugin { return p }

func pluginOf(o plugin.CatalogApp) plugin.Plugin { return o.Plugin }

func appendExporting(b []byte, p plugin.Plugin) []byte {
	b = appendPluginFields(append(b, '{'), p)
	b = append(wire.AppendName(b, "config"), '{')
	for i, d := range configschema.Defaults(p.ConfigSchema) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(wire.AppendString(b, d.Key), ':'), d.Value...)
	}
	return append(b, "}}"...)
}

func appendUnused(b []byte, p plugin.Plugin) []byte {
	b = appendPluginFields(append(b, '{'), p)
	return append(wire.AppendTime(b, "last_used_at", p.LastUsedAt), '}')
}

func appendCatalogApp(b []byte, o plugin.CatalogApp) []byte {
	b = appendPluginFields(append(b, '{'), o.Plugin)
	b = wire.AppendBool(b, "installed", o.Installed)
	return append(wire.AppendBool(b, "verified", o.Verified), '}')
}
