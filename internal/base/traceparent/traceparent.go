// Package traceparent reads the header that says which trace a request is part of
// (https://www.w3.org/TR/trace-context/#traceparent-header).
package traceparent

import (
	"regexp"
	"strings"
	"sync"
)

// Parent is the span that made a request.
type Parent struct {
	Trace    string // 32 digits
	Span     string // 16 digits
	Recorded bool
}

// form matches version 00; later versions may add fields.
var form = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]([0-9a-f])(-.*)?$`)
})

// Parse reads a header; ok is false if it is not valid.
func Parse(header string) (p Parent, ok bool) {
	m := form().FindStringSubmatch(header)
	if m == nil || m[1] == "ff" || m[1] == "00" && m[5] != "" || zeros(m[2]) || zeros(m[3]) {
		return Parent{}, false
	}
	return Parent{Trace: m[2], Span: m[3], Recorded: strings.Contains("13579bdf", m[4])}, true
}

func zeros(digits string) bool { return strings.Trim(digits, "0") == "" }
