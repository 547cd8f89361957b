// Package loader has the script for the pages of a site, which runs the apps in the site's manifest.
package loader

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

//go:generate go run ./generate loader.ts loader.js

//go:embed loader.js
var compiled []byte

// Script returns the loader for the pages of a site. It finds its server by the base url and its site by the token.
func Script(base, token string) []byte {
	js := bytes.Replace(compiled, []byte(`"{{base}}"`), literal(base), 1)
	return bytes.Replace(js, []byte(`"{{site}}"`), literal(token), 1)
}

// literal returns a text as a JavaScript literal, without characters that have a meaning in HTML.
func literal(text string) []byte {
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return quoted
}
