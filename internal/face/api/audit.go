package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/base/inflight"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/face/wire"
)

// listAudit answers with the organization's activity: a page, or a stream of all.
func (a *API) listAudit(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	var faults fault.List
	query := r.URL.Query()
	p, err := wire.ReadWindow(query)
	faults.Add(err)
	f, err := auditFilter(query)
	faults.Add(err)
	if err := faults.Err(); err != nil {
		return err
	}
	if wire.Accepts(r, "Accept", ndjson) {
		return a.streamAudit(w, r, c, f)
	}
	found, err := a.Organizations.Activity(r.Context(), c, f, p)
	if err != nil {
		return err
	}
	return wire.WritePage(w, r, a.BaseURL, p, found, AppendAudit)
}

// notEmpty refuses filters without a value.
func notEmpty(q url.Values, names ...string) error {
	var faults fault.List
	for _, name := range names {
		if q.Has(name) && q.Get(name) == "" {
			faults.Add(fault.Field(fault.Invalid, name, "Must not be empty."))
		}
	}
	return faults.Err()
}

func auditFilter(q url.Values) (f activity.Filter, err error) {
	var faults fault.List
	faults.Add(notEmpty(q, "scope", "activity", "user", "item_id", "key_id", "after"))
	if text := q.Get("scope"); text != "" {
		scope, err := activity.ParseScope(text)
		faults.Add(err)
		f.Scopes = []activity.Scope{scope}
	}
	if text := q.Get("activity"); text != "" {
		f.Verb, err = activity.ParseVerb(text)
		faults.Add(err)
	}
	if text := q.Get("user"); strings.Contains(text, "@") {
		f.UserEmail, err = org.ParseEmail("user", text)
		faults.Add(err)
	} else if text != "" {
		f.UserID, err = number("user", "the id of a user, a whole number, or an e-mail address", text)
		faults.Add(err)
	}
	f.ItemID, err = plainText(q, "item_id")
	faults.Add(err)
	if text := q.Get("key_id"); text != "" {
		f.KeyID, err = number("key_id", "the id of a key, a whole number", text)
		faults.Add(err)
	}
	if text := q.Get("after"); text != "" && text != "0" {
		f.After, err = number("after", "the number of an entry, or 0", text)
		faults.Add(err)
	}
	f.Since, err = moment(q, "since")
	faults.Add(err)
	f.Until, err = moment(q, "until")
	faults.Add(err)
	return f, faults.Err()
}

// plainText reads a parameter and refuses text that databases do not take.
func plainText(q url.Values, field string) (string, error) {
	text := q.Get(field)
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return "", fault.Field(fault.Invalid, field, "Must be text in UTF-8, without NUL characters.")
	}
	return text, nil
}

func number(field, what, text string) (int64, error) {
	n := patch.ID(text)
	if n == 0 {
		return 0, fault.Field(fault.Invalid, field, "Must be %s.", what)
	}
	return n, nil
}

// moment reads a time, and rounds it up to a microsecond, as times are stored: nothing lies in between.
func moment(q url.Values, field string) (time.Time, error) {
	if !q.Has(field) {
		return time.Time{}, nil
	}
	at, ok := readTime(q.Get(field))
	if !ok {
		return time.Time{}, fault.Field(fault.Invalid, field, "Must be a time like 2026-11-23T09:30:00Z (RFC 3339); write %%2B for a +.")
	}
	return at.Add(time.Microsecond - 1).Truncate(time.Microsecond), nil
}

// AppendAudit appends an entry as admins see it. The command line shows the same.
func AppendAudit(b []byte, e activity.Stored) []byte {
	b = appendEntry(append(b, '{'), e)
	b = wire.AppendIntOrNull(b, "key_id", e.KeyID)
	b = wire.AppendIntOrNull(b, "session_id", e.SessionID)
	b = wire.AppendField(b, "address", e.Address)
	b = wire.AppendIntOrNull(b, "number", e.Number)
	b = wire.AppendFieldOrNull(b, "hash", e.Hash)
	return append(wire.AppendBool(b, "erased", e.Erased), '}')
}

const ndjson = "application/x-ndjson"

