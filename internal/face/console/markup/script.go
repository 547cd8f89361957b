package markup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"foyer/internal/base/compress"
	"foyer/internal/face/wire"
)

// Script is a script of ours, for pages that work without it.
type Script struct {
	// Path is where pages find it. It has the script's hash, so that browsers can keep it.
	Path       string
	text       []byte
	compressed func() []byte // made when it is first asked for
}

// Enhancements is what all pages can do besides with a script.
var Enhancements = NewScript("", []byte(mustRead("templates/console.js")))

// NewScript returns the script of a text, whose path begins with a name.
func NewScript(name string, text []byte) Script {
	sum := sha256.Sum256(text)
	return Script{"/console/" + name + hex.EncodeToString(sum[:6]) + ".js", text, sync.OnceValue(func() []byte { return compress.Gzip(text) })}
}

// ServeHTTP answers with the script.
func (s Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	text := s.text
	if wire.AcceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		text = s.compressed()
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}
