package client

import "net/http"

// Ask is what a call asks for beside its operation; see [Client.With].
type Ask struct {
	request func(*http.Request)
	answer  func(http.Header)
}

// With returns a client whose calls ask for all of asks:
//
//	var etag string
//	app, err := org.With(client.ETag(&etag)).GetApp(ctx, 7)
//	…
//	app, err = org.With(client.IfMatch(etag)).UpdateApp(ctx, 7, patch)
func (c *Client) With(asks ...Ask) *Client {
	with := *c
	with.asks = append(append([]Ask{}, c.asks...), asks...)
	return &with
}

// With returns the organization, with calls that ask for all of asks.
func (o *Organization) With(asks ...Ask) *Organization {
	return &Organization{at: endpoint{o.at.client.With(asks...), o.at.path}}
}

// ETag keeps the ETag of an answer in to: it names the object as it was answered.
func ETag(to *string) Ask {
	return Ask{answer: func(h http.Header) { *to = h.Get("ETag") }}
}

// IfMatch has a change made only if the object is still as an ETag names it. Otherwise the
// answer is an [Error] with the status 412.
func IfMatch(etag string) Ask { return header("If-Match", etag) }

func header(name, value string) Ask {
	return Ask{request: func(r *http.Request) { r.Header.Set(name, value) }}
}
