package org

import (
	"context"
	"slices"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
)

// MaySeeActivity reports whether a caller may see what was done in the organization.
func MaySeeActivity(c access.Caller) error {
	if c.Level < access.Admin {
		return fault.New(fault.Denied, "Only admins and owners may see the activity.")
	}
	return nil
}

// Activity returns a page of what was done in the caller's organization, the newest first.
func (s Service) Activity(ctx context.Context, c access.Caller, f activity.Filter, p page.Page) (page.Found[activity.Stored], error) {
	f, err := seen(c, f)
	if err != nil {
		return page.Found[activity.Stored]{}, err
	}
	return activity.List(ctx, s.DB, f, p)
}

// StreamActivity passes all of the activity to write, a part at a time, the oldest first.
func (s Service) StreamActivity(ctx context.Context, c access.Caller, f activity.Filter, write func([]activity.Stored) error) error {
	f, err := seen(c, f)
	if err != nil {
		return err
	}
	return activity.Stream(ctx, s.DB, f, write)
}

// seen returns a filter that selects only what the caller's key may see.
func seen(c access.Caller, f activity.Filter) (activity.Filter, error) {
	f.OrganizationID = c.Organization.ID
	if err := MaySeeActivity(c); err != nil || c.Scope.Includes(access.All) {
		return f, err
	}
	may := []activity.Scope{activity.Invite, activity.Membership}
	if c.Scope.Includes(access.PluginRead) {
		may = append(may, activity.Plugin, activity.Site)
	}
	for _, asked := range f.Scopes {
		if slices.Contains(may, asked) {
			continue
		}
		needed := access.All
		if asked == activity.Plugin || asked == activity.Site {
			needed = access.PluginRead
		}
		return f, c.Scope.Require(needed)
	}
	if f.Scopes == nil {
		f.Scopes = may
	}
	return f, nil
}

// ActivityHead returns the last entry of the chain of the caller's organization.
func (s Service) ActivityHead(ctx context.Context, c access.Caller) (activity.Head, error) {
	if err := MaySeeActivity(c); err != nil {
		return activity.Head{}, err
	}
	return activity.HeadOf(ctx, s.DB, c.Organization.ID)
}
