package cli

import (
	"context"

	"foyer/internal/activity"
	"foyer/internal/api"
	"foyer/internal/fault"
	"foyer/internal/org"
	"foyer/internal/page"
	"foyer/internal/server"
)

type activityCommand struct {
	where
	Scope  string `enum:"Plugin,OrganizationInvite,OrganizationMembership," default:"" placeholder:"SCOPE" help:"Only changes of this kind of thing: Plugin, OrganizationInvite or OrganizationMembership."`
	Item   string `placeholder:"ID" help:"Only changes of the thing with this id."`
	User   string `placeholder:"EMAIL" help:"Only changes that this user made."`
	Limit  int    `default:"100" placeholder:"N" help:"How many to show: 1 to 1000, 100 unless told."`
	Offset int    `placeholder:"N" help:"How many of the newest to skip."`
}

// Help gives examples.
func (activityCommand) Help() string {
	return `Examples:

    foyer activity --scope=Plugin --item=12
    foyer activity --user=ada@example.com --limit=10
`
}

// Validate refuses a window that shows nothing.
func (c activityCommand) Validate() error {
	if c.Limit < 1 || c.Limit > page.MaxLimit {
		return fault.New(fault.Invalid, "--limit must be a whole number from 1 to %d", page.MaxLimit)
	}
	if c.Offset < 0 {
		return fault.New(fault.Invalid, "--offset must be a whole number, 0 or more")
	}
	return nil
}

// Run lists activity.
func (c activityCommand) Run(ctx context.Context, d *server.Domain, out *output) error {
	o, err := c.find(ctx, d)
	if err != nil {
		return err
	}
	if c.User != "" {
		if c.User, err = org.ParseEmail("user", c.User); err != nil {
			return err
		}
	}
	found, err := d.Activity(ctx, activity.Filter{
		OrganizationID: o.ID, Scope: activity.Scope(c.Scope), ItemID: c.Item, UserEmail: c.User,
	}, page.Page{Limit: c.Limit, Offset: c.Offset})
	if err != nil {
		return err
	}
	return activities.all(out, found.Items)
}

var activities = view[activity.Stored]{
	columns: "TIME USER ACTIVITY SCOPE ITEM NAME",
	row: func(e activity.Stored) []any {
		return []any{e.CreatedAt, who(e), e.Verb, e.Scope, e.ItemID, e.Name}
	},
	object: api.AppendActivity,
}

// who made a change. Who declines an invite is not a user; the name is their address.
func who(e activity.Stored) string {
	switch {
	case e.User.Email != "":
		return e.User.Email
	case e.Verb == activity.Declined:
		return "(invitee)"
	}
	return "(operator)"
}
