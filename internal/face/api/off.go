package api

import (
	"net/http"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/face/wire"
)

func readReason(o wire.Object) patch.Field[string] { return o.Text("reason") }

func (a *API) withdrawVersion(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	o, err := wire.ReadObject(w, r, wire.MaxBody)
	if err != nil {
		return err
	}
	v, err := a.Plugins.Withdraw(r.Context(), c, pathID(r, "id"), plugin.Withdrawal{
		Number: pathID(r, "version"), Reason: o.Text("reason"), GoTo: o.Int("version"),
	})
	if err != nil {
		return err
	}
	return writeVersion(w, v)
}

func (a *API) restoreVersion(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	v, err := a.Plugins.Restore(r.Context(), c, pathID(r, "id"), pathID(r, "version"))
	if err != nil {
		return err
	}
	return writeVersion(w, v)
}

func writeVersion(w http.ResponseWriter, v plugin.Version) error {
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return appendVersion(b, v) })
}

// appendOff appends who disabled or withdrew something, and why; null if it is not off.
func appendOff(b []byte, name string, o plugin.Off) []byte {
	if !o.Is() {
		return wire.AppendJSON(b, name, "")
	}
	b = wire.AppendField(append(wire.AppendName(b, name), '{'), "reason", o.Reason)
	b = appendUserOrNull(b, "by", o.By)
	return append(wire.AppendTime(b, "at", o.At), '}')
}
