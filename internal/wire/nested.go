package wire

import (
	"foyer/internal/fault"
	"foyer/internal/patch"
)

// Object reads an object by its members.
func (o Object) Object(name string) patch.Field[Object] {
	f, v := field[Object](o, name)
	switch {
	case v == "":
		return f
	case v.kind() != '{':
		return wrong[Object](name, "an object", v)
	}
	inner, err := v.members()
	if err != nil { // too many; it was parsed before
		return refused[Object](fault.Invalid, name, fault.Of(err)[0].Detail)
	}
	return patch.Of(inner)
}

// Text reads a member that is a string or null; otherwise it blames name.
func (m Member) Text(name string) patch.Field[string] {
	return Object{{Name: name, value: m.value}}.Text(name)
}
