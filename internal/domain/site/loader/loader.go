// Package loader is the script that the pages of a site have: it runs the apps that the
// site's manifest names.
package loader

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

//go:generate go run ./generate loader.ts loader.js

//go:embed loader.js
var compiled []byte

// Script is the loader for the pages of a site. It finds its server at the base url and
// its site by the token.
func Script(base, token string) []byte {
	js := bytes.Replace(compiled, []byte(`"{{base}}"`), literal(base), 1)
	return bytes.Replace(js, []byte(`"{{site}}"`), literal(token), 1)
}

// literal writes a text as a literal of JavaScript, with no character that HTML knows.
func literal(text string) []byte {
	quoted, _ := json.Marshal(text) // a text always can be
	return quoted
}
