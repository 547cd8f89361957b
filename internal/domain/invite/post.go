package invite

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/plaintext"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/job"
	"foyer/internal/infra/mail"
)

// MailJob is the kind of the jobs that mail invites; their item names an issue.
const MailJob = "invite_mail"

// issueName names one issue of an invite: its id, a dot, and the number.
func (i Invite) issueName() string { return i.ID + "." + strconv.FormatInt(i.Issue, 10) }

func readIssueName(name string) (id string, issue int64) {
	id, number, _ := strings.Cut(name, ".")
	issue, _ = strconv.ParseInt(number, 10, 64) // issueName wrote it
	return id, issue
}

// Post mails invites to their addresses.
type Post struct {
	Service Service
	SMTP    mail.SMTP
	From    string          // an address, or "Name <address>"
	Seen    func(MailState) // called with the result of each try
}

// Kind returns how jobs of the kind MailJob are done.
func (p Post) Kind() job.Kind { return job.Kind{Do: p.send, Ended: p.note, AfterCommit: p.count} }

var errTooLate = errors.New("the invite expired before the mail server took the mail")

// send mails an invite, unless that issue of it is gone or cannot be answered.
func (p Post) send(ctx context.Context, j job.Job) error {
	id, issue := readIssueName(j.Item)
	i, err := findAnywhere(ctx, p.Service.DB, id)
	if errors.Is(err, db.ErrNoRow) || err == nil && i.Issue != issue {
		return p.giveUp(ctx, id, issue)
	}
	if err != nil {
		return err
	}
	if i.Expired(p.Service.DB.Now()) {
		return job.Permanent(errTooLate)
	}
	o, err := p.Service.opened(ctx, p.Service.DB, i, mailed)
	switch {
	case err == nil:
	case fault.IsOurs(err):
		return err
	default:
		return job.Permanent(err)
	}
	m, err := p.write(o)
	if err != nil {
		return err
	}
	err = p.SMTP.Send(ctx, m)
	if err == nil {
		p.Seen(Sent)
	}
	return err
}

// giveUp notes that the mail of an accepted issue is no longer tried.
func (p Post) giveUp(ctx context.Context, id string, issue int64) error {
	return p.Service.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		organizationID, err := findIssue(ctx, tx, id, issue)
		if errors.Is(err, db.ErrNoRow) {
			return nil // declined, deleted or sent again
		}
		if err != nil {
			return err
		}
		return noteGivenUp(ctx, tx, organizationID, id, issue)
	})
}

func (p Post) write(o Opened) (mail.Message, error) {
	link := p.Service.Links.url(o.Invite, o.channel)
	parts, err := render(mailText{
		OrganizationName: o.Organization.Name, InviterName: o.CreatedBy.FullName(), InviterEmail: o.CreatedBy.Email,
		FirstName: o.FirstName, Message: o.Message, Level: o.Level.String(), Link: link, Expires: plaintext.Minute(o.ExpiresAt),
	})
	if err != nil {
		return mail.Message{}, err
	}
	return mail.Message{
		From: p.From, To: o.TargetEmail, ReplyTo: o.CreatedBy.Email, Subject: parts.Subject, Text: parts.Text, HTML: parts.HTML,
		MessageID: o.issueName(), Date: o.UpdatedAt, Unsubscribe: link,
		Secrets: []string{p.Service.Links.token(o.Invite, o.channel)},
	}, nil
}

// note records how a try to mail an issue went.
func (p Post) note(ctx context.Context, tx *db.Tx, j job.Job, failed error, again bool) error {
	id, issue := readIssueName(j.Item)
	m := Mail{State: stateAfter(failed, again), Attempts: j.Attempt, At: p.Service.DB.Now()}
	asked := true
	if failed != nil {
		m.Reason = failed.Error()
		refused, ok := errors.AsType[*mail.Error](failed)
		asked = ok && refused.Asked
	}
	organizationID, err := findIssue(ctx, tx, id, issue)
	if errors.Is(err, db.ErrNoRow) {
		return nil // declined, deleted or sent again meanwhile
	}
	if err != nil {
		return err
	}
	noted, err := noteMail(ctx, tx, "invites", organizationID, id, issue, m, asked)
	if err == nil && noted == 0 { // accepted meanwhile
		_, err = noteMail(ctx, tx, "accepted_invites", organizationID, id, issue, m, asked)
		return err
	}
	if err != nil {
		return err
	}
	addCount(tx, organizationID, 0)
	if m.State != Failed {
		return nil
	}
	i, err := findLocked(ctx, tx, organizationID, id)
	if err != nil {
		return err
	}
	return p.Service.record(ctx, tx, access.Caller{}, i, activity.Failed, m.At)
}

// count counts tries that failed; send counts the others, since it knows which had
// nothing to do.
func (p Post) count(_ job.Job, failed error, again bool) {
	if failed != nil {
		p.Seen(stateAfter(failed, again))
	}
}

func stateAfter(failed error, again bool) MailState {
	switch {
	case failed == nil:
		return Sent
	case again:
		return Deferred
	}
	return Failed
}
