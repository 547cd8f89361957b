package api

import (
	"net/http"
	"strconv"

	"foyer/internal/access"
	"foyer/internal/page"
	"foyer/internal/plugin"
	"foyer/internal/wire"
)

// AppendPlugin appends the app object of the contract, section 2.1.
func AppendPlugin(b []byte, p plugin.Plugin) []byte {
	return append(appendPluginFields(append(b, '{'), p), '}')
}

func appendPluginFields(b []byte, p plugin.Plugin) []byte {
	b = wire.AppendInt(b, "id", p.ID)
	b = wire.AppendField(b, "plugin_type", string(p.Type))
	b = wire.AppendField(b, "name", p.Name)
	b = wire.AppendField(b, "description", p.Description)
	b = wire.AppendField(b, "url", p.URL)
	b = wire.AppendField(b, "icon", p.Icon)
	b = wire.AppendJSON(b, "config_schema", p.ConfigSchema)
	b = wire.AppendField(b, "tag", p.Tag)
	b = wire.AppendField(b, "latest_tag", p.LatestTag)
	b = wire.AppendBool(b, "is_global", p.IsGlobal)
	b = wire.AppendField(b, "organization_id", p.OrganizationID)
	b = wire.AppendField(b, "organization_name", p.OrganizationName)
	b = wire.AppendJSON(b, "capabilities", p.Capabilities)
	b = wire.AppendJSON(b, "metrics", p.Metrics)
	return wire.AppendJSON(b, "public_jobs", p.PublicJobs)
}

// readPlugin reads the request fields of the contract, section 2.1.
func readPlugin(o wire.Object) plugin.Draft {
	return plugin.Draft{
		Type:         o.Text("plugin_type"),
		Name:         o.Text("name"),
		Description:  o.Text("description"),
		Icon:         o.Text("icon"),
		ConfigSchema: o.JSON("config_schema"),
		Tag:          o.Text("tag"),
		IsGlobal:     o.Bool("is_global"),
		Capabilities: o.JSON("capabilities"),
		Metrics:      o.JSON("metrics"),
		PublicJobs:   o.JSON("public_jobs"),
	}
}

func (a *API) listPlugins(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	p, err := wire.ReadPage(r)
	if err != nil {
		return err
	}
	plugins, count, err := a.Plugins.List(r.Context(), c, p)
	if err != nil {
		return err
	}
	return wire.WritePage(w, r, a.BaseURL, p, count, plugins, AppendPlugin)
}

func (a *API) createPlugin(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	p, err := a.Plugins.Create(r.Context(), c, readPlugin(o))
	if err != nil {
		return err
	}
	return writePlugin(w, http.StatusCreated, p)
}

func writePlugin(w http.ResponseWriter, status int, p plugin.Plugin) error {
	return wire.Write(w, status, func(b []byte) []byte { return AppendPlugin(b, p) })
}

func (a *API) getPlugin(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	p, err := a.Plugins.Get(r.Context(), c, pluginID(r))
	if err != nil {
		return err
	}
	return writePlugin(w, http.StatusOK, p)
}

func (a *API) updatePlugin(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	p, err := a.Plugins.Update(r.Context(), c, pluginID(r), readPlugin(o))
	if err != nil {
		return err
	}
	return writePlugin(w, http.StatusOK, p)
}

func (a *API) deletePlugin(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	if err := a.Plugins.Delete(r.Context(), c, pluginID(r)); err != nil {
		return err
	}
	return wire.WriteNothing(w)
}

func (a *API) checkForUpdates(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	p, err := a.Plugins.CheckForUpdates(r.Context(), c, pluginID(r))
	if err != nil {
		return err
	}
	return writePlugin(w, http.StatusOK, p)
}

func (a *API) upgradePlugin(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	p, err := a.Plugins.Upgrade(r.Context(), c, pluginID(r), readPlugin(o))
	if err != nil {
		return err
	}
	return writePlugin(w, http.StatusOK, p)
}

func (a *API) getSource(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	p, err := a.Plugins.Get(r.Context(), c, pluginID(r))
	if err != nil {
		return err
	}
	return writeSource(w, p)
}

func (a *API) updateSource(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxSourceBody)
	if err != nil {
		return err
	}
	p, err := a.Plugins.Update(r.Context(), c, pluginID(r), readPlugin(o))
	if err != nil {
		return err
	}
	return writeSource(w, p)
}

func writeSource(w http.ResponseWriter, p plugin.Plugin) error {
	return wire.Write(w, http.StatusOK, func(b []byte) []byte {
		b = appendPluginFields(append(b, '{'), p)
		return append(b, `,"source":{},"source_files":[],"bundle":null}`...)
	})
}

// pluginID is the number in the path; what is none stands for no plugin at all.
func pluginID(r *http.Request) int64 {
	text := r.PathValue("id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(id, 10) != text {
		return 0
	}
	return id
}

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

// listRepository answers an empty page: there is no catalog yet.
func (a *API) listRepository(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	p, err := wire.ReadPage(r)
	if err != nil {
		return err
	}
	return writeAppPage(w, r, a, emptyApp(c), p, 0, nil, AppendPlugin)
}
