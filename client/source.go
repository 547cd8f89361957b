package client

import (
	"context"
	"net/http"
)

// AppSource is an app and its source.
type AppSource struct {
	App
	// Source has the text of each file by name, and the bytes of pictures and fonts.
	Source Files `json:"source"`
	// SourceFiles has the result of compiling each file.
	SourceFiles []SourceFile `json:"source_files"`
	// Bundle is the compiled program; nil if there is none.
	Bundle *Bundle `json:"bundle"`
	// Disabled says why the app runs nowhere; nil if it is not disabled.
	Disabled *Off `json:"disabled"`
}

// SourceFile is a file of an app's source, with the result of compiling it.
type SourceFile struct {
	Filename string `json:"filename"`
	// Status is transpiled, error, or raw for a file that is not compiled.
	Status string `json:"status"`
	// Error says why it does not compile, at Line and Column, which count from 1.
	Error  string `json:"error"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Warning names code, with its place, that compiles but may not do what was meant.
	Warning string `json:"warning"`
	Size    int64  `json:"size"` // in bytes
	SHA256  string `json:"sha256"`
}

// Bundle is a compiled program, ready for a page.
type Bundle struct {
	URL string `json:"url"`
	// Integrity is for the script element's attribute of that name.
	Integrity string `json:"integrity"`
	Size      int64  `json:"size"` // in bytes
	// Inject says whether it exports inject, which the loader calls.
	Inject bool `json:"inject"`
}

// SourcePatch is a change of an app and its files.
type SourcePatch struct {
	AppPatch
	// Source has the new content of files by name; nil deletes a file. Other files stay.
	Source FileEdits `json:"source,omitempty"`
	// Message says what the change is for. It is stored with the new version.
	Message string `json:"message,omitempty"`
}

// GetSource reads an app with its files.
func (o *Organization) GetSource(ctx context.Context, id int64) (AppSource, error) {
	return ask[AppSource](ctx, o.at, http.MethodGet, appPath(id)+"/source", nil, nil)
}

// UpdateSource sets and deletes files of an app. A file that does not compile is stored without an error; SourceFiles
// says what is wrong.
func (o *Organization) UpdateSource(ctx context.Context, id int64, patch SourcePatch) (AppSource, error) {
	return ask[AppSource](ctx, o.at, http.MethodPatch, appPath(id)+"/update_source", nil, patch)
}
