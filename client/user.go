package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// OrganizationInfo is an organization as one of its members sees it.
type OrganizationInfo struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Level Level  `json:"level"` // the member's
	// AccessLevel says what the organization may do with apps: 0 nothing, 3 read, 6 install, 9 share them with every
	// organization.
	AccessLevel          int       `json:"access_level"`
	MembersCanInvite     bool      `json:"members_can_invite"`
	MembersCanManageApps bool      `json:"members_can_manage_apps"`
	AllowedDomains       []string  `json:"allowed_domains"` // of the addresses that may join; none: any
	CreatedAt            time.Time `json:"created_at"`
	InviteTTL            *int64    `json:"invite_ttl"` // lifetime of its invites in seconds; nil: the server's default
}

// OrganizationPatch is a change of an organization. A nil field stays as it is.
type OrganizationPatch struct {
	Name                 *string   `json:"name,omitempty"`
	MembersCanInvite     *bool     `json:"members_can_invite,omitempty"`
	MembersCanManageApps *bool     `json:"members_can_manage_apps,omitempty"`
	AllowedDomains       *[]string `json:"allowed_domains,omitempty"`
	InviteTTL            *int64    `json:"invite_ttl,omitempty"` // seconds; 0: the server's default
}

// MarshalJSON implements json.Marshaler.
func (p OrganizationPatch) MarshalJSON() ([]byte, error) {
	type plain OrganizationPatch
	patch := struct {
		plain
		InviteTTL json.RawMessage `json:"invite_ttl,omitempty"`
	}{plain: plain(p)}
	if p.AllowedDomains != nil && *p.AllowedDomains == nil { // it would be encoded as null
		patch.AllowedDomains = &[]string{}
	}
	switch {
	case p.InviteTTL == nil:
	case *p.InviteTTL == 0:
		patch.InviteTTL = Null()
	default:
		patch.InviteTTL = strconv.AppendInt(nil, *p.InviteTTL, 10)
	}
	return json.Marshal(patch)
}

const (
	organizations = "/api/organizations"
	self          = "/api/users/@me"
	keys          = self + "/keys"
	signup        = "/api/signup/"
)

// ListOrganizations reads one page of the organizations that the key gives access to, in the order its user joined
// them.
func (c *Client) ListOrganizations(ctx context.Context, r Range) (Page[OrganizationInfo], error) {
	return list[Page[OrganizationInfo]](ctx, c.at(organizations), "", nil, r)
}

// AllOrganizations reads the organizations that the key gives access to, in the order its user joined them.
func (c *Client) AllOrganizations(ctx context.Context) iter.Seq2[OrganizationInfo, error] {
	return all[OrganizationInfo](ctx, c.at(organizations), "", nil)
}

// Get reads the organization.
func (o *Organization) Get(ctx context.Context) (OrganizationInfo, error) {
	return ask[OrganizationInfo](ctx, o.at, http.MethodGet, "", nil, nil)
}

// Overview has the counts of an organization's objects; nil: the key may not see them.
type Overview struct {
	Apps    *AppCounts    `json:"apps"`
	Sites   *int          `json:"sites"`
	Members *int          `json:"members"`
	Invites *InviteCounts `json:"invites"` // not yet accepted
}

// AppCounts counts apps: all, those behind the newest known tag, those with a file that does not compile, disabled
// ones, and those with errors that pages reported within 24 hours.
type AppCounts struct {
	Count    int `json:"count"`
	Updates  int `json:"updates"`
	Broken   int `json:"broken"`
	Disabled int `json:"disabled"`
	Failing  int `json:"failing"`
}

// InviteCounts counts invites: all, expired ones, and those whose mail was refused.
type InviteCounts struct {
	Count   int `json:"count"`
	Expired int `json:"expired"`
	Failed  int `json:"failed"`
}

// Overview reads the counts of the organization's objects.
func (o *Organization) Overview(ctx context.Context) (Overview, error) {
	return ask[Overview](ctx, o.at, http.MethodGet, "/overview", nil, nil)
}

// Change changes the organization's name and settings.
func (o *Organization) Change(ctx context.Context, patch OrganizationPatch) (OrganizationInfo, error) {
	return ask[OrganizationInfo](ctx, o.at, http.MethodPatch, "", nil, patch)
}

// MemberKey is a member's key that can see the organization. LastUsedAt is its last use there.
type MemberKey struct {
	Key
	User struct {
		UUID  string `json:"uuid"`
		Email string `json:"email"`
	} `json:"user"`
}

// ListKeys reads one page of the keys that can see the organization, in the order of their creation.
func (o *Organization) ListKeys(ctx context.Context, r Range) (Page[MemberKey], error) {
	return list[Page[MemberKey]](ctx, o.at, "/keys", nil, r)
}

// AllKeys reads the keys that can see the organization, in the order of their creation.
func (o *Organization) AllKeys(ctx context.Context) iter.Seq2[MemberKey, error] {
	return all[MemberKey](ctx, o.at, "/keys", nil)
}

// DeleteKey revokes a key that is bound to the organization.
func (o *Organization) DeleteKey(ctx context.Context, id int64) error {
	return o.at.call(ctx, http.MethodDelete, "/keys/"+strconv.FormatInt(id, 10), nil, nil, nil)
}

// SelfPatch is a change of the user of the key. A nil field stays as it is.
type SelfPatch struct {
	Email     *string `json:"email,omitempty"` // changes once the user follows the link mailed to it
	FirstName *string `json:"first_name,omitempty"`
	LastName  *string `json:"last_name,omitempty"`
}

// ChangeSelf changes the names of the user of the key. A new address gets a mail with a link that makes the change;
// until then the answer has the old address.
func (c *Client) ChangeSelf(ctx context.Context, patch SelfPatch) (User, error) {
	return ask[User](ctx, c.at(self), http.MethodPatch, "", nil, patch)
}

