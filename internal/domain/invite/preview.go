package invite

import (
	"cmp"
	"context"

	"foyer/internal/base/plaintext"
	"foyer/internal/domain/access"
)

// Preview is the mail of an invite before it is made, without the link.
type Preview struct{ To, ReplyTo, Subject, Text string }

// previewed stands for the token of an invite that is not made.
const previewed = "…"

// Preview returns the mail that a draft would become, for callers who may create the invite, and makes nothing.
func (s Service) Preview(ctx context.Context, c access.Caller, d Draft) (Preview, error) {
	o, faults := d.check()
	if err := cmp.Or(c.Scope.Require(access.MemberWrite), faults.Err(), MayInvite(c), MayGive(c, o.level)); err != nil {
		return Preview{}, err
	}
	by, err := s.inviters(ctx, c)
	if err != nil {
		return Preview{}, err
	}
	parts, err := render(mailText{
		OrganizationName: by.Organization.Name, InviterName: by.User.FullName(), InviterEmail: by.User.Email,
		FirstName: o.firstName, Message: o.message, Level: o.level.String(), Link: s.Links.baseURL + "/invite/" + previewed,
		Expires: plaintext.Minute(s.DB.Now().Add(cmp.Or(o.expiresIn, s.ttl(by.Organization)))),
	})
	return Preview{To: o.email, ReplyTo: by.User.Email, Subject: parts.Subject, Text: parts.Text}, err
}
