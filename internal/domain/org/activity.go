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

// ScopesSeen lists the scopes of the entries that a caller's key may see.
func ScopesSeen(c access.Caller) []activity.Scope {
	return slices.DeleteFunc(activity.Scopes(), func(s activity.Scope) bool { return !c.Scope.Includes(neededFor(s)) })
}

// neededFor returns the scope of keys that may see the entries of a scope, besides MemberRead.
func neededFor(s activity.Scope) access.Scope {
	if s == activity.Invite || s == activity.Membership {
		return 0
	}
	if s == activity.Plugin || s == activity.Site {
		return access.PluginRead
	}
	return access.All
}

// seen returns a filter that selects only what the caller's key may see.
func seen(c access.Caller, f activity.Filter) (activity.Filter, error) {
	f.OrganizationID = c.Organization.ID
	if err := MaySeeActivity(c); err != nil || c.Scope.Includes(access.All) {
		return f, err
	}
	for _, asked := range f.Scopes {
		if err := c.Scope.Require(neededFor(asked)); err != nil {
			return f, err
		}
	}
	if f.Scopes == nil {
		f.Scopes = ScopesSeen(c)
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
