// Package router finds the handler of a path.
package router

import (
	"net/http"
	"net/url"
	"strings"
)

// Router finds handlers by patterns, much as http.ServeMux does, but redirects nobody: a
// path with a slash at its end is the one without, and one that is not clean is none.
// Methods are left to the handlers. The zero Router has no patterns.
type Router struct{ root node }

// node is where the first segments of a path lead.
type node struct {
	next  map[string]*node // by the next segment; wildcard: by any other
	exact *route           // of the path that ends here
	below *route           // of that and longer ones, if they have no other
}

const wildcard = "" // which no segment is

type route struct {
	pattern   string
	wildcards []string // names
	handler   http.Handler
}

// Handle registers the handler of a pattern, which requests then have as their Pattern. A
// segment like {id} is any one segment but those that other patterns have there by name:
// r.PathValue("id") is its value. "/a/" is /a and all below it that have no other pattern,
// and "/{$}" the root alone. Handle panics if the pattern is none, or has a handler.
func (rt *Router) Handle(pattern string, h http.Handler) {
	path, exact := strings.CutSuffix(pattern, "{$}")
	if !clean(path) {
		panic("router: " + pattern + " is no pattern")
	}
	path, slash := strings.CutSuffix(path, "/")
	added := &route{pattern: pattern, handler: h}
	n := &rt.root
	for path != "" {
		var segment string
		segment, path = cut(path)
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			added.wildcards = append(added.wildcards, strings.TrimSuffix(name, "}"))
			segment = wildcard
		}
		n = n.grow(segment)
	}
	place := &n.exact
	if slash && !exact {
		place = &n.below
	}
	if *place != nil {
		panic("router: " + pattern + " and " + (*place).pattern + " are the same")
	}
	*place = added
}

// clean reports whether a path is absolute, and none of its segments is empty, . or ..
// except that it may end in a slash.
func clean(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.Contains(path, "//") &&
		!strings.Contains(path, "/./") && !strings.Contains(path, "/../") &&
		!strings.HasSuffix(path, "/.") && !strings.HasSuffix(path, "/..")
}

// grow returns the node after one more segment.
func (n *node) grow(segment string) *node {
	if n.next == nil {
		n.next = map[string]*node{}
	}
	if n.next[segment] == nil {
		n.next[segment] = &node{}
	}
	return n.next[segment]
}

// ServeHTTP implements http.Handler.
func (rt *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var memory [4]string
	found, values := rt.find(r.URL, memory[:0])
	if found == nil {
		http.NotFound(w, r)
		return
	}
	r.Pattern = found.pattern
	for i, name := range found.wildcards {
		r.SetPathValue(name, values[i])
	}
	found.handler.ServeHTTP(w, r)
}

// find returns the route of a path, and appends the values of its wildcards.
func (rt *Router) find(u *url.URL, values []string) (*route, []string) {
	n, found := &rt.root, rt.root.below
	if !clean(u.Path) {
		return found, values
	}
	path, escaped := u.Path, u.RawPath != ""
	if escaped { // a segment may contain a slash
		path = u.EscapedPath()
	}
	for path = strings.TrimSuffix(path, "/"); path != ""; {
		var segment string
		segment, path = cut(path)
		if escaped {
			segment, _ = url.PathUnescape(segment) // cannot fail
		}
		next := n.next[segment]
		if next == nil {
			next, values = n.next[wildcard], append(values, segment)
		}
		if next == nil {
			return found, values
		}
		if n = next; n.below != nil {
			found = n.below
		}
	}
	if n.exact != nil {
		found = n.exact
	}
	return found, values
}

// cut cuts a path after its first segment; it begins with a slash, as what remains does.
func cut(path string) (segment, rest string) {
	if end := strings.IndexByte(path[1:], '/'); end >= 0 {
		return path[1 : 1+end], path[1+end:]
	}
	return path[1:], ""
}
