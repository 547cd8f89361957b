package client

import (
	"net/http"
	"slices"
	"strconv"
)

// CallOption changes a call; see [Client.With]. Options for changes have no effect on a call that only reads.
type CallOption struct {
	request func(*http.Request)
	answer  func(http.Header)
}

// With returns a client whose calls have the given options too:
//
//	var etag string
//	app, err := org.With(client.ETag(&etag)).GetApp(ctx, 7)
//	…
//	app, err = org.With(client.IfMatch(etag)).UpdateApp(ctx, 7, patch)
func (c *Client) With(options ...CallOption) *Client {
	with := *c
	with.callOptions = slices.Concat(c.callOptions, options)
	return &with
}

// With returns the organization with calls that have the given options too.
func (o *Organization) With(options ...CallOption) *Organization {
	return &Organization{at: endpoint{o.at.client.With(options...), o.at.path}}
}

// ETag stores the ETag of an answer in to. It names the state of the object in the answer.
func ETag(to *string) CallOption {
	return CallOption{answer: func(h http.Header) { *to = h.Get("ETag") }}
}

// IfMatch makes a change only if the object is still in the state that an ETag names. Otherwise the call returns an
// [Error] with the status 412.
func IfMatch(etag string) CallOption {
	return ofChange(func(r *http.Request) { r.Header.Set("If-Match", etag) })
}

func ofChange(set func(*http.Request)) CallOption {
	return CallOption{request: func(r *http.Request) {
		if r.Method != http.MethodGet {
			set(r)
		}
	}}
}

// DryRun checks a change and answers as if it had been made, but changes and sends nothing. An object that it would
// create has the id 0, or the UUID of zeros.
func DryRun() CallOption {
	return ofChange(func(r *http.Request) {
		query := r.URL.Query()
		query.Set("dry_run", "true")
		r.URL.RawQuery = query.Encode()
	})
}

// IdempotencyKey makes a change only once, however often it is sent with the same key within 24 hours. Each change
// needs a key of its own. Deletions send no key: net/http would resend them, and the object would not be found. Neither
// do AcceptInvitation and RequestSignIn.
func IdempotencyKey(key string) CallOption {
	return ofChange(func(r *http.Request) {
		if r.Method != http.MethodDelete {
			r.Header.Set("Idempotency-Key", strconv.Quote(key))
		}
	})
}

// Strict makes parameters and fields that the server does not know an error.
func Strict() CallOption {
	return CallOption{request: func(r *http.Request) { r.Header.Set("Prefer", "handling=strict") }}
}
