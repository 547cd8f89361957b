package api

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/source"
	"foyer/internal/face/wire"
)

func (a *API) getSource(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	s, err := a.Plugins.Source(r.Context(), c, pathID(r, "id"))
	if err != nil {
		return err
	}
	return a.writeSource(w, s)
}

func (a *API) updateSource(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxSourceBody)
	if err != nil {
		return err
	}
	d := readPlugin(o)
	d.Message = o.Text("message")
	s, err := a.Plugins.UpdateSource(r.Context(), c, pathID(r, "id"), d, readEdits(o))
	if err != nil {
		return err
	}
	return a.writeSource(w, s)
}

// readEdits reads the members of source, and the body's members whose name has a dot.
func readEdits(o wire.Object) []source.Edit {
	const field = "source"
	given := o.Object(field)
	edits := make([]source.Edit, 0, len(given.Value))
	if given.Fault != nil { // reported with the other faults
		edits = append(edits, source.Edit{Field: field, Name: field, Text: patch.Field[string]{Set: true, Fault: given.Fault}})
	}
	for _, m := range given.Value {
		edits = append(edits, source.Edit{Field: field, Name: m.Name, Text: m.Content(field)})
	}
	for _, m := range o {
		if strings.Contains(m.Name, ".") {
			edits = append(edits, source.Edit{Field: m.Name, Name: m.Name, Text: m.Content(m.Name)})
		}
	}
	return edits
}

func (a *API) writeSource(w http.ResponseWriter, s plugin.Sources) error {
	return wire.WriteWithETag(w, http.StatusOK, a.appETag(s.Plugin), func(b []byte) []byte { return a.appendSource(b, s) })
}

func (a *API) appendSource(b []byte, s plugin.Sources) []byte {
	b = appendPluginFields(append(b, '{'), s.Plugin)
	b = append(wire.AppendName(b, "source"), '{')
	for i, f := range s.Files {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendContent(append(wire.AppendString(b, f.Name), ':'), f.Text)
	}
	b = wire.AppendList(wire.AppendName(append(b, '}'), "source_files"), s.Files, appendFile)
	b = a.appendBundle(wire.AppendName(b, "bundle"), s)
	return append(appendOff(b, "disabled", s.Disabled), '}')
}

// appendContent appends a file's text or, if it is not text, its bytes.
func appendContent(b []byte, content string) []byte {
	if utf8.ValidString(content) && !strings.Contains(content, "\x00") {
		return wire.AppendString(b, content)
	}
	b = append(b, `{"base64":"`...)
	b = base64.StdEncoding.AppendEncode(b, []byte(content))
	return append(b, `"}`...)
}

func appendFile(b []byte, f source.File) []byte {
	b = wire.AppendField(append(b, '{'), "filename", f.Name)
	b = wire.AppendField(b, "status", string(f.Status))
	b = wire.AppendField(b, "error", f.Error)
	b = wire.AppendInt(b, "line", int64(f.Line))
	b = wire.AppendInt(b, "column", int64(f.Column))
	b = wire.AppendField(b, "warning", f.Warning)
	b = wire.AppendInt(b, "size", int64(f.Size))
	return append(wire.AppendField(b, "sha256", f.SHA256), '}')
}

func (a *API) appendBundle(b []byte, s plugin.Sources) []byte {
	if s.Bundle.SHA256 == "" {
		return append(b, "null"...)
	}
	url := "" // a dry run makes no token
	if s.PublicToken != "" {
		url = a.BaseURL + "/apps/" + s.PublicToken + "/" + s.Bundle.SHA256 + ".js"
	}
	b = wire.AppendField(append(b, '{'), "url", url)
	b = wire.AppendField(b, "integrity", s.Bundle.Integrity)
	b = wire.AppendInt(b, "size", int64(s.Bundle.Size))
	return append(wire.AppendBool(b, "inject", s.Bundle.Inject), '}')
}
