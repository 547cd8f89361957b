package wire

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
)

// Fields are the names that an object may have, each with the names in its nested objects; * stands for all others. A
// field without nested names is not checked further: it is not an object, or may have any names.
type Fields map[string]Fields

// strict is the context value of a request in strict mode, which must ignore nothing.
type strict struct {
	fields Fields
	files  Fields
	faults fault.List
}

type strictKey struct{}

// WithStrict returns a request whose body may have no other fields than these. Unknown ones are refused together with
// the faults found before. If files is not nil, each top-level name with a dot is a file.
func WithStrict(r *http.Request, fields, files Fields, before fault.List) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), strictKey{}, strict{fields, files, before}))
}

// StrictFaults returns the faults that were found before the body was read.
func StrictFaults(r *http.Request) error {
	s, _ := strictOf(r)
	return s.faults.Err()
}

func strictOf(r *http.Request) (s strict, ok bool) {
	s, ok = r.Context().Value(strictKey{}).(strict)
	return s, ok
}

// refuseUnknown refuses the fields of an object that the operation does not have.
func refuseUnknown(r *http.Request, o Object) error {
	s, ok := strictOf(r)
	if !ok {
		return nil
	}
	s.object("", s.fields, o)
	return s.faults.Err()
}

// refuseUnknownOf is refuseUnknown for the items of a list. It names their fields with the index.
func refuseUnknownOf(r *http.Request, items []patch.Field[Object]) error {
	s, ok := strictOf(r)
	if !ok {
		return nil
	}
	for i, item := range items {
		s.object(strconv.Itoa(i)+".", s.fields, item.Value)
	}
	return s.faults.Err()
}

// object checks each field of the object at path against fields.
func (s *strict) object(path string, fields Fields, o Object) {
	for _, m := range o {
		if len(s.faults) >= maxFaults {
			return
		}
		at := path + shortened(m.Name)
		inside, ok := fields[m.Name]
		if !ok && path == "" && s.files != nil && strings.Contains(m.Name, ".") {
			inside, ok = s.files, true
		}
		if !ok {
			inside, ok = fields["*"]
		}
		switch {
		case !ok:
			s.faults.Add(fault.Field(fault.Invalid, at, "This operation has no such field."))
		case len(inside) > 0:
			s.value(at, inside, m.value)
		}
	}
}

// value checks the object at path, or the objects in the array there.
func (s *strict) value(path string, fields Fields, v value) {
	if v.kind() != '[' {
		s.members(path, fields, v)
		return
	}
	for i, item := range v.items() {
		s.members(path+"."+strconv.Itoa(i), fields, item)
	}
}

// members checks the object at path. It ignores other values.
func (s *strict) members(path string, fields Fields, v value) {
	if v.kind() != '{' {
		return
	}
	o, err := v.members()
	if err != nil {
		s.faults.Add(fault.Field(fault.Invalid, path, "%s", fault.Of(err)[0].Detail))
	}
	s.object(path+".", fields, o)
}
