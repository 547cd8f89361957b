// Package page is the window a list request looks through.
package page

import (
	"strings"

	"foyer/internal/base/fault"
)

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

// Peek is how many items to read: one after the page tells that there are more.
func (p Page) Peek() int { return p.Limit + 1 }

// Found is what is on a page.
type Found[T any] struct {
	Items []T
	Count int    // of the whole list
	More  bool   // come after these
	Last  string // names the last of these, for the next page's After; "": it has none
}

// Cut makes a page out of the items that were read for it, up to Peek, from a list
// of count. The count does not tell whether there are more: the list may have changed
// while somebody walks through it, which an Offset does not know.
func Cut[T any](items []T, p Page, count int, name func(T) string) Found[T] {
	f := Found[T]{Items: items[:min(len(items), p.Limit)], Count: count, More: len(items) > p.Limit}
	if n := len(f.Items); n > 0 {
		f.Last = name(f.Items[n-1])
	}
	return f
}

// Counted makes a page out of its items, from a list of count that has no names to go on after.
func Counted[T any](items []T, p Page, count int) Found[T] {
	more := len(items) > 0 && p.Offset+len(items) < count // no page leads to itself
	return Found[T]{Items: items, Count: count, More: more}
}

// Beyond reports whether the page begins at or after the end of a list of count.
func (p Page) Beyond(count int) bool { return p.After == "" && p.Offset >= count }

// MaxBytes is about how much the items of a page may weigh: a page ends early when
// its items are that large, and the next one goes on there.
const MaxBytes = 16 << 20

// First is the window of a request that names none.
var First = Page{Limit: DefaultLimit}

// Order is by what a list is ordered; the zero Order is its own.
type Order struct {
	By         string // name, created_at or updated_at
	Descending bool
}

// ParseOrder reads an order: a name, with - before it for the other way round.
func ParseOrder(text string) (o Order, err error) {
	o.By, o.Descending = strings.CutPrefix(text, "-")
	switch o.By {
	case "name", "created_at", "updated_at":
		return o, nil
	}
	return Order{}, fault.Field(fault.InvalidChoice, "ordering", "Must be name, created_at or updated_at, with - before it for the other way round.")
}

// Columns are those that the order is by, with commas between them: a name has a key, which is
// ordered byte by byte, and what is equal is ordered by id.
func (o Order) Columns() string {
	switch o.By {
	case "":
		return "id"
	case "name":
		return "name_key, id"
	}
	return o.By + ", id"
}

// SQL is what follows ORDER BY.
func (o Order) SQL() string {
	if o.Descending {
		return strings.ReplaceAll(o.Columns(), ",", " DESC,") + " DESC"
	}
	return o.Columns()
}
