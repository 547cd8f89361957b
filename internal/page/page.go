// Package page is the window a list request looks through.
package page

// Limits of a window.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Page asks for at most Limit items, skipping the first Offset. When After is set,
// it names the item before them, so that none need be skipped: a page at the end
// of a long list then costs what the first one does.
type Page struct {
	Limit, Offset int
	After         string
}

// Skip is how many items the database must skip.
func (p Page) Skip() int {
	if p.After != "" {
		return 0
	}
	return p.Offset
}

// MaxBytes is about how much the items of a page may weigh: a page ends early when
// its items are that large, and the next one goes on there.
const MaxBytes = 16 << 20

// First is the window of a request that names none.
var First = Page{Limit: DefaultLimit}
