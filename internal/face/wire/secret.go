package wire

import "net/http"

// Secret keeps what h answers out of caches, whatever the method, and hides the path,
// which holds a secret, from sites that are linked to.
func Secret(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		h.ServeHTTP(w, r)
	})
}
