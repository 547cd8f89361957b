package wire

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
)

// ReadPage reads limit and offset from a query, and the after of a next page's url.
func ReadPage(query url.Values) (page.Page, error) { return readPage(query, true) }

// ReadWindow is ReadPage for a list that has no after or uses it otherwise.
func ReadWindow(query url.Values) (page.Page, error) { return readPage(query, false) }

func readPage(query url.Values, cursors bool) (page.Page, error) {
	var faults fault.List
	p := page.First
	if query.Has("limit") {
		n, ok := wholeNumber(query.Get("limit"))
		if !ok || n == 0 {
			faults.Add(fault.Field(fault.Invalid, "limit", "Must be a whole number, 1 or more."))
		}
		p.Limit = min(n, page.MaxLimit)
	}
	if query.Has("offset") {
		n, ok := wholeNumber(query.Get("offset"))
		if !ok {
			faults.Add(fault.Field(fault.Invalid, "offset", "Must be a whole number, 0 or more."))
		}
		p.Offset = n
	}
	if cursors && query.Has("after") {
		offset, name, ok := strings.Cut(query.Get("after"), ".")
		if !ok {
			faults.Add(fault.Field(fault.Invalid, "after", "Must be as it is in the url of a next page."))
		}
		if offset == strconv.Itoa(p.Offset) { // otherwise the client changed the offset, and the offset counts
			p.After = name
		}
	}
	return p, faults.Err()
}

// ReadQuery reads the query string. It refuses a malformed one, while url.URL.Query silently drops the broken pairs.
func ReadQuery(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, malformedQuery(r.URL.RawQuery)
	}
	return query, nil
}

// malformedQuery says what is wrong with the first broken pair, and names its parameter if that is one of ours.
func malformedQuery(query string) error {
	for pair := range strings.SplitSeq(query, "&") {
		if _, err := url.ParseQuery(pair); err == nil {
			continue
		}
		name, _, _ := strings.Cut(pair, "=")
		if name != "limit" && name != "offset" && name != "after" {
			name = ""
		}
		if strings.Contains(pair, ";") {
			return fault.Field(fault.Invalid, name, "The query string has a ; in it: write & between parameters, and %%3B for the character itself.")
		}
		return fault.Field(fault.Invalid, name, "The query string has a %% without two hexadecimal digits after it: write %%25 for the character itself.")
	}
	return fault.New(fault.Invalid, "The query string has too many parameters.")
}

// maxNumber is the cap for parsed numbers; adding a limit to it does not overflow.
const maxNumber = math.MaxInt / 20

// wholeNumber reads a number of digits only: no sign, no exponent, no white space.
func wholeNumber(s string) (n int, ok bool) {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int(c-'0'), maxNumber)
	}
	return n, s != ""
}

// AppendList appends items as an array.
func AppendList[T any](b []byte, items []T, item func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, v)
	}
	return append(b, ']')
}

// WriteList sends items as an array.
func WriteList[T any](w http.ResponseWriter, items []T, item func([]byte, T) []byte) error {
	return Write(w, http.StatusOK, func(b []byte) []byte { return AppendList(b, items, item) })
}

// WritePage sends one page of a list: the number of items in all, the urls of the next and previous pages on baseURL, and
// the items of this page, each appended by item. The next page is also in a Link header (RFC 8288).
func WritePage[T any](w http.ResponseWriter, r *http.Request, baseURL string, p page.Page, f page.Found[T], item func([]byte, T) []byte) error {
	return WritePageAfter(w, r, func(b []byte) []byte { return b }, baseURL, p, f, item)
}

// WritePageAfter is WritePage for an object that begins with the members that before appends.
func WritePageAfter[T any](w http.ResponseWriter, r *http.Request, before func([]byte) []byte, baseURL string, p page.Page, f page.Found[T], item func([]byte, T) []byte) error {
	next, previous := "", ""
	if f.More {
		next = link(r, baseURL, page.Page{Limit: p.Limit, Offset: p.Offset + len(f.Items), After: f.Last})
		w.Header().Set("Link", "<"+next+`>; rel="next"`)
	}
	if p.Offset > 0 {
		previous = link(r, baseURL, page.Page{Limit: p.Limit, Offset: max(0, p.Offset-p.Limit)})
	}
	return Write(w, http.StatusOK, func(b []byte) []byte {
		b = AppendInt(before(append(b, '{')), "count", int64(f.Count))
		b = AppendFieldOrNull(b, "next", next)
		b = AppendFieldOrNull(b, "previous", previous)
		return append(AppendList(AppendName(b, "results"), f.Items, item), '}')
	})
}

// link returns the url of another page of the list that was requested.
func link(r *http.Request, baseURL string, p page.Page) string {
	q := r.URL.Query()
	q.Set("limit", strconv.Itoa(p.Limit))
	q.Set("offset", strconv.Itoa(p.Offset))
	if strings.Contains(q.Get("after"), ".") { // otherwise after is a filter of this list
		q.Del("after")
	}
	if p.After != "" {
		q.Set("after", strconv.Itoa(p.Offset)+"."+p.After)
	}
	return baseURL + r.URL.EscapedPath() + "?" + q.Encode()
}
