package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Member is a user's place in the organization.
type Member struct {
	ID        string    `json:"id"` // the UUID of the user
	User      User      `json:"user"`
	Level     Level     `json:"level"`
	JoinedAt  time.Time `json:"joined_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

const members = "/members"

// ListMembers reads one page of the members, in the order they joined.
func (o *Organization) ListMembers(ctx context.Context, r Range) (Page[Member], error) {
	return ask[Page[Member]](ctx, o.at, http.MethodGet, members, r.addTo(url.Values{}), nil)
}

// AllMembers reads the members, in the order they joined.
func (o *Organization) AllMembers(ctx context.Context) iter.Seq2[Member, error] {
	return all[Member](ctx, o.at, members, nil)
}

// SetLevel changes what a member may do, never above one's own level.
func (o *Organization) SetLevel(ctx context.Context, userUUID string, level Level) (Member, error) {
	patch := struct {
		Level Level `json:"level"`
	}{level}
	return ask[Member](ctx, o.at, http.MethodPatch, members+"/"+url.PathEscape(userUUID), nil, patch)
}

// RemoveMember ends a membership; one's own, too.
func (o *Organization) RemoveMember(ctx context.Context, userUUID string) error {
	return o.at.call(ctx, http.MethodDelete, members+"/"+url.PathEscape(userUUID), nil, nil, nil)
}
