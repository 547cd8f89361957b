// Package editor is the script that makes an editor of a text area, on the page of a file alone.
package editor

import (
	_ "embed"

	"foyer/internal/face/console/markup"
)

//go:generate go run ../../../infra/bundle/npm editor.ts editor.js.gz

//go:embed editor.js.gz
var made []byte

// Script is the editor, with the packages that it is made of and their licences.
var Script = markup.EmbeddedScript("editor-", made)
