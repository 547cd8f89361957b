// Package editor is the script that makes an editor of a text area, on the page of a file alone.
package editor

import (
	_ "embed"

	"foyer/internal/face/console/markup"
)

//go:generate go run ../../../infra/bundle/npm editor.ts editor.js

//go:embed editor.js
var made []byte

// Script is the editor, with the packages that it is made of and their licences.
var Script = markup.NewScript("editor-", made)
