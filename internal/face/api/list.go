package api

import (
	"context"
	"net/http"

	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/face/wire"
)

// reader reads a page of a list.
type reader[T any] func(context.Context, access.Caller, page.Page) (page.Found[T], error)

// ask reads the page that a request asks for.
func (read reader[T]) ask(r *http.Request, c access.Caller) (p page.Page, found page.Found[T], err error) {
	if p, err = wire.ReadPage(r.URL.Query()); err == nil {
		found, err = read(r.Context(), c, p)
	}
	return p, found, err
}

// single answers with the object whose id is in the path, as do returns it.
func single[T any](do func(context.Context, access.Caller, int64) (T, error), status int, write func(http.ResponseWriter, int, T) error) handler {
	return func(w http.ResponseWriter, r *http.Request, c access.Caller) error {
		object, err := do(r.Context(), c, pathID(r, "id"))
		if err != nil {
			return err
		}
		return write(w, status, object)
	}
}

// change is single for a change whose draft is read from the body.
func change[D, T any](
	read func(wire.Object) D, do func(context.Context, access.Caller, int64, D) (T, error), status int, write func(http.ResponseWriter, int, T) error,
) handler {
	return func(w http.ResponseWriter, r *http.Request, c access.Caller) error {
		o, err := wire.ReadObject(w, r, wire.MaxBody)
		if err != nil {
			return err
		}
		object, err := do(r.Context(), c, pathID(r, "id"), read(o))
		if err != nil {
			return err
		}
		return write(w, status, object)
	}
}

// remove lets do remove the object whose id is in the path, and answers 204.
func remove(do func(context.Context, access.Caller, int64) error) handler {
	return func(w http.ResponseWriter, r *http.Request, c access.Caller) error {
		if err := do(r.Context(), c, pathID(r, "id")); err != nil {
			return err
		}
		return wire.WriteNothing(w)
	}
}

// fieldless checks that the body is an object, for a handler that needs none of its fields.
func fieldless(do handler) handler {
	return func(w http.ResponseWriter, r *http.Request, c access.Caller) error {
		if _, err := wire.ReadObject(w, r, wire.MaxBody); err != nil {
			return err
		}
		return do(w, r, c)
	}
}

// list answers with the page that read returns, each item appended by item.
func list[T any](a *API, read reader[T], item func([]byte, T) []byte) handler {
	return func(w http.ResponseWriter, r *http.Request, c access.Caller) error {
		p, found, err := read.ask(r, c)
		if err != nil {
			return err
		}
		return wire.WritePage(w, r, a.BaseURL, p, found, item)
	}
}

// listOf is list for items of the object whose id is in the path.
func listOf[T any](a *API, read func(context.Context, access.Caller, int64, page.Page) (page.Found[T], error), item func([]byte, T) []byte) handler {
	return func(w http.ResponseWriter, r *http.Request, c access.Caller) error {
		id := pathID(r, "id")
		return list(a, func(ctx context.Context, c access.Caller, p page.Page) (page.Found[T], error) {
			return read(ctx, c, id, p)
		}, item)(w, r, c)
	}
}
