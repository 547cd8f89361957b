package markup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"
)

var script = mustRead("templates/console.js")

// ScriptPath is where pages find their script. It has the script's hash, so that browsers can
// keep it.
var ScriptPath = func() string {
	sum := sha256.Sum256([]byte(script))
	return "/console/" + hex.EncodeToString(sum[:6]) + ".js"
}()

// Script serves what pages can do besides with a script: everything works without it.
func Script() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader([]byte(script)))
	})
}
