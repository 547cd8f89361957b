// Package page is the window a list request looks through.
package page

// Limits of a window.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Page asks for at most Limit items, skipping the first Offset.
type Page struct{ Limit, Offset int }

// First is the window of a request that names none.
var First = Page{Limit: DefaultLimit}
