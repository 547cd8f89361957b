// Package invite asks people by e-mail to join an organization.
package invite

import (
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/base/search"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
)

// Invite is an invitation: pending, expired or accepted.
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
	AcceptedAt     time.Time // zero: it was not
}

// Mail is the state of the mail of an invite's latest issue.
type Mail struct {
	State    MailState
	Reason   string    // why it is deferred or failed; "": it is not
	Attempts int       // how often a server has tried
	At       time.Time // when it got into this state; zero: it is queued, or there is none
}

// MailState is the state of a mail.
type MailState string

// The states of mails.
const (
	NoMail   MailState = "none"     // not asked for, or there is no mail server
	Queued   MailState = "queued"   // about to be sent
	Sent     MailState = "sent"     // accepted by the mail server
	Deferred MailState = "deferred" // not accepted yet; will be tried again
	Failed   MailState = "failed"   // will not be tried again
)

// search returns the text that an invite is searched by.
func (i Invite) search() string { return search.Searched(i.TargetEmail, i.FirstName) }

// Status is the state of an invite.
type Status string

// The statuses of invites.
const (
	IsPending  Status = "pending"
	IsExpired  Status = "expired"
	IsAccepted Status = "accepted"
)

// Status returns the status of the invite at the time now.
func (i Invite) Status(now time.Time) Status {
	switch {
	case !i.AcceptedAt.IsZero():
		return IsAccepted
	case i.Expired(now):
		return IsExpired
	}
	return IsPending
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
	ExpiresIn   patch.Field[int64] // seconds; absent: as long as those of its organization
	Fault       error              // why this is not a draft at all
}

// maxMessage is the longest message, in characters.
const maxMessage = 5_000

// MaxBulk is how many invites fit in one request.
const MaxBulk = 100

// checkedDraft is a draft that has been checked.
type checkedDraft struct {
	email     string
	firstName string
	level     access.Level
	message   string
	mail      bool          // send one, if there is a mail server
	expiresIn time.Duration // 0: as long as those of its organization
	target    target        // what the address already is to the organization, once that has been found
}

func (d Draft) check() (checkedDraft, fault.List) {
	var faults fault.List
	var o checkedDraft
	var err error
	o.email, err = checkEmail(d.TargetEmail)
	faults.Add(err)
	o.firstName, err = org.CheckFirstName(d.FirstName)
	faults.Add(err)
	o.level, err = checkLevel(d.Level)
	faults.Add(err)
	faults.Add(patch.Text("message", d.Message, maxMessage))
	o.message = d.Message.Value
	faults.Add(d.SendEmail.Check("send_email"))
	o.mail = d.SendEmail.Or(true)
	o.expiresIn, err = checkExpiresIn(d.ExpiresIn)
	faults.Add(err)
	return o, faults
}

func checkEmail(f patch.Field[string]) (string, error) {
	if !f.Set {
		return "", fault.Field(fault.Required, "target_email", "Must be given: whom to invite, like name@example.com.")
	}
	if err := f.Check("target_email"); err != nil {
		return "", err
	}
	return org.ParseEmail("target_email", f.Value)
}

// The bounds of Draft.ExpiresIn, in seconds.
const (
	minExpiresIn = 60
	maxExpiresIn = 30 * 24 * 60 * 60
)

func checkExpiresIn(f patch.Field[int64]) (time.Duration, error) {
	if f.Fault != nil {
		return 0, f.Fault
	}
	if f.Set && !f.Null && (f.Value < minExpiresIn || f.Value > maxExpiresIn) {
		return 0, fault.Field(fault.Invalid, "expires_in", "Must be %d to %d seconds (30 days).", minExpiresIn, maxExpiresIn)
	}
	return time.Duration(f.Value) * time.Second, nil
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
		return fault.New(fault.Denied, "Only admins, owners and the inviter may take back an invite.")
	}
	return nil
}
