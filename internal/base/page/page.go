// Package page describes which part of a list a request asks for.
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

// Page asks for at most Limit items after the first Offset. After, if set, names the item before them, so that the
// database skips none: a page at the end of a long list then costs as much as the first one.
type Page struct {
	Limit, Offset int
	After         string
}

// Skip returns how many items the database must skip.
func (p Page) Skip() int {
	if p.After != "" {
		return 0
	}
	return p.Offset
}

// Peek returns how many items to read: an item after the page shows that there are more.
func (p Page) Peek() int { return p.Limit + 1 }

// Found holds the items of a page.
type Found[T any] struct {
	Items []T
	Count int    // of the whole list
	More  bool   // there are items after these
	Last  string // name of the last of these, for the next page's After; "": it has none
}

// Cut makes a page from the items that were read for it, up to Peek, of a list with count items. The count does not tell
// whether there are more: the list may change while somebody pages through it, and an Offset does not follow that.
func Cut[T any](items []T, p Page, count int, name func(T) string) Found[T] {
	f := Found[T]{Items: items[:min(len(items), p.Limit)], Count: count, More: len(items) > p.Limit}
	if n := len(f.Items); n > 0 {
		f.Last = name(f.Items[n-1])
	}
	return f
}

// Counted makes a page from its items, of a list with count items that has no names for After.
func Counted[T any](items []T, p Page, count int) Found[T] {
	more := len(items) > 0 && p.Offset+len(items) < count // no page leads to itself
	return Found[T]{Items: items, Count: count, More: more}
}

// Beyond reports whether the page begins at or after the end of a list of count.
func (p Page) Beyond(count int) bool { return p.After == "" && p.Offset >= count }

// MaxBytes is the approximate size limit for the items of a page: a page ends early when its items reach it, and the next
// page continues there.
const MaxBytes = 16 << 20

// First is the page of a request that asks for none.
var First = Page{Limit: DefaultLimit}

// Order is the sort order of a list; the zero Order is the list's own.
type Order struct {
	By         string // name, created_at or updated_at
	Descending bool
}

// ParseOrder reads an order: a column name, with - before it for descending.
func ParseOrder(text string) (o Order, err error) {
	o.By, o.Descending = strings.CutPrefix(text, "-")
	switch o.By {
	case "name", "created_at", "updated_at":
		return o, nil
	}
	return Order{}, fault.Field(fault.InvalidChoice, "ordering", "Must be name, created_at or updated_at, with - before it to reverse the order.")
}

// Columns returns the columns to sort by, separated by commas. Names are sorted by their key, byte by byte, and equal
// rows by id.
func (o Order) Columns() string {
	switch o.By {
	case "":
		return "id"
	case "name":
		return "name_key, id"
	}
	return o.By + ", id"
}

// SQL returns the text after ORDER BY.
func (o Order) SQL() string {
	if o.Descending {
		return strings.ReplaceAll(o.Columns(), ",", " DESC,") + " DESC"
	}
	return o.Columns()
}
