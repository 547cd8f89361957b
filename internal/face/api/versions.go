package api

import (
	"math"
	"net/http"
	"strconv"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/source"
	"foyer/internal/face/wire"
)

func (a *API) checkForUpdates(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	p, age, err := a.Plugins.CheckForUpdates(r.Context(), c, pathID(r, "id"))
	if err != nil {
		return err
	}
	if age > 0 {
		w.Header().Set("Age", strconv.Itoa(int(math.Ceil(age.Seconds()))))
	}
	return a.writePlugin(w, http.StatusOK, p)
}

func readMove(o wire.Object) plugin.Move {
	return plugin.Move{Draft: readPlugin(o), Version: o.Choice("version"), AcceptChanged: o.Bool("accept_changed"), Commit: o.Text("commit")}
}

func (a *API) reviewUpgrade(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	q := r.URL.Query()
	tag, err := plainText(q, "tag")
	m := plugin.Move{Draft: plugin.Draft{Tag: patch.Field[string]{Set: true, Value: tag, Fault: err}}}
	if q.Has("version") {
		m.Version = patch.Of(q.Get("version"))
	}
	switch q.Get("accept_changed") {
	case "", "false":
	case "true":
		m.AcceptChanged = patch.Of(true)
	default:
		m.AcceptChanged.Fault = fault.Field(fault.Invalid, "accept_changed", "Must be true or false.")
	}
	review, err := a.Plugins.Review(r.Context(), c, pathID(r, "id"), m)
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return appendReview(b, review) })
}

func appendReview(b []byte, r plugin.Review) []byte {
	b = wire.AppendIntOrNull(append(b, '{'), "version", r.Number)
	b = wire.AppendField(b, "tag", r.Tag)
	b = wire.AppendField(b, "commit", r.Commit)
	b = wire.AppendJSON(b, "config_schema", r.Schema)
	if r.Bundle.SHA256 == "" {
		b = wire.AppendJSON(b, "bundle", "")
	} else {
		b = wire.AppendInt(append(wire.AppendName(b, "bundle"), '{'), "size", int64(r.Bundle.Size))
		b = wire.AppendBool(b, "inject", r.Bundle.Inject)
		b = append(wire.AppendBool(b, "kept", r.Keeps), '}')
	}
	return append(wire.AppendList(wire.AppendName(b, "files"), r.Files, appendDiff), '}')
}

// appendVersion appends a version of an app.
func appendVersion(b []byte, v plugin.Version) []byte {
	b = wire.AppendInt(append(b, '{'), "version", v.Number)
	b = wire.AppendField(b, "tag", v.Tag)
	b = wire.AppendField(b, "commit", v.Commit)
	b = wire.AppendField(b, "sha256", v.SHA256)
	b = wire.AppendField(b, "bundle_sha256", v.Bundle.SHA256)
	b = wire.AppendField(b, "message", v.Message)
	b = appendUserOrNull(b, "created_by", v.CreatedBy)
	b = wire.AppendTime(b, "created_at", v.CreatedAt)
	b = wire.AppendBool(b, "current", v.Current)
	return append(appendOff(b, "withdrawn", v.Withdrawn), '}')
}

func (a *API) getVersion(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	v, err := a.Plugins.Version(r.Context(), c, pathID(r, "id"), pathID(r, "version"))
	if err != nil {
		return err
	}
	return wire.WriteWithETag(w, http.StatusOK, a.etagOf(v), func(b []byte) []byte { // its config_schema never changes
		b = appendVersion(b, v)
		return append(wire.AppendJSON(b[:len(b)-1], "config_schema", v.Schema), '}')
	})
}

func (a *API) diffVersions(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	var against int64
	if q := r.URL.Query(); q.Has("against") {
		var err error
		if against, err = number("against", "the number of a version", q.Get("against")); err != nil {
			return err
		}
	}
	files, err := a.Plugins.Diff(r.Context(), c, pathID(r, "id"), pathID(r, "version"), against)
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte {
		return append(wire.AppendList(wire.AppendName(append(b, '{'), "files"), files, appendDiff), '}')
	})
}

func appendDiff(b []byte, f source.Diff) []byte {
	b = wire.AppendField(append(b, '{'), "filename", f.Name)
	return append(wire.AppendField(b, "diff", f.Diff), '}')
}
