package terminal

import (
	"fmt"
	"slices"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/base/page"
)

// Activity shows entries of the activity, from a server or the database.
var Activity = View[client.AuditEntry]{
	Columns: "TIME USER ACTIVITY SCOPE ITEM NAME",
	More:    "NUMBER KEY SESSION ADDRESS REQUEST",
	Row: func(e client.AuditEntry) []any {
		return []any{e.CreatedAt, who(e), e.Activity, e.Scope, e.ItemID, e.Detail.Name, e.Number, e.KeyID, e.SessionID, e.Address, e.RequestID}
	},
}

// who names the doer. Somebody who declines an invite is not a user; the name is their address. The server does some
// things by itself.
func who(e client.AuditEntry) string {
	switch {
	case e.User == nil && e.Activity == "declined":
		return "(invitee)"
	case e.User == nil && e.Activity == "followed":
		return "(not told)"
	case e.User == nil && (e.Scope == "Webhook" || slices.Contains([]string{"expired", "failed", "update_available"}, e.Activity)):
		return "(server)"
	case e.User == nil:
		return "(operator)"
	case e.User.Email == "":
		return fmt.Sprintf("(user %d)", e.User.ID) // erased
	}
	return e.User.Email
}

// ActivityHead shows the last entry of the activity.
var ActivityHead = View[client.ActivityHead]{
	Columns: "NUMBER HASH TIME",
	Row:     func(h client.ActivityHead) []any { return []any{h.Number, h.Hash, h.At} },
}

// Window is the shown part of the activity.
type Window struct {
	Limit  int `default:"100" placeholder:"N" help:"How many to show: 1 to 1000."`
	Offset int `placeholder:"N" help:"How many of the newest to skip."`
}

// Validate refuses a window that shows nothing.
func (w Window) Validate() error {
	if w.Offset < 0 {
		return fault.New(fault.Invalid, "--offset must be a whole number, 0 or more")
	}
	return CheckLimit(w.Limit)
}

// CheckLimit refuses a limit below 1 or above the size of a page.
func CheckLimit(n int) error {
	if n < 1 || n > page.MaxLimit {
		return fault.New(fault.Invalid, "--limit must be a whole number from 1 to %d", page.MaxLimit)
	}
	return nil
}
