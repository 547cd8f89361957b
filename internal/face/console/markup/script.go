package markup

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the script
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"foyer/internal/base/compress"
	"foyer/internal/face/wire"
)

// Script is a script of ours, for pages that work without it.
type Script struct {
	// Path is where pages find it. It has the script's hash, so that browsers can keep it.
	Path string

	text compress.Text
}

//go:embed templates/console.js
var enhancements string

// Enhancements is what all pages can do besides with a script.
var Enhancements = Script{scriptPath("", []byte(enhancements)), compress.New(func() []byte { return withoutComments(enhancements) })}

// withoutComments leaves out indentation, and the lines that are comments: each page loads the script.
func withoutComments(script string) []byte {
	var short []byte
	for line := range strings.Lines(script) {
		if line = strings.TrimLeft(line, " "); !strings.HasPrefix(line, "//") {
			short = append(short, line...)
		}
	}
	return short
}

// EmbeddedScript returns the script of what go generate has compressed, whose path begins with a name.
func EmbeddedScript(name string, compressed []byte) Script {
	return Script{scriptPath(name, compressed), compress.Embedded(compressed)}
}

func scriptPath(name string, of []byte) string {
	sum := sha256.Sum256(of)
	return "/console/" + name + hex.EncodeToString(sum[:6]) + ".js"
}

// ServeHTTP answers with the script.
func (s Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	text := s.text.Plain
	if wire.AcceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		text = s.text.Compressed
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text()))
}
