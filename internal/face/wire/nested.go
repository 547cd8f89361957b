package wire

import (
	"encoding/base64"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
)

// Object reads an object as its members.
func (o Object) Object(name string) patch.Field[Object] {
	return read(o, name, "{", "an object", func(name string, v value) patch.Field[Object] {
		inner, err := v.members()
		if err != nil { // too many members; its syntax was checked before
			return refused[Object](name, fault.Of(err)[0].Detail)
		}
		return patch.Of(inner)
	})
}

// Content reads a member that is a string, an object with bytes as base64, or null. Its faults name the field name.
func (m Member) Content(name string) patch.Field[string] {
	o := Object{{Name: name, value: m.value}}
	if m.value.kind() != '{' {
		return o.Text(name)
	}
	const want = `Must be a string, or an object {"base64": "…"} with the bytes of a picture or font.`
	inner := o.Object(name)
	if inner.Fault != nil {
		return patch.Field[string]{Set: true, Fault: inner.Fault}
	}
	encoded := inner.Value.Text("base64")
	if len(inner.Value) != 1 || !encoded.Set || encoded.Null || encoded.Fault != nil {
		return refused[string](name, want)
	}
	content, err := base64.StdEncoding.Strict().DecodeString(encoded.Value)
	if err != nil {
		return refused[string](name, want)
	}
	return patch.Of(string(content))
}
