package api

import (
	"net/http"

	"foyer/internal/base/dryrun"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/face/wire"
)

// AppendPlugin appends the contract's app object (section 2.1).
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
		URL:          o.Text("url"),
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

func (a *API) createPlugin(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxSourceBody)
	if err != nil {
		return err
	}
	d := readPlugin(o)
	d.Source, d.Message = readEdits(o), o.Text("message")
	p, err := a.Plugins.Create(r.Context(), c, d)
	if err != nil {
		return err
	}
	if dryrun.Is(r.Context()) {
		p.ID = 0
	}
	return a.writePlugin(w, http.StatusCreated, p)
}

func (a *API) writePlugin(w http.ResponseWriter, status int, p plugin.Plugin) error {
	return wire.WriteWithETag(w, status, a.appETag(p), func(b []byte) []byte { return AppendPlugin(b, p) })
}
