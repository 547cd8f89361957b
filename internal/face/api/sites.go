package api

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"foyer/internal/base/dryrun"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/report"
	"foyer/internal/domain/site"
	"foyer/internal/face/wire"
)

// AppendSite returns a function that appends a site with the element for its pages.
func AppendSite(sites site.Service) func([]byte, site.Site) []byte {
	return func(b []byte, s site.Site) []byte {
		b = wire.AppendInt(append(b, '{'), "id", s.ID)
		b = wire.AppendField(b, "name", s.Name)
		b = wire.AppendField(b, "token", s.Token)
		b = wire.AppendBool(b, "enabled", s.Enabled)
		b = wire.AppendStrings(b, "origins", s.Origins)
		b = wire.AppendInt(b, "revision", s.Revision)
		b = wire.AppendInt(b, "apps_count", int64(s.AppsCount))
		b = wire.AppendField(b, "snippet", sites.Snippet(s))
		b = wire.AppendTime(b, "created_at", s.CreatedAt)
		return append(wire.AppendTime(b, "updated_at", s.UpdatedAt), '}')
	}
}

func (a *API) appendSite(b []byte, s site.Site) []byte { return AppendSite(a.Sites)(b, s) }

func (a *API) writeSite(w http.ResponseWriter, status int, s site.Site) error {
	return wire.Write(w, status, func(b []byte) []byte { return a.appendSite(b, s) })
}

func readSite(o wire.Object) site.Draft {
	return site.Draft{Name: o.Text("name"), Enabled: o.Bool("enabled"), Origins: o.Texts("origins")}
}

func readSiteChange(o wire.Object) site.Draft {
	d := readSite(o)
	d.Reason = o.Text("reason")
	return d
}

func readRevision(o wire.Object) patch.Field[int64] { return o.Int("revision") }

func (a *API) createSite(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	s, err := a.Sites.Create(r.Context(), c, readSite(o))
	if err != nil {
		return err
	}
	if dryrun.Is(r.Context()) {
		s.ID, s.Token = 0, ""
	}
	return a.writeSite(w, http.StatusCreated, s)
}

// appendRevision appends a revision of a site.
func appendRevision(b []byte, v site.Revision) []byte {
	b = wire.AppendInt(append(b, '{'), "revision", v.Number)
	b = wire.AppendJSON(b, "apps", v.Apps)
	b = wire.AppendTime(b, "from", v.From)
	b = wire.AppendTime(b, "until", v.Until)
	b = appendActor(b, v.User)
	return append(wire.AppendField(b, "request_id", v.RequestID), '}')
}

func (a *API) getHealth(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	of, since, err := healthFilter(r)
	if err != nil {
		return err
	}
	h, err := a.Sites.Health(r.Context(), c, pathID(r, "id"), of, since)
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return appendHealth(b, h) })
}

func (a *API) listHealth(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	since := func(query url.Values) (time.Time, error) { return moment(query, "since") }
	read := func(ctx context.Context, c access.Caller, since time.Time, p page.Page) (page.Found[site.AppHealth], error) {
		return a.Sites.HealthOfSite(ctx, c, pathID(r, "id"), since, p)
	}
	return find(a, since, read, appendAppHealth)(w, r, c)
}

func appendAppHealth(b []byte, h site.AppHealth) []byte {
	b = wire.AppendField(wire.AppendInt(append(b, '{'), "app_id", h.AppID), "name", h.Name)
	return append(appendHealthFields(b, h.Health), '}')
}

// healthFilter reads the site and time of the requested health.
func healthFilter(r *http.Request) (of int64, since time.Time, err error) {
	var faults fault.List
	q := r.URL.Query()
	if q.Has("site") {
		of, err = number("site", "the id of a site, a whole number", q.Get("site"))
		faults.Add(err)
	}
	since, err = moment(q, "since")
	faults.Add(err)
	return of, since, faults.Err()
}

// appendHealth appends the health of an app.
func appendHealth(b []byte, h report.Health) []byte {
	return append(appendHealthFields(append(b, '{'), h), '}')
}

func appendHealthFields(b []byte, h report.Health) []byte {
	b = wire.AppendList(wire.AppendName(b, "versions"), h.Versions, appendVersionHealth)
	return wire.AppendList(wire.AppendName(b, "errors"), h.Errors, appendError)
}

func appendVersionHealth(b []byte, v report.VersionHealth) []byte {
	b = wire.AppendInt(append(b, '{'), "version", v.Version)
	b = wire.AppendInt(b, "loads", v.Loads)
	b = wire.AppendInt(b, "running", v.Running)
	b = wire.AppendInt(b, "failed", v.Failed)
	b = wire.AppendInt(b, "p50_ms", v.P50)
	return append(wire.AppendInt(b, "p95_ms", v.P95), '}')
}

func appendError(b []byte, e report.Error) []byte {
	b = wire.AppendInt(append(b, '{'), "version", e.Version)
	b = wire.AppendField(b, "name", e.Name)
	b = wire.AppendField(b, "message", e.Message)
	b = wire.AppendInt(b, "line", e.Line)
	b = wire.AppendInt(b, "column", e.Column)
	b = wire.AppendInt(b, "count", e.Count)
	b = wire.AppendTime(b, "first_at", e.FirstAt)
	return append(wire.AppendTime(b, "last_at", e.LastAt), '}')
}
