// Package client calls the API of a foyer server: an organization's frontend
// apps, and the invitations to join it.
//
// A [Client] holds the address of the server and a key; an [Organization] has the operations:
//
//	c, err := client.New("https://foyer.example.com", key)
//	…
//	for app, err := range c.Organization(client.Current).AllApps(ctx, client.AppFilter{}) {
//		…
//	}
//
// The error for a refused request is an [*Error]. The client itself never retries: RetryAfter of an Error says when a
// retry makes sense. But net/http resends a GET, or a request with an [IdempotencyKey], when a reused connection
// breaks. The client follows no redirects, because a redirect may turn a change into a GET.
//
// The module cannot be downloaded. A program that uses this package must name a checkout of foyer in its go.mod, with
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
	// defaultTimeout covers a whole call; an install takes longest.
	defaultTimeout = 2 * time.Minute
	// maxAnswerBytes limits how much memory an answer can take.
	maxAnswerBytes = 64 << 20
)

// Client calls one server with one key. It may be used from several goroutines
// at once.
type Client struct {
	base        string // without a trailing slash
	key         string
	http        *http.Client
	userAgent   string
	callOptions []CallOption
}

// Option changes how a Client calls.
type Option func(*Client)

// WithHTTPClient makes calls through h instead of a client with a timeout of two minutes.
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

// Current stands for the organization that the key is bound to, or else for the one that its user joined first.
const Current = "@current"

// Organization has the operations on one organization's apps, sites, invites and members.
type Organization struct{ at endpoint }

// endpoint is a client and the path below which it calls.
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

// unkeyed is at for changes that need no key. It drops the Idempotency-Key, which the server ignores there but for
// which net/http would resend the request.
func (c *Client) unkeyed(path string) endpoint {
	return c.With(CallOption{request: func(r *http.Request) { r.Header.Del("Idempotency-Key") }}).at(path)
}

// call sends body to a path below the endpoint's and decodes the answer into answer. Both may be nil.
func (e endpoint) call(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	request, err := e.request(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	response, err := e.client.do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := readAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, request.URL.Path, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return newError(response, text)
	}
	for _, a := range e.client.callOptions {
		if a.answer != nil {
			a.answer(response.Header)
		}
	}
	if answer == nil {
		if response.StatusCode == http.StatusOK { // from another server: foyer answers 204 or 202
			return errors.New(notFoyer)
		}
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		if _, ok := errors.AsType[*json.SyntaxError](err); ok {
			return errors.New(notFoyer)
		}
		return fmt.Errorf(notFoyer+": %s %s: %w", method, request.URL.Path, err)
	}
	if isForeign(text, reflect.ValueOf(answer).Elem()) {
		return errors.New(notFoyer)
	}
	return nil
}

// isForeign reports whether an answer is null, or an object without any of the expected fields.
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

// orForeign is for answers that must show a secret: an answer without one is from another server.
func orForeign(err error, secret string) error {
	if err == nil && secret == "" {
		return errors.New(notFoyer)
	}
	return err
}

// do sends a request. A redirect is an error, because foyer never redirects.
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

// ask is call, but returns the decoded answer.
func ask[T any](ctx context.Context, e endpoint, method, path string, query url.Values, body any) (T, error) {
	var answer T
	err := e.call(ctx, method, path, query, body, &answer)
	return answer, err
}

func (e endpoint) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	path = e.path + path
	if strings.Contains(path, "//") || strings.HasSuffix(path, "/") { // it would name another path
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
	for _, a := range e.client.callOptions {
		if a.request != nil {
			a.request(request)
		}
	}
	return request, nil
}

// encode does not escape < > and &: the server stores JSON fields as sent, and limits them by their bytes.
func encode(body any) ([]byte, error) {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(body)
	return content.Bytes(), err
}

// readAll reads an answer, and fails if it is larger than any that foyer sends.
func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxAnswerBytes+1))
	if err == nil && len(text) > maxAnswerBytes {
		return nil, fmt.Errorf("more than %d bytes", maxAnswerBytes)
	}
	return text, err
}
