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

// AuditEntry is an entry of the organization's activity.
type AuditEntry struct {
	ID       int64  `json:"id"`
	Activity string `json:"activity"` // the action, such as created or revoked
	// User is the user who did it. It is nil for the operator, for the server itself, such as when an invite expires, for
	// an invite that was declined by its link, and for the activity followed. An erased user has only an id.
	User      *ActivityUser  `json:"user"`
	Scope     string         `json:"scope"` // the kind of object, such as Key
	ItemID    string         `json:"item_id"`
	Detail    ActivityDetail `json:"detail"`
	RequestID string         `json:"request_id"`
	CreatedAt time.Time      `json:"created_at"`
	KeyID     *int64         `json:"key_id"`
	SessionID *int64         `json:"session_id"`
	Address   string         `json:"address"` // empty unless the server stores addresses
	// Number is the entry's place in the organization's chain, and Hash its hash there. Both are nil for the first
	// seconds.
	Number *int64  `json:"number"`
	Hash   *string `json:"hash"`
	Erased bool    `json:"erased"` // the name (a person's address) or the event's data was erased
}

// AuditFilter chooses entries of the activity. Its zero value chooses all.
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

func (f AuditFilter) query() url.Values {
	query := url.Values{}
	set(query, "scope", f.Scope)
	set(query, "activity", f.Activity)
	set(query, "user", f.User)
	set(query, "item_id", f.ItemID)
	setInt(query, "key_id", f.KeyID)
	setInt(query, "after", f.After)
	setTime(query, "since", f.Since)
	setTime(query, "until", f.Until)
	return query
}

const (
	audit  = "/activity"
	ndjson = "application/x-ndjson"
)

// ListAudit reads one page of the organization's activity, newest first.
func (o *Organization) ListAudit(ctx context.Context, f AuditFilter, r Range) (Page[AuditEntry], error) {
	return list[Page[AuditEntry]](ctx, o.at, audit, f.query(), r)
}

// StreamAudit reads all of the organization's activity in one request: the numbered entries in order, then those
// without a number yet. It ends after the first error. The timeout of an http.Client covers the whole stream: use a
// client without a timeout, and a context instead.
func (o *Organization) StreamAudit(ctx context.Context, f AuditFilter) iter.Seq2[AuditEntry, error] {
	return func(yield func(AuditEntry, error) bool) {
		if err := o.streamAudit(ctx, f, func(e AuditEntry) bool { return yield(e, nil) }); err != nil {
			yield(AuditEntry{}, err)
		}
	}
}

func (o *Organization) streamAudit(ctx context.Context, f AuditFilter, yield func(AuditEntry) bool) error {
	request, err := o.at.request(ctx, http.MethodGet, audit, f.query(), nil)
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
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil { // in an error, detail is a string
			if ended := newError(response, lines.Bytes()); len(ended.Errors) > 0 {
				return ended
			}
			return fmt.Errorf("stream: %w", cmp.Or(lines.Err(), err)) // a broken connection cuts a line off
		}
		if !yield(entry) {
			return nil
		}
	}
	return lines.Err()
}

// ActivityHead is the last entry of an organization's chain. A copy kept elsewhere shows later whether the entries up
// to it are unchanged.
type ActivityHead struct {
	Number int64      `json:"number"` // 0: no entry yet
	Hash   string     `json:"hash"`
	At     *time.Time `json:"at"`
}

// ActivityHead reads the head of the organization's chain.
func (o *Organization) ActivityHead(ctx context.Context) (ActivityHead, error) {
	return ask[ActivityHead](ctx, o.at, http.MethodGet, audit+"/head", nil, nil)
}
