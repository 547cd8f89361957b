// Package invite asks people by e-mail to join an organization.
package invite

import (
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"

	"foyer/internal/access"
	"foyer/internal/fault"
	"foyer/internal/org"
	"foyer/internal/patch"
)

// Invite is one pending invitation.
type Invite struct {
	ID             string
	OrganizationID string
	TargetEmail    string
	FirstName      string
	EmailAttempted bool
	Level          access.Level
	Message        string
	CreatedBy      org.User
	CreatedAt      time.Time
	UpdatedAt      time.Time
	ExpiresAt      time.Time
	Issue          int64 // counted up by each resend
	Mail           Mail
}

// Mail is how far the mail of an invite's latest issue has come.
type Mail struct {
	State    MailState
	Reason   string // why it is deferred or failed; "": it is not
	Attempts int    // how often a server has tried
}

// MailState is a step on the way of a mail.
type MailState string

// The states of mails.
const (
	NoMail   MailState = "none"     // not asked for, or there is no mail server
	Queued   MailState = "queued"   // about to be sent
	Sent     MailState = "sent"     // taken over by the mail server
	Deferred MailState = "deferred" // not taken over yet; will be tried again
	Failed   MailState = "failed"   // will not be tried again
)

// pending is what must be known of an invite to delete it.
type pending struct {
	organizationID string
	id             string
	email          string
	createdBy      int64
	expiresAt      time.Time
}

func (i Invite) pending() pending {
	return pending{organizationID: i.OrganizationID, id: i.ID, email: i.TargetEmail, createdBy: i.CreatedBy.ID, expiresAt: i.ExpiresAt}
}

// Expired reports whether the invite's time is over.
func (i Invite) Expired(now time.Time) bool { return !now.Before(i.ExpiresAt) }

// Draft holds the fields a caller may set when creating an invite.
type Draft struct {
	TargetEmail patch.Field[string]
	FirstName   patch.Field[string]
	Level       patch.Field[string] // its number or name
	Message     patch.Field[string]
	SendEmail   patch.Field[bool]
	Fault       error // why this is no draft at all
}

// The longest texts, in characters.
const (
	maxFirstName = 30
	maxLastName  = 150
	maxMessage   = 5_000
)

// MaxBulk is how many invites fit in one request.
const MaxBulk = 100

// order is a draft that has been checked.
type order struct {
	email     string
	firstName string
	level     access.Level
	message   string
	mail      bool // send one, if there is a mail server
}

func (d Draft) check() (order, fault.List) {
	var faults fault.List
	var o order
	var err error
	o.email, err = checkEmail(d.TargetEmail)
	faults.Add(err)
	o.firstName, err = checkName("first_name", d.FirstName, maxFirstName)
	faults.Add(err)
	o.level, err = checkLevel(d.Level)
	faults.Add(err)
	faults.Add(patch.Text("message", d.Message, maxMessage))
	o.message = d.Message.Value
	faults.Add(d.SendEmail.Check("send_email"))
	o.mail = d.SendEmail.Or(true)
	return o, faults
}

func checkEmail(f patch.Field[string]) (string, error) {
	if !f.Set {
		return "", fault.Field(fault.Required, "target_email", "Must be given: whom to invite, like name@example.com.")
	}
	if err := f.Check("target_email"); err != nil {
		return "", err
	}
	if strings.TrimSpace(f.Value) == "" {
		return "", fault.Field(fault.Blank, "target_email", "Must not be empty: give an address like name@example.com.")
	}
	return org.ParseEmail("target_email", f.Value)
}

func checkName(field string, f patch.Field[string], limit int) (string, error) {
	f.Value = strings.TrimSpace(f.Value)
	if err := patch.Text(field, f, limit); err != nil {
		return "", err
	}
	if strings.ContainsFunc(f.Value, unnameable) {
		return "", fault.Field(fault.Invalid, field, "Must not contain control characters.")
	}
	if looksLikeURL(f.Value) {
		return "", fault.Field(fault.Invalid, field, "Must be a name, not a url: after a dot there must be a space.")
	}
	return f.Value, nil
}

// unnameable reports whether a character breaks a line or reorders what is around it.
func unnameable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// dot is what browsers read as the dot of a host name.
const dot = `[.\x{2024}\x{3002}\x{FE12}\x{FE52}\x{FF0E}\x{FF61}]`

var (
	// initials may stand before a name without a space, like J.R.Robert, unless what
	// follows makes it the host of a link, like T.Co/x.
	initials = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:\p{Lu}\.)+(\p{Lu}\p{Ll}[\pL\pM]*(?:[-'’,]|$))`)
	})
	// link finds what mail programs make links of: example.com, 1.2.3.4, x@y,
	// mailto:x and //x.
	link = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)[\pL\pM\pN_-]` + dot + `\pL[\pL\pM\pN-]` +
			`|\pN` + dot + `\pN+` + dot + `\pN+` + dot + `\pN` +
			`|\S[@\x{FE6B}\x{FF20}]\S` +
			`|[a-z][:\x{FE13}\x{FE55}\x{FF1A}]\S` +
			`|[/\x{FF0F}]{2}` +
			`|www` + dot)
	})
)

// looksLikeURL reports whether a mail program might make a link of part of a text,
// whatever invisible characters are in it.
func looksLikeURL(text string) bool {
	if !strings.ContainsFunc(text, unplain) {
		return false
	}
	visible := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return r
	}, text)
	words := strings.Fields(visible)
	for i, word := range words {
		words[i] = initials().ReplaceAllString(word, "$1")
	}
	return link().MatchString(strings.Join(words, " "))
}

// unplain reports whether a character may be part of what makes a link.
func unplain(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != ' ' && r != '-'
}

func checkLevel(f patch.Field[string]) (access.Level, error) {
	if !f.Set {
		return access.Member, nil
	}
	if err := f.Check("level"); err != nil {
		return 0, err
	}
	return access.ParseLevel("level", f.Value)
}

// MayInvite reports whether a caller may invite at all.
func MayInvite(c access.Caller) error {
	if c.Level < access.Admin && !c.Organization.MembersCanInvite {
		return fault.New(fault.Denied, "Only admins and owners may invite people to this organization.")
	}
	return nil
}

// MayDelete reports whether a caller may delete or resend an invite that a user made.
func MayDelete(c access.Caller, createdBy int64) error {
	if c.Level < access.Admin && createdBy != c.UserID {
		return fault.New(fault.Denied, "Only admins, owners and whoever made it may take back an invite.")
	}
	return nil
}
