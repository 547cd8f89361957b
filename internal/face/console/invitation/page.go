package invitation

import (
	"embed"
	"html/template"
	"slices"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/plaintext"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"
)

//go:embed templates
var files embed.FS

// Strangers see these pages: no text that somebody typed may look like a link.
var templates = markup.New(files, template.FuncMap{
	"line":    func(s string) string { return plaintext.Line(s, maxLine) },
	"text":    plaintext.Multiline,
	"address": plaintext.Address,
	"minute":  plaintext.Minute,
	"label":   func(field string) string { return labels[field] },
})

// maxLine is the longest part of a name that is shown, in characters.
const maxLine = 100

// labels are the labels of the form's fields.
var labels = map[string]string{"first_name": "First name", "last_name": "Last name"}

// Person is a person that a page names.
type Person struct {
	Name  string // "": the address is shown
	Email string
}

// Invitation asks to accept or decline. Its form posts first_name, last_name and answer, which is "accept" or "decline",
// to the page's own address.
type Invitation struct {
	OrganizationName string
	Inviter          Person
	TargetEmail      string
	FirstName        string // fills the form
	LastName         string // fills the form
	Message          string // may be ""
	Level            string // member, admin or owner
	Apps             access.AppAccess
	ExpiresAt        time.Time
	KnownUser        bool       // the address has an account: its names are not asked for
	SignedIn         bool       // as that address
	Other            string     // the address that the browser is signed in as instead; may be ""
	SignsIn          bool       // accepting signs the browser in
	Form             string     // names the form, to detect that it is sent twice
	Faults           fault.List // what was wrong with the form sent before
}

// ChangesApps reports whether anybody can change apps there.
func (p Invitation) ChangesApps() bool { return p.Apps >= access.InstallApps }

// Fault is what was wrong with one field of the form; "": nothing.
func (p Invitation) Fault(field string) string {
	i := slices.IndexFunc(p.Faults, func(e *fault.Error) bool { return e.Field == field })
	if i < 0 {
		return ""
	}
	return p.Faults[i].Detail
}

// Accepted says what the new member can do now. It shows the key, if one was made, only now.
type Accepted struct {
	OrganizationName string
	OrganizationID   string
	Email            string // the new member's
	Level            string // member, admin or owner
	Apps             access.AppAccess
	APIKey           string
	SignedIn         bool
	KnownUser        bool         // they had an account before
	Other            string       // the address that the browser was signed in as instead; may be ""
	ByMail           bool         // people sign in by links in mails
	Provider         string       // the name of the identity provider; "": none
	Scope            access.Scope // of the key
	BaseURL          string       // without a slash at the end
	Prefix           string       // the path of BaseURL
}

// Script is the path of the script that copies.
func (p Accepted) Script() string { return p.Prefix + markup.Enhancements.Path }

// SeesApps reports whether the key can read apps there.
func (p Accepted) SeesApps() bool {
	return p.Apps >= access.ReadApps && p.Scope.Includes(access.PluginRead)
}

// ChangesApps reports whether the key can change apps there.
func (p Accepted) ChangesApps() bool {
	return p.Apps >= access.InstallApps && p.Scope.Includes(access.PluginWrite)
}

// SeesPeople reports whether the key can read who is a member and who is invited.
func (p Accepted) SeesPeople() bool { return p.Scope.Includes(access.MemberRead) }

// Invites reports whether the key can invite.
func (p Accepted) Invites() bool { return p.Scope.Includes(access.MemberWrite) }

// Declined confirms that the invitation is gone.
type Declined struct {
	OrganizationName string
	Inviter          Person
}

// Unknown is the page of a link that leads to no open invite: the invite may have been answered.
type Unknown struct {
	ByKeyAlone bool // people sign in only with a key
}

// Expired is the page of a link that has expired: the inviter can send it again.
type Expired struct {
	OrganizationName string
	Inviter          Person
	ExpiresAt        time.Time
}

// Withdrawn is the page of an invitation that may not be accepted now: for example, its inviter has left the
// organization, or is below the level that it offers.
type Withdrawn struct {
	OrganizationName string
	Inviter          Person
	Detail           string // why, and what would help
	SignsIn          bool   // it can be accepted by who signs in as its address
	Other            string // the address that the browser is signed in as instead; may be ""
	Prefix           string // the path of the base url
}

// Failed is the page of every other failure.
type Failed struct {
	Detail    string // safe to show, like a fault's
	RequestID string // finds the reason in the log; may be ""
}
