package client

import (
	"net/http"
	"strconv"
)

// Ask is what a call asks for beside its operation; see [Client.With]. What is asked of a change
// is not asked of a call that only reads.
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
func IfMatch(etag string) Ask {
	return ofChange(func(r *http.Request) { r.Header.Set("If-Match", etag) })
}

func ofChange(ask func(*http.Request)) Ask {
	return Ask{request: func(r *http.Request) {
		if r.Method != http.MethodGet {
			ask(r)
		}
	}}
}

// DryRun has a change make all its checks and answer as if it had been made, while nothing is
// changed or sent. What would be made has the id 0, or the UUID of zeros.
func DryRun() Ask {
	return ofChange(func(r *http.Request) {
		query := r.URL.Query()
		query.Set("dry_run", "true")
		r.URL.RawQuery = query.Encode()
	})
}

// IdempotencyKey has a change made once, however often it is sent with the same key within 24
// hours; each change needs a key of its own. A deletion takes none: net/http would send it again,
// and what has just been deleted would not be found. Nor do AcceptInvitation and RequestSignIn.
func IdempotencyKey(key string) Ask {
	return ofChange(func(r *http.Request) {
		if r.Method != http.MethodDelete {
			r.Header.Set("Idempotency-Key", strconv.Quote(key))
		}
	})
}

// Strict makes it an error if the server does not know a parameter or a field that is sent.
func Strict() Ask {
	return Ask{request: func(r *http.Request) { r.Header.Set("Prefer", "handling=strict") }}
}
