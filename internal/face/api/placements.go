package api

import (
	"net/http"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/site"
	"foyer/internal/face/wire"
)

// appendPlacement appends a placement.
func appendPlacement(b []byte, p site.Placement) []byte {
	return append(appendPlacementFields(append(b, '{'), p), '}')
}

// appendPlacementOf is appendPlacement with the placement's site.
func appendPlacementOf(b []byte, p site.Placement) []byte {
	b = append(wire.AppendName(append(b, '{'), "site"), '{')
	b = wire.AppendField(wire.AppendInt(b, "id", p.SiteID), "name", p.SiteName)
	b = append(wire.AppendField(b, "token", p.SiteToken), '}')
	return append(appendPlacementFields(b, p), '}')
}

func appendPlacementFields(b []byte, p site.Placement) []byte {
	b = wire.AppendInt(b, "app_id", p.AppID)
	b = wire.AppendField(b, "name", p.Name)
	b = wire.AppendBool(b, "enabled", p.Enabled)
	b = wire.AppendInt(b, "position", p.Position)
	b = wire.AppendIntOrNull(b, "version", p.Version)
	b = wire.AppendIntOrNull(b, "running", p.Running)
	b = wire.AppendFieldOrNull(b, "held", p.Held)
	b = wire.AppendStrings(b, "paths", p.Paths)
	b = wire.AppendJSON(b, "config", p.Config)
	b = wire.AppendJSON(b, "values", p.Values)
	b = wire.AppendTime(b, "created_at", p.CreatedAt)
	return wire.AppendTime(b, "updated_at", p.UpdatedAt)
}

func readPlacement(o wire.Object) site.PlacementDraft {
	return site.PlacementDraft{
		AppID: o.Int("app_id"), Enabled: o.Bool("enabled"), Position: o.Int("position"), Version: o.Int("version"),
		Paths: o.Texts("paths"), Config: readConfig(o),
	}
}

// readConfig reads the values in config.
func readConfig(o wire.Object) patch.Field[[]site.Value] {
	f := o.Object("config")
	given := patch.Field[[]site.Value]{Set: f.Set, Null: f.Null, Fault: f.Fault}
	for _, m := range f.Value {
		given.Value = append(given.Value, site.Value{Key: m.Name, JSON: m.Value("config." + m.Name)})
	}
	return given
}

func writePlacement(w http.ResponseWriter, status int, p site.Placement) error {
	return wire.Write(w, status, func(b []byte) []byte { return appendPlacement(b, p) })
}

func (a *API) getPlacement(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	p, err := a.Sites.App(r.Context(), c, pathID(r, "id"), pathID(r, "app_id"))
	if err != nil {
		return err
	}
	return writePlacement(w, http.StatusOK, p)
}

func (a *API) updatePlacement(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	d := readPlacement(o)
	d.Reason = o.Text("reason")
	p, err := a.Sites.Change(r.Context(), c, pathID(r, "id"), pathID(r, "app_id"), d)
	if err != nil {
		return err
	}
	return writePlacement(w, http.StatusOK, p)
}

func (a *API) deletePlacement(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	if err := a.Sites.Remove(r.Context(), c, pathID(r, "id"), pathID(r, "app_id")); err != nil {
		return err
	}
	return wire.WriteNothing(w)
}

func (a *API) previewApp(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	p, err := a.Sites.Preview(r.Context(), c, pathID(r, "id"), pathID(r, "app_id"), site.PreviewDraft{
		URL: o.Text("url"), Version: o.Int("version"), Config: readConfig(o),
	})
	if err != nil {
		return err
	}
	return writeSecret(w, http.StatusOK, func(b []byte) []byte { return appendLink(b, p.URL, p.ExpiresAt) })
}
