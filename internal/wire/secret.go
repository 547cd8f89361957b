package wire

import "net/http"

// Secret keeps what h answers out of caches, whatever the method, and the path,
// which holds a secret, from the sites that an answer leads to.
func Secret(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		h.ServeHTTP(w, r)
	})
}
