package wire

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
)

// Fields are the names that an object may have, each with those of the objects in it; * stands for all
// others. Into what has none nobody looks: it is no object, or has whatever names its sender likes.
type Fields map[string]Fields

// strict is what a request knows that wants nothing ignored.
type strict struct {
	fields Fields
	files  Fields
	faults fault.List
}

type strictKey struct{}

// WithStrict returns a request of whose body a field is refused unless it is among fields, together
// with the faults found before. If there are fields of files, each name with a dot is that of one.
func WithStrict(r *http.Request, fields, files Fields, before fault.List) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), strictKey{}, strict{fields, files, before}))
}

// StrictFaults returns the faults that were found before the body.
func StrictFaults(r *http.Request) error {
	s, _ := strictOf(r)
	return s.faults.Err()
}

func strictOf(r *http.Request) (s strict, ok bool) {
	s, ok = r.Context().Value(strictKey{}).(strict)
	return s, ok
}

// refuseUnknown names the fields of an object that nothing would read.
func refuseUnknown(r *http.Request, o Object) error {
	s, ok := strictOf(r)
	if !ok {
		return nil
	}
	s.object("", s.fields, o)
	return s.faults.Err()
}

// refuseUnknownOf is refuseUnknown of the items of a list, whose fields it names with their index.
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

// object looks at each field of the object at path, which may have fields.
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

// value looks at the object that the value at path is, or at those in its array.
func (s *strict) value(path string, fields Fields, v value) {
	if v.kind() != '[' {
		s.members(path, fields, v)
		return
	}
	for i, item := range v.items() {
		s.members(path+"."+strconv.Itoa(i), fields, item)
	}
}

// members looks at the object that the value at path is; if it is none, at nothing.
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
