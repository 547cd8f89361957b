// Package org keeps organizations, users and memberships.
package org

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"foyer/internal/base/address"
	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
)

// Organization is what apps and invites belong to.
type Organization struct {
	access.Organization
	AllowedDomains []string // whose addresses may join; none: any
	InviteTTL      int64    // how long its invites live, in seconds; 0: the server's default
	CreatedAt      time.Time
}

// Admits reports whether the owner of an address may join.
func (o Organization) Admits(email string) bool {
	return len(o.AllowedDomains) == 0 || slices.Contains(o.AllowedDomains, address.DomainOf(email))
}

// Mine is an organization as one of its members sees it.
type Mine struct {
	Organization
	Level access.Level // the member's
}

// User is a person, in any number of organizations.
type User struct {
	ID              int64
	UUID            string
	DistinctID      string
	Email           string
	FirstName       string
	LastName        string
	IsEmailVerified bool
	CreatedAt       time.Time
}

// NobodysEmail is the address of the first owner until they give their own. RFC 2606: no mail
// ever goes there.
const NobodysEmail = "owner@foyer.invalid"

// FullName returns a user's first and last name; "" if neither is known.
func (u User) FullName() string { return strings.TrimSpace(u.FirstName + " " + u.LastName) }

// Membership is a user's place in an organization.
type Membership struct {
	OrganizationID string
	User           User
	Level          access.Level
	JoinedAt       time.Time
	UpdatedAt      time.Time
	LastActiveAt   time.Time // in the organization, to the hour; zero: not yet
	InvitedBy      Inviter
}

// Inviter is who invited a member; zero: an operator added them, or the inviter is no longer known.
type Inviter struct {
	UUID, Email, FirstName, LastName string
}

// Joining is who becomes a member of an organization. User is a draft if the address is new.
type Joining struct {
	OrganizationID string
	User           User
	Level          access.Level
	InviterID      int64 // 0: an operator adds them
}

// Settings of an organization; nil leaves a setting as it is.
type Settings struct {
	Name                 *string
	MembersCanInvite     *bool
	MembersCanManageApps *bool
	AppAccess            *access.AppAccess
	AllowedDomains       *[]string
	InviteTTL            *int64 // seconds
	Reason               string // why AppAccess is lowered; "": no reason is given
}

// minInviteTTL is the minimum of Organization.InviteTTL; the server sets the maximum.
const minInviteTTL = 60 // seconds

func checkInviteTTL(ttl int64, most time.Duration) (int64, error) {
	limit := int64(most / time.Second)
	switch {
	case ttl == 0 || ttl >= minInviteTTL && ttl <= limit:
		return ttl, nil
	case limit < minInviteTTL:
		return 0, fault.Field(fault.Invalid, "invite_ttl", "Must be null: invites live as long as the server says, %d seconds.", limit)
	}
	return 0, fault.Field(fault.Invalid, "invite_ttl", "Must be %d to %d seconds, or null for the server's default.", minInviteTTL, limit)
}

const maxName = 200 // characters

// CheckName reads the name of an organization. Faults name the field name.
func CheckName(name string) (string, error) {
	name = strings.TrimSpace(name)
	switch n := utf8.RuneCountInString(name); {
	case patch.Blank(name):
		return "", fault.Field(fault.Blank, "name", "Must not be empty: give 1 to %d characters.", maxName)
	case n > maxName:
		return "", fault.Field(fault.TooLong, "name", "Must be at most %d characters long, not %d.", maxName, n)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }):
		return "", fault.Field(fault.Invalid, "name", "Must not contain control characters.")
	}
	return name, nil
}

// ParseEmail reads a person's e-mail address into the form it is stored in. Faults
// name the field.
func ParseEmail(field, text string) (string, error) {
	switch n := utf8.RuneCountInString(strings.TrimSpace(text)); {
	case n == 0:
		return "", fault.Field(fault.Blank, field, "Must not be empty: give an address like name@example.com.")
	case n > address.MaxLength:
		return "", fault.Field(fault.TooLong, field, "Must be at most %d characters long, not %d.", address.MaxLength, n)
	}
	email, err := address.Parse(text)
	if errors.Is(err, address.ErrTooLong) {
		return "", fault.Field(fault.TooLong, field, "Must be at most %d characters long, with its domain in ASCII (xn--…).", address.MaxLength)
	}
	if err != nil || !strings.Contains(address.DomainOf(email), ".") {
		return "", fault.Field(fault.Invalid, field, "Must be an e-mail address like name@example.com.")
	}
	return email, nil
}

const maxDomains = 1000

// parseDomains reads the domains whose addresses may join an organization, each once.
func parseDomains(all []string) ([]string, error) {
	if n := len(all); n > maxDomains {
		return nil, fault.Field(fault.TooLong, "allowed_domains", "At most %d domains fit, not %d.", maxDomains, n)
	}
	var domains []string
	for _, text := range all {
		domain, err := address.Domain(strings.TrimSpace(text))
		if err != nil {
			return nil, fault.Field(fault.Invalid, "allowed_domains", "%q is not a domain like example.com.", text)
		}
		if !slices.Contains(domains, domain) {
			domains = append(domains, domain)
		}
	}
	return domains, nil
}
