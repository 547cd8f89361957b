package client

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// Page is one page of a list.
type Page[T any] struct {
	// Count is the number of results on all pages.
	Count int `json:"count"`
	// Next and Previous are the urls of the neighbouring pages, empty at the ends. A page of large results may hold
	// fewer than its limit: the next one starts after the last of Results.
	Next     string `json:"next"`
	Previous string `json:"previous"`
	Results  []T    `json:"results"`
}

// AppPage is a page of a list below apps, with the app of its first result. Without results, the app is empty with the
// id 0.
type AppPage[T any] struct {
	App
	Page[T]
}

// Range chooses a page of a list. Its zero value is the first page, in the server's default size.
type Range struct {
	Limit  int // how many results at most, up to 1000; 0: 100
	Offset int // how many results to skip
}

// list reads one page, a Page or an AppPage, of the list at path.
func list[P any](ctx context.Context, e endpoint, path string, query url.Values, r Range) (P, error) {
	paged := url.Values{}
	setInt(paged, "limit", r.Limit)
	setInt(paged, "offset", r.Offset)
	maps.Copy(paged, query)
	return ask[P](ctx, e, http.MethodGet, path, paged, nil)
}

// all reads the whole list at path lazily, in pages of the maximum size. It ends after the first error.
func all[T any](ctx context.Context, e endpoint, path string, query url.Values) iter.Seq2[T, error] {
	first := url.Values{"limit": {"1000"}}
	maps.Copy(first, query)
	return func(yield func(T, error) bool) {
		for next := first; next != nil; {
			page, err := ask[Page[T]](ctx, e, http.MethodGet, path, next, nil)
			for _, result := range page.Results {
				if !yield(result, nil) {
					return
				}
			}
			if err == nil {
				next, err = following(next, page.Next)
			}
			if err != nil {
				yield(*new(T), err)
				return
			}
		}
	}
}

// following returns the query of the page after that of query, or nil after the last page. It ignores the rest of the
// url next: the server may call itself something else than the name we reach it under, and the key must go nowhere
// else. A page that is not further on is an error, or the list would never end.
func following(query url.Values, next string) (url.Values, error) {
	if next == "" {
		return nil, nil
	}
	u, err := url.Parse(next)
	if err != nil {
		return nil, fmt.Errorf("next page: %w", err)
	}
	further, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("next page: %w", err)
	}
	from, _ := strconv.Atoi(query.Get("offset")) // no offset is 0
	if to, err := strconv.Atoi(further.Get("offset")); err != nil || to <= from {
		return nil, fmt.Errorf("next page %q is not further on", next)
	}
	return further, nil
}
