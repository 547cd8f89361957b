package server

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"
)

// repeats lets the same warning or error through once a minute, with how often it was left out since: while the database
// is away, each part of the server would otherwise say so twice a second. Lines about requests differ by their ids.
type repeats struct {
	slog.Handler

	mu   sync.Mutex
	said map[string]*repeated
}

type repeated struct {
	at      time.Time
	leftOut int
}

const repeatEvery = time.Minute

func newRepeats(h slog.Handler) *repeats { return &repeats{Handler: h, said: map[string]*repeated{}} }

// Handle implements slog.Handler.
func (h *repeats) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return h.Handler.Handle(ctx, r)
	}
	var text strings.Builder
	text.WriteString(r.Message)
	ofRequest := false
	r.Attrs(func(a slog.Attr) bool {
		ofRequest = a.Key == "request_id"
		text.WriteString(" " + a.String())
		return !ofRequest
	})
	if ofRequest {
		return h.Handler.Handle(ctx, r)
	}
	h.mu.Lock()
	last := h.said[text.String()]
	if last != nil && r.Time.Sub(last.at).Abs() < repeatEvery {
		last.leftOut++
		h.mu.Unlock()
		return nil
	}
	if last != nil && last.leftOut > 0 {
		r.AddAttrs(slog.Int("repeated", last.leftOut))
	}
	maps.DeleteFunc(h.said, func(_ string, s *repeated) bool { return r.Time.Sub(s.at).Abs() >= 2*repeatEvery })
	h.said[text.String()] = &repeated{at: r.Time}
	h.mu.Unlock()
	return h.Handler.Handle(ctx, r)
}
