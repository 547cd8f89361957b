package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Level is what a member of an organization may do.
type Level int

// The levels, from low to high.
const (
	LevelMember Level = 1
	LevelAdmin  Level = 8
	LevelOwner  Level = 15
)

// Invite is an invitation to join the organization.
type Invite struct {
	ID          string `json:"id"`
	TargetEmail string `json:"target_email"`
	FirstName   string `json:"first_name"`
	// EmailingAttemptMade says whether a mail server was asked to deliver it.
	EmailingAttemptMade bool      `json:"emailing_attempt_made"`
	Level               Level     `json:"level"`
	IsExpired           bool      `json:"is_expired"`
	CreatedBy           User      `json:"created_by"`
	CreatedAt           time.Time `json:"created_at"`
	UpdatedAt           time.Time `json:"updated_at"`
	Message             string    `json:"message"`
	// Status is pending, expired or accepted.
	Status     string     `json:"status"`
	AcceptedAt *time.Time `json:"accepted_at"` // nil: not accepted
	Delivery   Delivery   `json:"delivery"`
}

// Delivery is the state of an invite's mail.
type Delivery struct {
	// State is none, queued, sent, deferred or failed.
	State    string     `json:"state"`
	Detail   string     `json:"detail"` // why it was deferred or failed
	Attempts int        `json:"attempts"`
	At       *time.Time `json:"at"` // of the last try; nil: none yet
}

// InviteFilter narrows a list of invites down. A zero field does not filter.
type InviteFilter struct {
	Status   []string // nil: pending and expired; an empty list is refused
	Delivery string
	Search   string // part of the address or the first name
	Level    Level
	ID       string
}

func (f InviteFilter) query() url.Values {
	query := url.Values{}
	if f.Status != nil {
		query.Set("status", strings.Join(f.Status, ","))
	}
	set(query, "delivery", f.Delivery)
	set(query, "search", f.Search)
	setInt(query, "level", f.Level)
	set(query, "id", f.ID)
	return query
}

// User is a person, known by an e-mail address.
type User struct {
	ID              int64  `json:"id"`
	UUID            string `json:"uuid"`
	DistinctID      string `json:"distinct_id"`
	FirstName       string `json:"first_name"`
	LastName        string `json:"last_name"`
	Email           string `json:"email"`
	IsEmailVerified bool   `json:"is_email_verified"`
	// HedgehogConfig is a JSON object with the settings of the user's picture.
	HedgehogConfig json.RawMessage `json:"hedgehog_config"`
}

// InviteDraft is an invite to create. TargetEmail is required; the server chooses the value of another zero field.
type InviteDraft struct {
	TargetEmail string `json:"target_email"`
	FirstName   string `json:"first_name,omitempty"`
	Level       Level  `json:"level,omitempty"` // 0: LevelMember
	Message     string `json:"message,omitempty"`
	SendEmail   *bool  `json:"send_email,omitempty"` // nil: true
	ExpiresIn   int64  `json:"expires_in,omitempty"` // seconds; 0: the organization's default
}

const invites = "/invites"

func invitePath(id string) string { return invites + "/" + url.PathEscape(id) }

// ListInvites reads one page of the invites that match a filter, newest first.
func (o *Organization) ListInvites(ctx context.Context, f InviteFilter, r Range) (Page[Invite], error) {
	return list[Page[Invite]](ctx, o.at, invites, f.query(), r)
}

// AllInvites reads the invites that match a filter, newest first.
func (o *Organization) AllInvites(ctx context.Context, f InviteFilter) iter.Seq2[Invite, error] {
	return all[Invite](ctx, o.at, invites, f.query())
}

// CreateInvite invites an address. It replaces an earlier invite to that address.
func (o *Organization) CreateInvite(ctx context.Context, draft InviteDraft) (Invite, error) {
	return ask[Invite](ctx, o.at, http.MethodPost, invites, nil, draft)
}

// CreateInvites makes up to 100 invites, all or none, and returns them in the
// order of drafts. In an [*Error], Attr names the draft and its field, such as
// 2.target_email.
func (o *Organization) CreateInvites(ctx context.Context, drafts []InviteDraft) ([]Invite, error) {
	return ask[[]Invite](ctx, o.at, http.MethodPost, invites+"/bulk", nil, append([]InviteDraft{}, drafts...))
}

// InviteOutcome is the result of a draft: Invite, or the Error that says why there is none.
type InviteOutcome struct {
	Invite *Invite `json:"invite"`
	Error  *Error  `json:"error"`
}

// CreateInvitesPartly makes up to 100 invites, even if some of them fail, and returns the outcome of each in the order
// of drafts.
func (o *Organization) CreateInvitesPartly(ctx context.Context, drafts []InviteDraft) ([]InviteOutcome, error) {
	return ask[[]InviteOutcome](ctx, o.at, http.MethodPost, invites+"/bulk", url.Values{"partial": {"true"}}, append([]InviteDraft{}, drafts...))
}

// DeleteInvite deletes an invite; its link stops working.
func (o *Organization) DeleteInvite(ctx context.Context, id string) error {
	return o.at.call(ctx, http.MethodDelete, invitePath(id), nil, nil, nil)
}

// ResendInvite gives an invite a new expiry and a new link, and mails it; the
// earlier link stops working.
func (o *Organization) ResendInvite(ctx context.Context, id string) (Invite, error) {
	return ask[Invite](ctx, o.at, http.MethodPost, invitePath(id)+"/resend", nil, nil)
}

// InviteLink is the link of an invite, to pass on by hand.
type InviteLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expires_at"`
}

// LinkInvite reads the link of an invite, for admins and owners. Anyone who has the link can act as the person invited.
func (o *Organization) LinkInvite(ctx context.Context, id string) (InviteLink, error) {
	return ask[InviteLink](ctx, o.at, http.MethodPost, invitePath(id)+"/link", nil, nil)
}