// Self reads the user of the key.
func (c *Client) Self(ctx context.Context) (User, error) {
	return ask[User](ctx, c.at(self), http.MethodGet, "", nil, nil)
}

// Key is an API key as the server stores it.
type Key struct {
	ID             int64      `json:"id"`
	Scopes         []string   `json:"scopes"`
	OrganizationID string     `json:"organization_id"` // the one it is bound to; empty: none
	CreatedAt      time.Time  `json:"created_at"`
	ExpiresAt      *time.Time `json:"expires_at"`   // nil: never
	LastUsedAt     *time.Time `json:"last_used_at"` // to the hour; nil: never
	Name           string     `json:"name"`
	Prefix         string     `json:"prefix"` // its first 12 characters
}

// KeyDraft is a key to make. Scopes are required. OrganizationID and ExpiresAt default to those of the key in use, and
// Name to a numbered name.
type KeyDraft struct {
	Scopes         []string   `json:"scopes"`
	OrganizationID string     `json:"organization_id,omitempty"`
	ExpiresAt      *time.Time `json:"expires_at,omitempty"`
	Name           string     `json:"name,omitempty"`
}

// NewKey is a new key with its text, which is shown only once.
type NewKey struct {
	Key
	APIKey string `json:"key"`
}

// ListKeys reads one page of the user's keys, in the order of their creation.
func (c *Client) ListKeys(ctx context.Context, r Range) (Page[Key], error) {
	return list[Page[Key]](ctx, c.at(keys), "", nil, r)
}

// AllKeys reads the user's keys, in the order of their creation.
func (c *Client) AllKeys(ctx context.Context) iter.Seq2[Key, error] {
	return all[Key](ctx, c.at(keys), "", nil)
}

// CreateKey makes a key that can do no more, and lives no longer, than the key in use.
func (c *Client) CreateKey(ctx context.Context, draft KeyDraft) (NewKey, error) {
	made, err := ask[NewKey](ctx, c.at(keys), http.MethodPost, "", nil, draft)
	return made, orForeign(err, made.APIKey)
}

// DeleteKey revokes one of the user's keys.
func (c *Client) DeleteKey(ctx context.Context, id int64) error {
	return c.at(keys).call(ctx, http.MethodDelete, "/"+strconv.FormatInt(id, 10), nil, nil, nil)
}

// Invitation is an invite as the holder of its link sees it.
type Invitation struct {
	TargetEmail      string    `json:"target_email"`
	FirstName        string    `json:"first_name"`
	OrganizationName string    `json:"organization_name"`
	Level            Level     `json:"level"`
	InvitedBy        Inviter   `json:"invited_by"`
	ExpiresAt        time.Time `json:"expires_at"`
}

// Inviter is the user who made an invitation.
type Inviter struct {
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Email     string `json:"email"`
}

// Names are the names of a new user; nil leaves the first name as the inviter wrote it.
type Names struct {
	FirstName *string `json:"first_name,omitempty"`
	LastName  *string `json:"last_name,omitempty"`
}

// OwnInvite is an invite to the user of the key.
type OwnInvite struct {
	ID string `json:"id"`
	Invitation
	Message string `json:"message"`
}

const ownInvites = self + "/invites"

// ListOwnInvites reads one page of the open invites to the verified address of the user of the key, newest first.
func (c *Client) ListOwnInvites(ctx context.Context, r Range) (Page[OwnInvite], error) {
	return list[Page[OwnInvite]](ctx, c.at(ownInvites), "", nil, r)
}

// AllOwnInvites reads the open invites to the verified address of the user of the key, newest first.
func (c *Client) AllOwnInvites(ctx context.Context) iter.Seq2[OwnInvite, error] {
	return all[OwnInvite](ctx, c.at(ownInvites), "", nil)
}

// AcceptOwnInvite makes the user of the key a member. It needs the token of the invite's link only if the user's
// address is not verified.
func (c *Client) AcceptOwnInvite(ctx context.Context, id, token string) (OrganizationInfo, error) {
	answer := struct {
		Token string `json:"token,omitempty"`
	}{token}
	return ask[OrganizationInfo](ctx, c.at(ownInvites), http.MethodPost, "/"+url.PathEscape(id)+"/accept", nil, answer)
}

// DeclineOwnInvite removes an invite to the user of the key.
func (c *Client) DeclineOwnInvite(ctx context.Context, id string) error {
	return c.at(ownInvites).call(ctx, http.MethodDelete, "/"+url.PathEscape(id), nil, nil, nil)
}

// Accepted is the result of accepting an invitation.
type Accepted struct {
	User         User             `json:"user"`
	Organization OrganizationInfo `json:"organization"`
	Level        Level            `json:"level"`
	APIKey       string           `json:"api_key"` // shown only once
}

// GetInvitation reads the invitation of a link's token. No key is needed.
func (c *Client) GetInvitation(ctx context.Context, token string) (Invitation, error) {
	return ask[Invitation](ctx, c.at(signup), http.MethodGet, url.PathEscape(token), nil, nil)
}

// AcceptInvitation makes the person invited a member. No key is needed.
func (c *Client) AcceptInvitation(ctx context.Context, token string, names Names) (Accepted, error) {
	return ask[Accepted](ctx, c.unkeyed(signup), http.MethodPost, url.PathEscape(token), nil, names)
}

// DeclineInvitation removes the invite. No key is needed.
func (c *Client) DeclineInvitation(ctx context.Context, token string) error {
	return c.at(signup).call(ctx, http.MethodDelete, url.PathEscape(token), nil, nil, nil)
}
