package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Member is a user in the organization.
type Member struct {
	ID        string    `json:"id"` // the UUID of the user
	User      User      `json:"user"`
	Level     Level     `json:"level"`
	JoinedAt  time.Time `json:"joined_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// LastActiveAt is when the member was last active in the organization, to the hour; nil: not yet.
	LastActiveAt *time.Time `json:"last_active_at"`
	// InvitedBy is the author of the invite they accepted; nil: an operator added them, or it is not known.
	InvitedBy *MemberInviter `json:"invited_by"`
}

// MemberInviter is the user who invited a member.
type MemberInviter struct {
	UUID      string `json:"uuid"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
}

// MemberFilter narrows a list of members down. A zero field does not filter.
type MemberFilter struct {
	Search string // part of the address or the names
	Level  Level
}

const members = "/members"

func memberPath(userUUID string) string { return members + "/" + url.PathEscape(userUUID) }

// ListMembers reads one page of the members that match a filter, in the order they joined.
func (o *Organization) ListMembers(ctx context.Context, f MemberFilter, r Range) (Page[Member], error) {
	return list[Page[Member]](ctx, o.at, members, f.query(), r)
}

// AllMembers reads the members that match a filter, in the order they joined.
func (o *Organization) AllMembers(ctx context.Context, f MemberFilter) iter.Seq2[Member, error] {
	return all[Member](ctx, o.at, members, f.query())
}

func (f MemberFilter) query() url.Values {
	query := url.Values{}
	set(query, "search", f.Search)
	setInt(query, "level", f.Level)
	return query
}

// GetMember reads one member.
func (o *Organization) GetMember(ctx context.Context, userUUID string) (Member, error) {
	return ask[Member](ctx, o.at, http.MethodGet, memberPath(userUUID), nil, nil)
}

// SetLevel changes a member's level, at most to one's own.
func (o *Organization) SetLevel(ctx context.Context, userUUID string, level Level) (Member, error) {
	return ask[Member](ctx, o.at, http.MethodPatch, memberPath(userUUID), nil, map[string]Level{"level": level})
}

// RemoveMember ends a membership, including one's own.
func (o *Organization) RemoveMember(ctx context.Context, userUUID string) error {
	return o.at.call(ctx, http.MethodDelete, memberPath(userUUID), nil, nil, nil)
}
