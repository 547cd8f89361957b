// Package activity records who changed what, in the transaction that makes the
// change.
package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/trace"
)

// Scope is the kind of thing that was changed.
type Scope string

// The scopes of entries.
const (
	Plugin       Scope = "Plugin"
	Site         Scope = "Site"
	Invite       Scope = "OrganizationInvite"
	Membership   Scope = "OrganizationMembership"
	Key          Scope = "Key"
	Organization Scope = "Organization"
	Session      Scope = "Session"
	Webhook      Scope = "Webhook"
)

var scopes = []Scope{Plugin, Site, Invite, Membership, Key, Organization, Session, Webhook}

// Verb is what was done.
type Verb string

// What can be done: to apps; to invites, members, keys, organizations, webhooks and sites; to what each says; to sessions.
const (
	Installed     Verb = "installed"
	Updated       Verb = "updated"
	SourceUpdated Verb = "source_updated"
	Upgraded      Verb = "upgraded"
	Uninstalled   Verb = "uninstalled"
	Disabled      Verb = "disabled"
	Enabled       Verb = "enabled"
	Withdrawn     Verb = "withdrawn"
	Restored      Verb = "restored" // of sites, too

	Created   Verb = "created"
	Resent    Verb = "resent"
	Declined  Verb = "declined"
	Deleted   Verb = "deleted"
	Added     Verb = "added"
	Removed   Verb = "removed"
	Revoked   Verb = "revoked"
	Previewed Verb = "previewed"

	Accepted Verb = "accepted"         // of invites
	Expired  Verb = "expired"          // likewise
	Failed   Verb = "failed"           // likewise: their mail
	Outdated Verb = "update_available" // of apps
	Followed Verb = "followed"         // of sites: what they run of another organization's apps
	Rotated  Verb = "rotated"          // of webhooks: their secret
	Tested   Verb = "tested"           // likewise

	SignedIn     Verb = "signed_in"
	SignedOut    Verb = "signed_out"
	Ended        Verb = "ended" // otherwise than by signing out in it
	SignInFailed Verb = "sign_in_failed"
)

var verbs = []Verb{
	Installed, Updated, SourceUpdated, Upgraded, Uninstalled, Disabled, Enabled, Withdrawn, Restored,
	Created, Resent, Declined, Deleted, Added, Removed, Revoked, Previewed,
	SignedIn, SignedOut, Ended, SignInFailed,
	Accepted, Expired, Failed, Outdated, Followed, Rotated, Tested,
}

// Entry is one change.
type Entry struct {
	ID             int64
	OrganizationID string
	Scope          Scope
	ItemID         string
	Verb           Verb
	User           User
	KeyID          int64  // 0: no key
	SessionID      int64  // 0: no session
	Address        string // where the request came from; "": not kept
	Data           string // JSON: what was changed, as the API shows it after that, for an event; "": it is none
	Name           string // of what was changed: the address of an invite or a member, or of whose key it is
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

// TimeLayout is how times are written in changes and events, as everywhere in the API: RFC 3339, microseconds, for UTC.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// Changed is a field that had one value and has another.
func Changed(field string, before, after any) Change {
	return Change{Action: "changed", Field: field, Before: before, After: after}
}

func (c Change) equal() bool { return reflect.DeepEqual(c.Before, c.After) }

// JSON is a change's value that is JSON text already; an empty one is null.
func JSON(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// Record writes an entry in the transaction that makes the change. Changes that show the same
// before and after, such as two masked secrets, are left out.
func Record(ctx context.Context, tx *db.Tx, e Entry, at time.Time) error {
	if slices.ContainsFunc(e.Changes, Change.equal) {
		e.Changes = slices.DeleteFunc(slices.Clone(e.Changes), Change.equal)
	}
	changes, err := marshal(e.Changes)
	if err != nil {
		return err
	}
	e.CreatedAt = at
	if parent := trace.From(ctx).Parent(); parent != "" && e.OrganizationID != "" && e.RequestID != "" {
		if err := insertTrace(ctx, tx, e, parent); err != nil {
			return err
		}
	}
	return insert(ctx, tx, e, changes)
}

const noChanges = "[]"

// marshal writes changes without the escapes that encoding/json adds for HTML.
func marshal(changes []Change) (string, error) {
	if len(changes) == 0 {
		return noChanges, nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(changes); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
