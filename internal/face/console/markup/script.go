package markup

import (
	"crypto/sha256"
	_ "embed" // the script
	"encoding/hex"
	"strings"

	"foyer/internal/base/compress"
	"foyer/internal/face/wire"
)

// Script is a script of ours, for pages that work without it.
type Script struct {
	// Path is the script's path. It contains the script's hash, so that browsers can cache it.
	Path string
	wire.Kept
}

//go:embed templates/console.js
var enhancements string

// Enhancements is the script of all pages.
var Enhancements = newScript("", []byte(enhancements), compress.New(func() []byte { return withoutComments(enhancements) }))

// withoutComments removes indentation, and comment lines: each page loads the script.
func withoutComments(script string) []byte {
	var short []byte
	for line := range strings.Lines(script) {
		if line = strings.TrimLeft(line, " "); !strings.HasPrefix(line, "//") {
			short = append(short, line...)
		}
	}
	return short
}

// EmbeddedScript returns a script that go generate has compressed. Its path begins with name.
func EmbeddedScript(name string, compressed []byte) Script {
	return newScript(name, compressed, compress.Embedded(compressed))
}

func newScript(name string, of []byte, text compress.Text) Script {
	sum := sha256.Sum256(of)
	tag := hex.EncodeToString(sum[:6])
	return Script{"/console/" + name + tag + ".js", wire.Kept{Text: text, Tag: tag, MediaType: wire.JavaScript, CacheControl: wire.Forever}}
}
