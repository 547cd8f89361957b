// Package activity records who changed what, in the transaction that makes the
// change.
package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"foyer/internal/db"
	"foyer/internal/page"
)

// Scope is the kind of thing that was changed.
type Scope string

// The scopes of entries.
const (
	Plugin     Scope = "Plugin"
	Invite     Scope = "OrganizationInvite"
	Membership Scope = "OrganizationMembership"
)

var scopes = []Scope{Plugin, Invite, Membership}

// Verb is what was done.
type Verb string

// What can be done: to apps, then to invites and members.
const (
	Installed     Verb = "installed"
	Updated       Verb = "updated"
	SourceUpdated Verb = "source_updated"
	Upgraded      Verb = "upgraded"
	Uninstalled   Verb = "uninstalled"

	Created  Verb = "created"
	Resent   Verb = "resent"
	Declined Verb = "declined"
	Deleted  Verb = "deleted"
	Added    Verb = "added"
	Removed  Verb = "removed"
)

// Entry is one change.
type Entry struct {
	ID             int64
	OrganizationID string
	Scope          Scope
	ItemID         string
	Verb           Verb
	User           User
	Name           string // of what was changed
	Changes        []Change
	RequestID      string
	CreatedAt      time.Time
}

// User is who made a change; zero: the operator, or whoever declined an invite.
type User struct {
	ID        int64
	Email     string
	FirstName string
}

// Change is one field that was changed.
type Change struct {
	Action string `json:"action"`
	Field  string `json:"field"`
	Before any    `json:"before"`
	After  any    `json:"after"`
}

// Changed is a field that had one value and has another.
func Changed(field string, before, after any) Change {
	return Change{Action: "changed", Field: field, Before: before, After: after}
}

// JSON is a change's value that is JSON text already; an empty one is null.
func JSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// Filter narrows a list of entries down.
type Filter struct {
	OrganizationID string
	Scope          Scope  // "": all
	ItemID         string // "": all
	UserEmail      string // "": all
}

// Record writes an entry in the transaction that makes the change.
func Record(ctx context.Context, tx *db.Tx, e Entry, at time.Time) error {
	return record(ctx, tx, e, at, e.ItemID)
}

// RecordInserted is Record for the row that the transaction inserted last, into the
// given table: its id may not be known yet.
func RecordInserted(ctx context.Context, tx *db.Tx, table string, e Entry, at time.Time) error {
	return record(ctx, tx, e, at, db.InsertedID(table))
}

func record(ctx context.Context, tx *db.Tx, e Entry, at time.Time, itemID any) error {
	changes, err := marshal(e.Changes)
	if err != nil {
		return err
	}
	e.CreatedAt = at
	if err := insert(ctx, tx, e, changes, itemID); err != nil {
		return err
	}
	return count(ctx, tx, e.OrganizationID, e.Scope, 1)
}

// marshal writes changes without the escapes that encoding/json adds for HTML.
func marshal(changes []Change) (string, error) {
	if len(changes) == 0 {
		return "[]", nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(changes); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// Stored is an entry as it is read: its changes are JSON text.
type Stored struct {
	Entry
	Changes string
}

// List returns a page of entries, the newest first.
func List(ctx context.Context, d *db.DB, f Filter, p page.Page) (page.Found[Stored], error) {
	return db.Page(ctx, d, p,
		func(q db.Querier) (int, error) { return total(ctx, q, f) },
		func(q db.Querier) ([]Stored, error) { return list(ctx, q, f, p) })
}
