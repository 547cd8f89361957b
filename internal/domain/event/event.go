// Package event tells other programs what has happened in an organization: it lists the events and sends them to
// webhooks. An event is an entry of the activity with the object as it was after the change; its sequence is the
// entry's number.
package event

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/internal/domain/activity"
)

// Event is one thing that happened.
type Event struct {
	ID             string // the same for every receiver and try
	Type           string
	Timestamp      time.Time
	OrganizationID string
	Sequence       int64
	Data           string // JSON: the object, as the API shows it

	requestID string // of the request that made it
}

// Test is the type of the event that tries a webhook out.
const Test = "webhook.test"

type change struct {
	scope activity.Scope
	verb  activity.Verb
}

var types = map[change]string{
	{activity.Plugin, activity.Installed}:     "app.created",
	{activity.Plugin, activity.Updated}:       "app.updated",
	{activity.Plugin, activity.SourceUpdated}: "app.source_updated",
	{activity.Plugin, activity.Upgraded}:      "app.upgraded",
	{activity.Plugin, activity.Disabled}:      "app.disabled",
	{activity.Plugin, activity.Enabled}:       "app.enabled",
	{activity.Plugin, activity.Uninstalled}:   "app.deleted",
	{activity.Plugin, activity.Outdated}:      "app.update_available",

	{activity.Site, activity.Created}:  "site.created",
	{activity.Site, activity.Updated}:  "site.changed",
	{activity.Site, activity.Restored}: "site.changed",
	{activity.Site, activity.Added}:    "site.changed",
	{activity.Site, activity.Removed}:  "site.changed",
	{activity.Site, activity.Deleted}:  "site.deleted",

	{activity.Invite, activity.Created}:  "invite.created",
	{activity.Invite, activity.Resent}:   "invite.resent",
	{activity.Invite, activity.Accepted}: "invite.accepted",
	{activity.Invite, activity.Declined}: "invite.declined",
	{activity.Invite, activity.Expired}:  "invite.expired",
	{activity.Invite, activity.Deleted}:  "invite.deleted",
	{activity.Invite, activity.Failed}:   "invite.failed",

	{activity.Membership, activity.Added}:   "member.added",
	{activity.Membership, activity.Updated}: "member.changed",
	{activity.Membership, activity.Removed}: "member.removed",

	{activity.Webhook, activity.Tested}: Test,
}

// takes reports whether a list of types includes one, by its name or by a kind such as app.*.
func takes(list []string, name string) bool {
	kind, _, _ := strings.Cut(name, ".")
	return slices.Contains(list, name) || slices.Contains(list, kind+".*")
}

// of returns an entry as an event. ok is false if the entry is not an event.
func of(e activity.Stored) (ev Event, ok bool) {
	name := types[change{e.Scope, e.Verb}]
	if name == "" || e.Data == "" {
		return Event{}, false
	}
	const enough = 32 // digits of the hash: no other entry of any organization begins with the same
	return Event{
		ID: "evt_" + e.Hash[:enough], Type: name, Timestamp: e.CreatedAt, OrganizationID: e.OrganizationID, Sequence: e.Number,
		Data: e.Data, requestID: e.RequestID,
	}, true
}

// Append appends the event as receivers and callers get it.
func (e Event) Append(b []byte) []byte {
	b = append(b, `{"id":"`+e.ID+`","type":"`+e.Type+`","timestamp":"`...)
	b = append(e.Timestamp.UTC().AppendFormat(b, activity.TimeLayout), `","organization_id":"`+e.OrganizationID+`","sequence":`...)
	b = append(strconv.AppendInt(b, e.Sequence, 10), `,"data":`...)
	return append(append(b, e.Data...), '}')
}
