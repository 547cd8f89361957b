package wire

import (
	"context"
	"net/http"
	"strconv"

	"foyer/internal/base/fault"
)

// strict is what a request knows that wants nothing ignored.
type strict struct {
	takes  func(field string) bool
	faults fault.List // of its query
}

type strictKey struct{}

// WithStrict returns a request of whose body a field is refused unless takes knows it, together
// with the faults found before.
func WithStrict(r *http.Request, takes func(field string) bool, before fault.List) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), strictKey{}, strict{takes, before}))
}

// StrictFaults returns the faults that were found before the body.
func StrictFaults(r *http.Request) error {
	s, _ := r.Context().Value(strictKey{}).(strict)
	return s.faults.Err()
}

// refuseUnknown names the fields of objects that nothing would read; those of many with their index.
func refuseUnknown(r *http.Request, many bool, objects ...Object) error {
	s, ok := r.Context().Value(strictKey{}).(strict)
	if !ok {
		return nil
	}
	faults := s.faults
	for i, o := range objects {
		for _, m := range o {
			if s.takes(m.Name) {
				continue
			}
			name := m.Name
			if many {
				name = strconv.Itoa(i) + "." + name
			}
			faults.Add(fault.Field(fault.Invalid, name, "This operation has no such field."))
		}
	}
	return faults.Err()
}