const (
	maxStreams   = 4               // of a user at once
	streamBytes  = 4 << 20         // roughly the memory of a stream
	recheckEvery = 2 * time.Second // how often a stream rechecks its caller's permissions
	partTime     = time.Minute     // for the client to read a part
)

// errStopped ends a stream whose client has stopped reading.
var errStopped = errors.New("the client takes no more")

// streamAudit sends all entries, one per line. If the caller loses permission or something fails, the last line is an
// error's body.
func (a *API) streamAudit(w http.ResponseWriter, r *http.Request, c access.Caller, f activity.Filter) error {
	leave, err := a.streams.enter(c.UserID)
	if err != nil {
		return err
	}
	defer leave()
	if err := wire.Hold(w, streamBytes); err != nil {
		return err
	}
	begun := false
	begin := func() {
		if begun {
			return
		}
		begun = true
		w.Header().Set("Content-Disposition", `attachment; filename="activity.ndjson"`) // the console's export
		beginLines(w, ndjson)
	}
	mayStill := a.recheck(r, c, org.MaySeeActivity)
	var lines []byte
	err = a.Organizations.StreamActivity(r.Context(), c, f, func(part []activity.Stored) (err error) {
		if err := mayStill(); err != nil {
			return err
		}
		begin()
		lines, err = sendEntries(w, r, lines[:0], part)
		return err
	})
	if err != nil && !begun {
		return err
	}
	begin() // if there are no entries
	if err != nil && !errors.Is(err, errStopped) && r.Context().Err() == nil {
		a.Report(w, r, err)
		_ = sendLines(w, append(wire.AppendError(lines[:0], err), '\n')) // fails if the client disconnected
	}
	return nil
}

// sendEntries sends entries, one per line, and returns the lines so that their memory can be reused.
func sendEntries(w http.ResponseWriter, r *http.Request, lines []byte, part []activity.Stored) ([]byte, error) {
	for _, e := range part {
		lines = append(AppendAudit(lines, e), '\n')
	}
	if r.Method == http.MethodHead || sendLines(w, lines) != nil {
		return lines, errStopped
	}
	return lines, nil
}

func beginLines(w http.ResponseWriter, mediaType string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusOK)
}

// sendLines sets the write deadline for these lines only: a stream may take longer than any other answer.
func sendLines(w http.ResponseWriter, lines []byte) error {
	to := http.NewResponseController(w)
	if err := to.SetWriteDeadline(time.Now().Add(partTime)); err != nil { //nolint:forbidigo // of the connection, which has the clock of the machine
		return err
	}
	_, err := w.Write(lines)
	return cmp.Or(err, to.Flush())
}

// recheck returns a function that checks, at most every 2 seconds, whether the caller of a long answer would still be
// admitted. The scopes of a key never change.
func (a *API) recheck(r *http.Request, c access.Caller, may func(again access.Caller) error) func() error {
	checked := a.Keys.Now()
	return func() error {
		now := a.Keys.Now()
		if now.Sub(checked).Abs() < recheckEvery {
			return nil
		}
		checked = now
		again, err := a.enterAgain(r, c)
		if err != nil {
			return err
		}
		return may(again)
	}
}

// enterAgain returns the current state of the caller of a long answer.
func (a *API) enterAgain(r *http.Request, c access.Caller) (again access.Caller, err error) {
	err = inflight.InPart(r.Context(), func(ctx context.Context) error {
		identity, err := a.identify(r.WithContext(ctx))
		if err == nil {
			again, err = a.Keys.Enter(ctx, identity, c.Organization.ID)
		}
		return err
	})
	return again, err
}

// activityHead answers with the last entry of the chain, which admins can keep elsewhere.
func (a *API) activityHead(w http.ResponseWriter, r *http.Request, c access.Caller) error {
	head, err := a.Organizations.ActivityHead(r.Context(), c)
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, func(b []byte) []byte { return AppendHead(b, head) })
}

// AppendHead appends the head of a chain. The command line shows the same.
func AppendHead(b []byte, h activity.Head) []byte {
	b = wire.AppendInt(append(b, '{'), "number", h.Number)
	b = wire.AppendField(b, "hash", h.Hash)
	return append(wire.AppendTime(b, "at", h.At), '}')
}
