package api

import (
	"context"
	"net/http"

	"foyer/internal/access"
	"foyer/internal/page"
	"foyer/internal/wire"
)

// reader reads a page of a list.
type reader[T any] func(context.Context, access.Caller, page.Page) (page.Found[T], error)

// list answers with the page that read reads, each item appended by item.
func list[T any](a *API, read reader[T], item func([]byte, T) []byte) handler {
	return func(w http.ResponseWriter, r *http.Request, c access.Caller) error {
		p, err := wire.ReadPage(r)
		if err != nil {
			return err
		}
		found, err := read(r.Context(), c, p)
		if err != nil {
			return err
		}
		return wire.WritePage(w, r, a.BaseURL, p, found, item)
	}
}
