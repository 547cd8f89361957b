// Package client calls the API of a foyer server: an organization's frontend
// apps, and the invitations to join it.
//
// A [Client] holds the address of the server and a key; an [Organization] is
// where the operations are:
//
//	c, err := client.New("https://foyer.example.com", key)
//	…
//	for app, err := range c.Organization(client.Current).AllApps(ctx, client.AppFilter{}) {
//		…
//	}
//
// What a server refuses is an [*Error]. The client never retries: RetryAfter of an
// Error says when trying again makes sense. But net/http sends again what only reads, and
// what has an [IdempotencyKey], when a connection breaks that it had used before. Nor does the
// client follow a redirect, which would make a GET of a change.
//
// The module cannot be fetched: a program that uses the package names a checkout of
// foyer in its go.mod, with
//
//	require foyer v0.0.0
//	replace foyer => ../foyer
//
// and runs go mod tidy.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
)

const (
	// defaultTimeout is for a whole call; the longest is an install.
	defaultTimeout = 2 * time.Minute
	// maxAnswerBytes bounds what a server can make us hold in memory.
	maxAnswerBytes = 64 << 20
)

// Client calls one server with one key. It may be used from several goroutines
// at once.
type Client struct {
	base      string // without a trailing slash
	key       string
	http      *http.Client
	userAgent string
	asks      []Ask
}

// Option changes how a Client calls.
type Option func(*Client)

// WithHTTPClient makes calls through h instead of a client that gives up after
// two minutes.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) { c.http = cmp.Or(h, c.http) }
}

// WithUserAgent sets the User-Agent header of every request.
func WithUserAgent(name string) Option {
	return func(c *Client) { c.userAgent = name }
}

var errBaseURL = errors.New("the url of a server must be like https://foyer.example.com: http:// or https:// and a host, without a user, ? and #")

// New returns a client of the server at baseURL, such as
// https://foyer.example.com, that calls with the given API key.
func New(baseURL, key string, options ...Option) (*Client, error) {
	u, err := url.Parse(baseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || strings.ContainsAny(baseURL, "?#") {
		return nil, errBaseURL
	}
	c := &Client{
		base:      strings.TrimRight(baseURL, "/"),
		key:       key,
		http:      &http.Client{Timeout: defaultTimeout},
		userAgent: "foyer-client",
	}
	for _, option := range options {
		option(c)
	}
	direct := *c.http
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &direct
	return c, nil
}

// Current stands for the organization of the key; for a key that is not bound
// to one, for the organization its user joined first.
const Current = "@current"

// Organization is where the operations on one organization's apps, invites and
// members are.
type Organization struct{ at endpoint }

// endpoint is where a client's calls go.
type endpoint struct {
	client *Client
	path   string
}

// Organization returns the organization with the given id, or [Current]. It
// makes no call.
func (c *Client) Organization(id string) *Organization {
	return &Organization{at: endpoint{c, organizations + "/" + url.PathEscape(id)}}
}

func (c *Client) at(path string) endpoint { return endpoint{c, path} }

// unkeyed is at, for changes that need no key: they ignore an Idempotency-Key, for which net/http would send them again.
func (c *Client) unkeyed(path string) endpoint {
	return c.With(Ask{request: func(r *http.Request) { r.Header.Del("Idempotency-Key") }}).at(path)
}

// call sends body, unless it is nil, to a path below the endpoint's and decodes the answer into answer, unless that is nil.
func (e endpoint) call(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	_, err := e.exchange(ctx, method, path, query, body, answer)
	return err
}

// exchange is call; it returns the headers of the answer as well.
func (e endpoint) exchange(ctx context.Context, method, path string, query url.Values, body, answer any) (http.Header, error) {
	request, err := e.request(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	response, err := e.client.do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := readAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: read the answer: %w", method, request.URL.Path, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, newError(response, text)
	}
	for _, a := range e.client.asks {
		if a.answer != nil {
			a.answer(response.Header)
		}
	}
	if answer == nil {
		if response.StatusCode == http.StatusOK { // of another server: foyer's is 204 or 202
			return nil, errors.New(notFoyer)
		}
		return response.Header, nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, errors.New(notFoyer)
		}
		return nil, fmt.Errorf(notFoyer+": %s %s: %w", method, request.URL.Path, err)
	}
	if isForeign(text, reflect.ValueOf(answer).Elem()) {
		return nil, errors.New(notFoyer)
	}
	return response.Header, nil
}

// isForeign reports whether an answer is null, or an object without a field of what was asked for.
func isForeign(text []byte, answer reflect.Value) bool {
	var fields map[string]json.RawMessage
	switch {
	case !answer.IsZero():
		return false
	case answer.Kind() != reflect.Struct || json.Unmarshal(text, &fields) != nil:
		return true
	}
	return !slices.ContainsFunc(reflect.VisibleFields(answer.Type()), func(f reflect.StructField) bool {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		_, has := fields[name]
		return has
	})
}

// orForeign is for answers that show a secret: without it, they are of another server.
func orForeign(err error, secret string) error {
	if err == nil && secret == "" {
		return errors.New(notFoyer)
	}
	return err
}

// do sends a request. A redirect is not foyer's, and an error.
func (c *Client) do(request *http.Request) (*http.Response, error) {
	response, err := c.http.Do(request)
	if err != nil || response.StatusCode < 300 || response.StatusCode > 399 {
		return response, err
	}
	response.Body.Close()
	to, err := response.Location()
	if err != nil {
		return nil, newError(response, nil)
	}
	path := strings.TrimPrefix(request.URL.String(), c.base)
	if base, same := strings.CutSuffix(to.String(), path); same && !strings.ContainsAny(base, "?#") {
		return nil, fmt.Errorf("the server redirects to %s: use that url", base)
	}
	return nil, fmt.Errorf(notFoyer+": it redirects to %s", to)
}

// ask calls, and returns the answer.
func ask[T any](ctx context.Context, e endpoint, method, path string, query url.Values, body any) (T, error) {
	var answer T
	err := e.call(ctx, method, path, query, body, &answer)
	return answer, err
}

func (e endpoint) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	path = e.path + path
	if strings.Contains(path, "//") || strings.HasSuffix(path, "/") { // it would be another path
		return nil, fmt.Errorf("%s %s: an id is empty", method, path)
	}
	address := e.client.base + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	var content []byte
	if body != nil {
		var err error
		if content, err = encode(body); err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Authorization", "Bearer "+e.client.key)
	request.Header.Set("User-Agent", e.client.userAgent)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, a := range e.client.asks {
		if a.request != nil {
			a.request(request)
		}
	}
	return request, nil
}

// encode writes < > and & as they are: the server keeps JSON fields as they are sent, and bounds what it takes by its bytes.
func encode(body any) ([]byte, error) {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(body)
	return content.Bytes(), err
}

// readAll reads an answer, and fails if it is larger than any real one.
func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxAnswerBytes+1))
	if err == nil && len(text) > maxAnswerBytes {
		return nil, fmt.Errorf("more than %d bytes", maxAnswerBytes)
	}
	return text, err
}
