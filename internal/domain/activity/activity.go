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

// What can be done: to apps; to invites, members, keys, organizations, webhooks and sites; to the kind that the comment
// names; to sessions.
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
	Expired  Verb = "expired"          // of invites
	Failed   Verb = "failed"           // of invites: their mail
	Outdated Verb = "update_available" // of apps
	Followed Verb = "followed"         // of sites: what they run of another organization's apps
	Rotated  Verb = "rotated"          // of webhooks: their secret
	Tested   Verb = "tested"           // of webhooks

	SignedIn     Verb = "signed_in"
	SignedOut    Verb = "signed_out"
	Ended        Verb = "ended" // other than by signing out of it
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
	Data           string // JSON, for an event: the object as the API shows it after the change; "": no event
	Name           string // of what was changed; for an invite, a member or a key: the address of the invitee or user
	Changes        []Change
	RequestID      string
	CreatedAt      time.Time
}

// User is who made a change; zero: the operator, the server itself, or the person who declined an invite by its link.
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

// TimeLayout is the format of times in changes and events, as everywhere in the API: RFC 3339 with microseconds, in
// UTC.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// Changed returns the change of a field from one value to another.
func Changed(field string, before, after any) Change {
	return Change{Action: "changed", Field: field, Before: before, After: after}
}

func (c Change) equal() bool { return reflect.DeepEqual(c.Before, c.After) }

// Number returns a change's value from a number; 0 is null.
func Number(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// JSON returns a change's value from JSON text; an empty text is null.
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
