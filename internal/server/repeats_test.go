package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A failure that goes on is logged once a minute, however often the server meets it; what is about a request is logged
// each time.
func TestFailureIsLoggedOnceAMinute(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	h := newRepeats(slog.NewTextHandler(&lines, nil))
	for second := range 130 {
		at := time.Unix(int64(second), 0)
		for _, level := range []slog.Level{slog.LevelInfo, slog.LevelError} {
			r := slog.NewRecord(at, level, "take a job", 0)
			r.AddAttrs(slog.String("error", "no connection"))
			if err := h.Handle(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		r := slog.NewRecord(at, slog.LevelError, "request failed", 0)
		r.AddAttrs(slog.String("request_id", "one"), slog.String("error", "no connection"))
		if err := h.Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	got := lines.String()
	for part, want := range map[string]int{
		`level=INFO msg="take a job"`: 130, `level=ERROR msg="take a job"`: 3, "repeated=59": 2, "request failed": 130,
	} {
		if n := strings.Count(got, part); n != want {
			t.Errorf("%d lines with %s, want %d", n, part, want)
		}
	}
}
