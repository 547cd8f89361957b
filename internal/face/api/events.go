package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/event"
	"foyer/internal/face/wire"
)

const (
	// maxWait is how long a caller may wait for the next event.
	maxWait = 60
	// eventsEvery is how often a waiting request polls for events. stillEvery is how often an idle stream sends a
	// keep-alive.
	eventsEvery = 500 * time.Millisecond
	stillEvery  = 15 * time.Second
	// partBytes is roughly how many bytes of events are read at once.
	partBytes = 1 << 20

	eventStream = "text/event-stream"
)

// eventQuery says which events a request asks for.
type eventQuery struct {
	after  int64
	limit  int
	wait   time.Duration
	stream bool
}

func readEventQuery(r *http.Request) (q eventQuery, err error) {
	var faults fault.List
	query := r.URL.Query()
	window, err := wire.ReadWindow(query)
	faults.Add(err)
	q.limit = window.Limit
	q.stream = wire.Accepts(r, "Accept", eventStream)
	after := query.Get("after")
	if id := r.Header.Get("Last-Event-ID"); id != "" && q.stream {
		after = id // a browser resumes where it was interrupted
	}
	if (after != "" || query.Has("after")) && after != "0" {
		q.after, err = number("after", "the sequence of an event, or 0", after)
		faults.Add(err)
	}
	if query.Has("wait") {
		seconds, err := strconv.ParseUint(query.Get("wait"), 10, 16)
		if err != nil || seconds > maxWait {
			faults.Add(fault.Field(fault.Invalid, "wait", "Must be a whole number of seconds, up to %d.", maxWait))
		}
		q.wait = time.Duration(seconds) * time.Second
	}
	return q, faults.Err()
}

// listEvents answers with the events after a sequence: the present ones, the first new ones, or a stream of all.
func (a *API) listEvents(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	q, err := readEventQuery(r)
	if err != nil {
		return err
	}
	if q.after, err = a.Events.Begin(r.Context(), c, q.after); err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		q.wait = 0
	}
	if q.stream || q.wait > 0 {
		leave, err := a.streams.enter(c.UserID)
		if err != nil {
			return err
		}
		defer leave()
	}
	if q.stream {
		a.streamEvents(w, r, c, q)
		return nil
	}
	events, next, _, err := a.Events.After(r.Context(), c, q.after, q.limit, page.MaxBytes)
	if err == nil && len(events) == 0 && q.wait > 0 {
		q.after = next
		events, next, err = a.awaitEvents(w, r, c, q)
	}
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte {
		b = wire.AppendList(wire.AppendName(append(b, '{'), "results"), events, func(b []byte, e event.Event) []byte { return e.Append(b) })
		return append(wire.AppendInt(b, "next", next), '}')
	})
}

// awaitEvents returns the first new events, or none when the time is over.
func (a *API) awaitEvents(w http.ResponseWriter, r *http.Request, c access.Caller, q eventQuery) (events []event.Event, next int64, err error) {
	to := http.NewResponseController(w)
	if err := to.SetWriteDeadline(time.Now().Add(q.wait + partTime)); err != nil { //nolint:forbidigo // of the connection, which has the clock of the machine
		return nil, q.after, err
	}
	over := time.NewTimer(q.wait)
	defer over.Stop()
	err = a.eachEvents(r, c, q, over.C, func(_ context.Context, found []event.Event, at int64) (goOn bool, err error) {
		events, next = found, at
		return len(found) == 0, nil
	})
	return events, max(next, q.after), err
}

// eachEvents passes events to take as they come, the present ones at once. It returns when take wants no more, the time
// is over, the client disconnects, or the caller may no longer see them. Between events, it holds no memory.
func (a *API) eachEvents(
	r *http.Request, c access.Caller, q eventQuery, over <-chan time.Time, take func(context.Context, []event.Event, int64) (goOn bool, err error),
) error {
	r = r.WithContext(event.Polling(r.Context()))
	mayStill := a.recheck(r, c, event.MaySee)
	for {
		goOn, more := false, false
		err := inflight.InPart(r.Context(), func(ctx context.Context) (err error) { //nolint:contextcheck // it is that of the request
			var events []event.Event
			if events, q.after, more, err = a.Events.After(ctx, c, q.after, q.limit, partBytes); err != nil {
				return err
			}
			goOn, err = take(ctx, events, q.after)
			return err
		})
		if err != nil || !goOn {
			return err
		}
		if !a.pause(r, over, more) {
			return nil
		}
		if err := mayStill(); err != nil {
			return err
		}
	}
}

// pause waits, unless there are more events already, and reports whether a long answer goes on.
func (a *API) pause(r *http.Request, over <-chan time.Time, more bool) bool {
	wait := eventsEvery
	if more {
		wait = 0
	}
	select {
	case <-time.After(wait):
		return true
	case <-over:
	case <-r.Context().Done():
	case <-a.Stopping:
	}
	return false
}

// streamEvents sends events as they come, in the format of browsers' EventSource. If the caller loses permission, the
// last event is an error's body.
func (a *API) streamEvents(w http.ResponseWriter, r *http.Request, c access.Caller, q eventQuery) {
	w.Header().Set("X-Accel-Buffering", "no") // otherwise nginx buffers some kilobytes
	beginLines(w, eventStream)
	if r.Method == http.MethodHead || sendLines(w, []byte(": events\n\n")) != nil { // or the client has disconnected
		return
	}
	sent := a.Keys.Now()
	err := a.eachEvents(r, c, q, nil, func(ctx context.Context, events []event.Event, _ int64) (bool, error) {
		var lines []byte
		for _, e := range events {
			lines = append(lines, "id: "+strconv.FormatInt(e.Sequence, 10)+"\nevent: "+e.Type+"\ndata: "...)
			lines = append(e.Append(lines), "\n\n"...)
		}
		now := a.Keys.Now()
		if len(lines) == 0 && now.Sub(sent).Abs() >= stillEvery {
			lines = []byte(":\n\n")
		}
		if len(lines) == 0 {
			return true, nil
		}
		sent = now
		if err := inflight.From(ctx).Take(len(lines)); err != nil {
			return false, err
		}
		return sendLines(w, lines) == nil, nil
	})
	if err != nil && r.Context().Err() == nil {
		a.Report(w, r, err)
		lines := append(wire.AppendError([]byte("event: error\ndata: "), err), "\n\n"...)
		_ = sendLines(w, lines) // fails if the client disconnected
	}
}
