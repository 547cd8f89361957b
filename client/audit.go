package client

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// AuditEntry is something that was done in the organization.
type AuditEntry struct {
	ID       int64  `json:"id"`
	Activity string `json:"activity"` // what was done, such as created or revoked
	// User is who did it; nil: the operator, whoever declined an invite, or, of followed, not told. Of a user who was
	// erased, only the id is left.
	User      *ActivityUser  `json:"user"`
	Scope     string         `json:"scope"` // the kind of thing it was done to, such as Key
	ItemID    string         `json:"item_id"`
	Detail    ActivityDetail `json:"detail"`
	RequestID string         `json:"request_id"`
	CreatedAt time.Time      `json:"created_at"`
	KeyID     *int64         `json:"key_id"`
	SessionID *int64         `json:"session_id"`
	Address   string         `json:"address"` // empty unless the server keeps these
	// Number is its place in the organization's chain, and Hash what the chain has there; both
	// are nil for the first seconds.
	Number *int64  `json:"number"`
	Hash   *string `json:"hash"`
	Erased bool    `json:"erased"` // the name, a person's address, has been erased, or the event's data
}

// AuditFilter chooses what was done. Its zero value chooses all.
type AuditFilter struct {
	Scope    string
	Activity string
	User     string // an e-mail address, or an id
	ItemID   string
	KeyID    int64
	Since    time.Time // at this time or later
	Until    time.Time // before this time
	After    int64     // with a higher number
}

func (f AuditFilter) addTo(query url.Values) url.Values {
	set(query, "scope", f.Scope)
	set(query, "activity", f.Activity)
	set(query, "user", f.User)
	set(query, "item_id", f.ItemID)
	setID(query, "key_id", f.KeyID)
	setID(query, "after", f.After)
	setTime(query, "since", f.Since)
	setTime(query, "until", f.Until)
	return query
}

const (
	audit  = "/activity"
	ndjson = "application/x-ndjson"
)

// ListAudit reads one page of what was done in the organization, newest first.
func (o *Organization) ListAudit(ctx context.Context, f AuditFilter, r Range) (Page[AuditEntry], error) {
	return ask[Page[AuditEntry]](ctx, o.at, http.MethodGet, audit, f.addTo(r.addTo(url.Values{})), nil)
}

// StreamAudit reads all that was done in the organization in one request, in the order of the
// entries' numbers, then what has no number yet. It ends after the first error. A client's own
// timeout is for the whole stream: give it one without, and a context instead.
func (o *Organization) StreamAudit(ctx context.Context, f AuditFilter) iter.Seq2[AuditEntry, error] {
	return func(yield func(AuditEntry, error) bool) {
		if err := o.streamAudit(ctx, f, func(e AuditEntry) bool { return yield(e, nil) }); err != nil {
			yield(AuditEntry{}, err)
		}
	}
}

func (o *Organization) streamAudit(ctx context.Context, f AuditFilter, yield func(AuditEntry) bool) error {
	request, err := o.at.request(ctx, http.MethodGet, audit, f.addTo(url.Values{}), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", ndjson)
	response, err := o.at.client.do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, err := readAll(response.Body)
		if err != nil {
			return fmt.Errorf("stream: %w", err)
		}
		return newError(response, text)
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), ndjson) {
		return errors.New(notFoyer)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxAnswerBytes)
	for lines.Scan() {
		var entry AuditEntry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil { // an error's detail is a text
			if ended := newError(response, lines.Bytes()); len(ended.Errors) > 0 {
				return ended
			}
			return fmt.Errorf("stream: %w", cmp.Or(lines.Err(), err)) // a line is cut off where a connection breaks
		}
		if !yield(entry) {
			return nil
		}
	}
	return lines.Err()
}

// ActivityHead is the last entry of an organization's chain. Kept elsewhere, it shows later
// whether the entries up to it are still the same.
type ActivityHead struct {
	Number int64      `json:"number"` // 0: there is none yet
	Hash   string     `json:"hash"`
	At     *time.Time `json:"at"`
}

// ActivityHead reads the head of the organization's chain.
func (o *Organization) ActivityHead(ctx context.Context) (ActivityHead, error) {
	return ask[ActivityHead](ctx, o.at, http.MethodGet, audit+"/head", nil, nil)
}
