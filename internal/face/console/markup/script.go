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
	// Path is where pages find it. It has the script's hash, so that browsers can keep it.
	Path string
	wire.Kept
}

//go:embed templates/console.js
var enhancements string

// Enhancements is what all pages can do besides with a script.
var Enhancements = newScript("", []byte(enhancements), compress.New(func() []byte { return withoutComments(enhancements) }))

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
	return newScript(name, compressed, compress.Embedded(compressed))
}

func newScript(name string, of []byte, text compress.Text) Script {
	sum := sha256.Sum256(of)
	tag := hex.EncodeToString(sum[:6])
	return Script{"/console/" + name + tag + ".js", wire.Kept{Text: text, Tag: tag, MediaType: wire.JavaScript, CacheControl: wire.Forever}}
}
