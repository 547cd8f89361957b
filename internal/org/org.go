// Package org keeps organizations, users and who is a member of what.
package org

import (
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"foyer/internal/access"
	"foyer/internal/fault"
)

// Organization is what apps and invites belong to.
type Organization struct {
	access.Organization
	AllowedDomains []string // whose addresses may join; none: any
	CreatedAt      time.Time
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

// Membership is a user's place in an organization.
type Membership struct {
	OrganizationID string
	User           User
	Level          access.Level
	JoinedAt       time.Time
	UpdatedAt      time.Time
}

// Settings of an organization; nil leaves one as it is.
type Settings struct {
	MembersCanInvite     *bool
	MembersCanManageApps *bool
	AppAccess            *access.AppAccess
	AllowedDomains       *[]string
}

const (
	maxName  = 200
	maxEmail = 254 // RFC 5321 section 4.5.3.1.3, less the angle brackets
)

func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	switch n := utf8.RuneCountInString(name); {
	case n == 0:
		return "", fault.Field(fault.Blank, "name", "Must not be empty: give 1 to %d characters.", maxName)
	case n > maxName:
		return "", fault.Field(fault.TooLong, "name", "Must be at most %d characters long, not %d.", maxName, n)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }):
		return "", fault.Field(fault.Invalid, "name", "Must not contain control characters.")
	}
	return name, nil
}

// ParseEmail reads a plain e-mail address (RFC 5321, dot-atom at a domain name):
// lower-cased, its domain in ASCII. The field is what is blamed.
func ParseEmail(field, text string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if n := utf8.RuneCountInString(text); n > maxEmail {
		return "", fault.Field(fault.TooLong, field, "Must be at most %d characters long, not %d.", maxEmail, n)
	}
	local, domain, _ := strings.Cut(text, "@")
	ascii, err := ParseDomain(domain)
	if err != nil || !plainLocal(local) || len(local)+1+len(ascii) > maxEmail {
		return "", fault.Field(fault.Invalid, field, "Must be an e-mail address like name@example.com.")
	}
	return local + "@" + ascii, nil
}

// plainLocal reports whether an address may begin so without quotes.
func plainLocal(local string) bool {
	const maxLocal = 64
	a, err := mail.ParseAddress(local + "@example.com")
	return err == nil && a.Name == "" && a.Address == local+"@example.com" &&
		len(local) <= maxLocal && !strings.ContainsFunc(local, func(r rune) bool { return r >= utf8.RuneSelf || strings.ContainsRune(`" ()<>`, r) })
}

// domainNames are names that DNS can hold (RFC 1035 section 2.3.4, RFC 5891).
var domainNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// ParseDomain reads the name of an internet domain, into ASCII (IDNA).
func ParseDomain(text string) (string, error) {
	ascii, err := domainNames.ToASCII(strings.ToLower(strings.TrimSpace(text)))
	if err != nil || !strings.Contains(ascii, ".") || strings.HasSuffix(ascii, ".") {
		return "", fault.New(fault.Invalid, "%q is not a domain like example.com.", text)
	}
	return ascii, nil
}
