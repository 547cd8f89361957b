// Package fault names the ways a request can fail. Domain code returns faults;
// only package wire knows which HTTP status each kind becomes.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is a category of failure the caller can act on: one row of the table of
// errors in docs/api.md.
type Kind int

// Internal is the zero Kind: an unclassified failure is our own.
const (
	Internal Kind = iota
	NotAuthenticated
	AuthenticationFailed
	Denied
	NotFound
	MethodNotAllowed
	PreconditionFailed
	IdempotencyMismatch
	IdempotencyInProgress
	IdempotencySecretShown
	UnsupportedMediaType
	TooLarge
	Unparsable
	Required
	Null
	Blank
	TooLong
	Invalid
	InvalidChoice
	NotUnique
	AlreadyMember
	ContentChanged
	Throttled
	QuotaExceeded
	Expired
	Gone
	Busy
	Unavailable
	UpstreamUnavailable
	UpstreamTimeout
)

// Error is a failure whose Detail is safe to show to the caller.
type Error struct {
	Kind       Kind
	Field      string // the offending request field, if there is one
	Detail     string
	RetryAfter time.Duration // when a retry makes sense; 0: unknown
	Scope      string        // the scope that the key lacks, if that is the fault
	Cause      error         // only for the log, if there is more to know
}

func (e *Error) Error() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

// New returns a fault that blames no field.
func New(k Kind, format string, args ...any) error {
	return &Error{Kind: k, Detail: fmt.Sprintf(format, args...)}
}

// Field returns a fault that blames one request field.
func Field(k Kind, field, format string, args ...any) error {
	return &Error{Kind: k, Field: field, Detail: fmt.Sprintf(format, args...)}
}

// Enumerate lists the first texts, each shortened, for a Detail: people read it, and a response may have a thousand
// texts.
func Enumerate(all []string) string {
	const most = 20
	if len(all) == 0 {
		return "none"
	}
	var out strings.Builder
	for i, text := range all[:min(len(all), most)] {
		if i > 0 {
			out.WriteString(", ")
		}
		fmt.Fprintf(&out, "%.100s", text)
	}
	if len(all) > most {
		out.WriteString(" and others")
	}
	return out.String()
}

// Later returns a fault that goes away by itself after the given time.
func Later(k Kind, after time.Duration, format string, args ...any) error {
	return &Error{Kind: k, Detail: fmt.Sprintf(format, args...), RetryAfter: after}
}

// List is every fault found in one request, first things first.
type List []*Error //nolint:errname // reads fault.List where it is used

func (l List) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "; ")
}

// Add appends the faults inside err, which may be nil.
func (l *List) Add(err error) {
	if err != nil {
		*l = append(*l, Of(err)...)
	}
}

// Err returns l as an error: nil when it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Of returns the faults inside err, at least one. It turns any other error into an Internal fault that hides the error's
// text in its Cause.
func Of(err error) List {
	if l, ok := errors.AsType[List](err); ok && len(l) > 0 {
		return l
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return List{e}
	}
	return List{{Kind: Internal, Detail: "Something went wrong on our side.", Cause: err}}
}

// Is reports whether the first fault inside err is of kind k.
func Is(err error, k Kind) bool { return err != nil && Of(err)[0].Kind == k }

// IsOurs reports whether the first fault inside err is not the caller's, but ours or the database's.
func IsOurs(err error) bool { return Is(err, Internal) || Is(err, Unavailable) }
