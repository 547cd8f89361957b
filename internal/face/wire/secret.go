package wire

import "net/http"

// Secret keeps the answers of h out of caches, for every method. It also hides the path, which holds a secret, from
// linked sites.
func Secret(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		h.ServeHTTP(w, r)
	})
}
