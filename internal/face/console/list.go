package console

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"foyer/client"
	"foyer/internal/base/fault"
)

// perPage is how many items of a list a page shows.
const perPage = 50

// List is a part of a list, and the ways to the parts around it.
type List[T any] struct {
	Frame
	Items          []T
	Count          int // of the whole list
	From, To       int // of these, counted from 1
	Previous, Next string
}

// list reads the part of a list that the query asks for. If the filter is refused, the page shows what was wrong with it,
// and no items.
func list[T any](v *visit, section string, read func(context.Context, client.Range) (client.Page[T], error)) (List[T], error) {
	part, err := v.part()
	if err != nil {
		return List[T]{}, err
	}
	page, err := read(v.ctx(), part)
	if err == nil && len(page.Results) == 0 && page.Count > 0 { // the last part is empty now
		part.Offset = (page.Count - 1) / perPage * perPage
		page, err = read(v.ctx(), part)
	}
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusBadRequest {
		v.refuse(*refused)
		return List[T]{Frame: v.frame(section)}, nil
	}
	if err != nil {
		return List[T]{}, err
	}
	l := List[T]{
		Frame: v.frame(section), Items: page.Results, Count: page.Count,
		From: part.Offset + 1, To: part.Offset + len(page.Results),
	}
	if part.Offset > 0 {
		l.Previous = v.at(max(0, part.Offset-perPage))
	}
	if page.Next != "" {
		l.Next = v.at(l.To)
	}
	return l, nil
}

// partOf returns a part of a list that was read as a whole.
func partOf[T any](all []T, part client.Range) client.Page[T] {
	from, to := min(part.Offset, len(all)), min(part.Offset+part.Limit, len(all))
	found := client.Page[T]{Count: len(all), Results: all[from:to]}
	if to < len(all) {
		found.Next = "more" // list makes its path
	}
	return found
}

// ofApps adapts a list below an app: its pages also carry the app.
func ofApps[T any](read func(context.Context, client.Range) (client.AppPage[T], error)) func(context.Context, client.Range) (client.Page[T], error) {
	return func(ctx context.Context, part client.Range) (client.Page[T], error) {
		page, err := read(ctx, part)
		return page.Page, err
	}
}

func (v *visit) part() (client.Range, error) {
	part := client.Range{Limit: perPage}
	if text := v.request.URL.Query().Get("offset"); text != "" {
		var err error
		if part.Offset, err = strconv.Atoi(text); err != nil || part.Offset < 0 {
			return client.Range{}, fault.Field(fault.Invalid, "offset", "Must be a whole number, 0 or more.")
		}
	}
	return part, nil
}

// at returns the path of this page with its list starting at another item.
func (v *visit) at(offset int) string {
	u, query := *v.request.URL, v.request.URL.Query()
	query.Set("offset", strconv.Itoa(offset))
	u.RawQuery = query.Encode()
	return v.console.prefix + u.RequestURI()
}
