// Package editor has the script that turns the text area into an editor, on the page of a file alone.
package editor

import (
	_ "embed"

	"foyer/internal/face/console/markup"
)

//go:generate go run ../../../infra/bundle/npm editor.ts editor.js.gz

//go:embed editor.js.gz
var made []byte

// Script is the editor, with its packages and their licences.
var Script = markup.EmbeddedScript("editor-", made)
