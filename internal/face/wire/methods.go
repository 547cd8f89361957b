package wire

import (
	"net/http"
	"slices"
	"strings"

	"foyer/internal/base/fault"
)

// Methods answers one path; HEAD goes where GET does.
type Methods map[string]http.Handler

// Get answers a path that has only the method GET.
func Get(h http.Handler) Methods { return Methods{http.MethodGet: h} }

// ServeHTTP answers 405 to a method that the path does not have.
func (m Methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if h := m[method]; h != nil {
		h.ServeHTTP(w, r)
		return
	}
	allowed := strings.Join(m.allowed(), ", ")
	w.Header().Set("Allow", allowed)
	WriteError(w, fault.New(fault.MethodNotAllowed, "%s is not allowed here: use %s.", printable(r.Method), allowed))
}

// Known reports whether a method is one of RFC 9110 or RFC 5789. Clients may make up
// others, of any length.
func Known(method string) bool { return slices.Contains(methods, method) }

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodConnect, http.MethodOptions, http.MethodTrace,
}

func (m Methods) allowed() []string {
	var all []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		if m[method] == nil {
			continue
		}
		all = append(all, method)
		if method == http.MethodGet {
			all = append(all, http.MethodHead)
		}
	}
	return all
}

// printable is a request's method if it may be repeated in an answer.
func printable(method string) string {
	if len(method) > 20 {
		return "This method"
	}
	return method
}
