package client

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is one error in a request.
type Fault struct {
	// Type and Code, such as validation_error and required, are for programs.
	Type string `json:"type"`
	Code string `json:"code"`
	// Detail tells people what is wrong and what would be right.
	Detail string `json:"detail"`
	// Attr is the field at fault, empty for none. A field of a list's item is INDEX.field, counted from 0.
	Attr string `json:"attr"`
}

// Error is an answer other than success.
type Error struct {
	Fault // the first of Errors

	// Errors has every fault found. It is empty if the answer came from a proxy, not from foyer.
	Errors []Fault `json:"errors"`
	// Status is the HTTP status. For an error that ends a stream it is 200, and Code says what happened.
	Status int `json:"-"`
	// RequestID names the request in the server's log.
	RequestID string `json:"-"`
	// RetryAfter is how long to wait; 0 if the server does not say.
	RetryAfter time.Duration `json:"-"`
}

const notFoyer = "the server does not answer as a foyer server"

// Error says what is wrong, each fault with its field.
func (e *Error) Error() string {
	if len(e.Errors) == 0 {
		return notFoyer + ": " + strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)
	}
	faults := make([]string, len(e.Errors))
	for i, f := range e.Errors {
		faults[i] = f.Detail
		if f.Attr != "" {
			faults[i] = f.Attr + ": " + f.Detail
		}
	}
	return strings.Join(faults, "; ")
}

// IsNotFound reports whether the organization or object does not exist or belongs to somebody else. A proxy's 404 does
// not count.
func IsNotFound(err error) bool { return isRefused(err, http.StatusNotFound) }

// IsDenied reports whether the scopes of the key or the level of its user are too low. A proxy's 403 does not count.
func IsDenied(err error) bool { return isRefused(err, http.StatusForbidden) }

// IsThrottled reports whether there were too many requests, invites or mails. A later retry may succeed.
func IsThrottled(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusTooManyRequests
}

// isRefused reports whether err is foyer's own answer with a status.
func isRefused(err error, status int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == status && len(e.Errors) > 0
}

func newError(response *http.Response, text []byte) *Error {
	var e Error
	nameless := func(f Fault) bool { return f.Code == "" } // every fault of foyer's has a code
	if json.Unmarshal(text, &e) != nil || slices.ContainsFunc(e.Errors, nameless) {
		e = Error{}
	}
	e.Status = response.StatusCode
	e.RequestID = response.Header.Get("X-Request-Id")
	e.RetryAfter = seconds(response.Header, "Retry-After")
	if at, err := http.ParseTime(response.Header.Get("Retry-After")); err == nil { // from a proxy: foyer sends seconds
		e.RetryAfter = max(0, time.Until(at))
	}
	return &e
}

// seconds reads a header with a whole number of seconds, and returns 0 for any other.
func seconds(h http.Header, name string) time.Duration {
	n, err := strconv.ParseInt(h.Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, int64(math.MaxInt64/time.Second))) * time.Second
}
