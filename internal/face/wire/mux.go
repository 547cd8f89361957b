package wire

import (
	"net/http"
	"path"
	"strings"

	"foyer/internal/base/fault"
)

// Mux finds the handler of a path as http.ServeMux does, but never redirects. A trailing slash makes no difference, and
// a path that is not clean is not found.
type Mux struct{ patterns *http.ServeMux }

// notFoundPattern is the pattern of requests that no other one matches.
const notFoundPattern = "/"

// NewMux returns a Mux that answers 404 in JSON to every path.
func NewMux() *Mux {
	m := &Mux{http.NewServeMux()}
	m.patterns.HandleFunc(notFoundPattern, notFound)
	return m
}

// Handle registers the handler of a pattern without a method (see Methods). It panics if the pattern is wrong or has a
// handler already. A pattern that ends in a slash matches all paths below it; register the path without the slash too,
// or http.ServeMux redirects from there.
func (m *Mux) Handle(pattern string, h http.Handler) {
	named := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Pattern = pattern // the same with and without a slash, for logs and metrics
		h.ServeHTTP(w, r)
	})
	m.patterns.Handle(pattern, named)
	if !strings.HasSuffix(pattern, "/") && !strings.HasSuffix(pattern, "/{$}") {
		m.patterns.Handle(pattern+"/{$}", named)
	}
}

// ServeHTTP implements http.Handler.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !clean(r.URL.Path) { // OPTIONS * too
		r.Pattern = notFoundPattern
		notFound(w, r)
		return
	}
	m.patterns.ServeHTTP(w, r)
}

// clean reports whether a path is absolute and has no segment that is empty, . or .. (but it may end in a slash).
func clean(p string) bool {
	bare := strings.TrimSuffix(p, "/")
	return p == "/" || len(bare) > 1 && bare[0] == '/' && path.Clean(bare) == bare
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	WriteError(w, fault.New(fault.NotFound, "Not found."))
}
