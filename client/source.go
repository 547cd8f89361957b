package client

import (
	"context"
	"net/http"
)

// AppSource is an app and its source.
type AppSource struct {
	App
	// Source is the text of each file by its name, and the bytes of pictures and fonts.
	Source Files `json:"source"`
	// SourceFiles says how each file fared.
	SourceFiles []SourceFile `json:"source_files"`
	// Bundle is the compiled program; nil if there is none.
	Bundle *Bundle `json:"bundle"`
	// Disabled is why the app runs nowhere; nil if it is not disabled.
	Disabled *Off `json:"disabled"`
}

// SourceFile says how a file of an app's source fared.
type SourceFile struct {
	Filename string `json:"filename"`
	// Status is transpiled, error, or raw for a file that is not compiled.
	Status string `json:"status"`
	// Error is why it does not compile, at Line and Column, which count from 1.
	Error  string `json:"error"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Warning is what compiles, but may not be what was meant, with its place.
	Warning string `json:"warning"`
	Size    int64  `json:"size"` // in bytes
	SHA256  string `json:"sha256"`
}

// Bundle is a compiled program, ready for a page.
type Bundle struct {
	URL string `json:"url"`
	// Integrity is for the attribute of that name of a script element.
	Integrity string `json:"integrity"`
	Size      int64  `json:"size"` // in bytes
	// Inject is whether it exports inject, which the loader calls.
	Inject bool `json:"inject"`
}

// SourcePatch is what to change in an app and its files.
type SourcePatch struct {
	AppPatch
	// Source is the new content of each file by its name; nil deletes the file.
	// Files that are not named stay.
	Source FileEdits `json:"source,omitempty"`
	// Message says what the change is for; the version that it makes keeps it.
	Message string `json:"message,omitempty"`
}

// GetSource reads an app with its files.
func (o *Organization) GetSource(ctx context.Context, id int64) (AppSource, error) {
	return ask[AppSource](ctx, o.at, http.MethodGet, appPath(id)+"/source", nil, nil)
}

// UpdateSource sets and deletes files of an app. A file that does not compile is
// not an error: it is stored, and SourceFiles says what is wrong.
func (o *Organization) UpdateSource(ctx context.Context, id int64, patch SourcePatch) (AppSource, error) {
	return ask[AppSource](ctx, o.at, http.MethodPatch, appPath(id)+"/update_source", nil, patch)
}
