package wire_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/face/wire"
)

func readPage(query string) (page.Page, error) {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.URL.RawQuery = query
	values, err := wire.ReadQuery(r)
	if err != nil {
		return page.Page{}, err
	}
	return wire.ReadPage(values)
}

func TestReadPage(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]page.Page{
		"":                   {Limit: 100},
		"limit=1":            {Limit: 1},
		"limit=007&offset=0": {Limit: 7},
		"limit=1000":         {Limit: 1000},
		"limit=1001":         {Limit: 1000},
		"limit=99999999999999999999999999&offset=5": {Limit: 1000, Offset: 5},
		"x=y&offset=12":             {Limit: 100, Offset: 12},
		"offset=12&after=12.name.x": {Limit: 100, Offset: 12, After: "name.x"},
		"offset=13&after=12.name":   {Limit: 100, Offset: 13},
	} {
		if got, err := readPage(query); err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", query, got, err, want)
		}
	}
	for query, fields := range map[string]string{
		"limit=0": "limit", "limit=": "limit", "limit=-1": "limit", "limit=1e3": "limit", "limit=+5": "limit", "limit=%2B5": "limit",
		"limit=5.0": "limit", "limit=ten": "limit", "offset=-1": "offset", "offset=": "offset", "limit=x&offset=y": "limit offset",
		"limit=٣": "limit", "limit=%zz": "limit", "x=%zz": "", "limit=1;offset=2": "limit", "after=5": "after",
		"search=100%&limit=10": "", "a;b&limit=5": "", "offset=1&limit=%": "limit", "after=%&limit=1": "after", "nolimit=%": "",
	} {
		_, err := readPage(query)
		if err == nil || !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: got %v", query, err)
			continue
		}
		var blamed []string
		for _, f := range fault.Of(err) {
			blamed = append(blamed, f.Field)
		}
		if got := strings.Join(blamed, " "); got != fields {
			t.Errorf("%s: blames %q, want %q", query, got, fields)
		}
	}
}

// The error for a malformed query string says what is wrong and how to write it.
func TestMalformedQuery(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"search=100%&limit=10":             "The query string has a % without two hexadecimal digits after it: write %25 for the character itself.",
		"limit=1;offset=2":                 "The query string has a ; in it: write & between parameters, and %3B for the character itself.",
		strings.Repeat("a&", 20_000) + "b": "The query string has too many parameters.",
	} {
		if _, err := readPage(query); err == nil || fault.Of(err)[0].Detail != want {
			t.Errorf("%.30s: got %v, want %s", query, err, want)
		}
	}
}

func TestPageLinks(t *testing.T) {
	t.Parallel()
	links := func(target string, count int) string {
		r := httptest.NewRequest(http.MethodGet, target, nil)
		r.Host = "evil.example"
		p, err := wire.ReadPage(r.URL.Query())
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		none := func(b []byte, _ int) []byte { return append(b, '0') }
		items := make([]int, min(p.Limit, count-p.Offset))
		if err := wire.WritePage(w, r, "https://foyer.example/sub", p, page.Counted(items, p, count), none); err != nil {
			t.Fatal(err)
		}
		envelope, _, _ := strings.Cut(w.Body.String(), `,"results":[0`)
		return envelope
	}
	for _, c := range []struct {
		target string
		count  int
		want   string
	}{
		{"/a/", 100, `{"count":100,"next":null,"previous":null`},
		{"/a/", 101, `{"count":101,"next":"https://foyer.example/sub/a/?limit=100&offset=100","previous":null`},
		{
			"/a?limit=2&offset=3&q=%26", 6,
			`{"count":6,"next":"https://foyer.example/sub/a?limit=2&offset=5&q=%26","previous":"https://foyer.example/sub/a?limit=2&offset=1&q=%26"`,
		},
		{"/a?limit=2&offset=1", 3, `{"count":3,"next":null,"previous":"https://foyer.example/sub/a?limit=2&offset=0"`},
	} {
		if got := links(c.target, c.count); got != c.want {
			t.Errorf("%s: got %s, want %s", c.target, got, c.want)
		}
	}
}

func FuzzReadPage(f *testing.F) {
	f.Add("limit=1&offset=2")
	f.Add("limit=99999999999999999999&offset=18446744073709551616")
	f.Add("limit=%00;offset")
	f.Fuzz(func(t *testing.T, query string) {
		p, err := readPage(query)
		if err == nil && (p.Limit < 1 || p.Limit > page.MaxLimit || p.Offset < 0 || p.Offset > math.MaxInt-page.MaxLimit) {
			t.Errorf("%q: %+v", query, p)
		}
	})
}
