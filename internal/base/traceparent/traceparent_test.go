package traceparent_test

import (
	"strings"
	"testing"

	"foyer/internal/base/traceparent"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for header, want := range map[string]traceparent.Parent{
		"00-" + trace + "-" + span + "-01":       {Trace: trace, Span: span, Recorded: true},
		"00-" + trace + "-" + span + "-00":       {Trace: trace, Span: span},
		"00-" + trace + "-" + span + "-0a":       {Trace: trace, Span: span},
		"00-" + trace + "-" + span + "-ff":       {Trace: trace, Span: span, Recorded: true},
		"01-" + trace + "-" + span + "-01":       {Trace: trace, Span: span, Recorded: true},
		"cc-" + trace + "-" + span + "-01-extra": {Trace: trace, Span: span, Recorded: true},
	} {
		if got, ok := traceparent.Parse(header); got != want || !ok {
			t.Errorf("%s: %+v, %v", header, got, ok)
		}
	}
	for _, header := range []string{
		"", "nonsense",
		"ff-" + trace + "-" + span + "-01",
		"00-" + trace + "-" + span + "-01-extra",
		"01-" + trace + "-" + span + "-01extra",
		"00-" + trace + "-" + span,
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01",
		"00-" + strings.ToUpper(trace) + "-" + span + "-01",
		" 00-" + trace + "-" + span + "-01",
	} {
		if got, ok := traceparent.Parse(header); ok {
			t.Errorf("%q: %+v", header, got)
		}
	}
}
