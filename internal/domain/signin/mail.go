package signin

import (
	"context"
	"embed"
	"errors"
	"net/url"
	"time"

	"foyer/internal/base/digest"
	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/job"
	"foyer/internal/infra/mail"
)

// MailJob is the kind of the jobs that mail links; their item names a request.
const MailJob = "signin_mail"

// Post mails links to the users who asked for them.
type Post struct {
	Service Service
	SMTP    mail.SMTP
	From    string // an address, or "Name <address>"
}

// Kind returns how jobs of the kind MailJob are done.
func (p Post) Kind() job.Kind { return job.Kind{Do: p.send, Ended: p.forget, Awaited: true} }

var errTooLate = errors.New("the mail server did not take the mail in time")

// send mails a link to the address of a request, if it belongs to anybody. Each try makes a new link, since none is
// stored; all of them work.
func (p Post) send(ctx context.Context, j job.Job) error {
	r, err := findRequest(ctx, p.Service.DB, j.Item)
	if errors.Is(err, db.ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	if p.Service.DB.Now().After(r.createdAt.Add(LinkTime)) {
		return job.Permanent(errTooLate)
	}
	token, expires, err := p.link(ctx, r.email)
	if err != nil || token == "" {
		return err
	}
	m, err := p.write(r, token, expires)
	if err != nil {
		return err
	}
	return p.SMTP.Send(ctx, m)
}

// link makes a link for the person with an address: a user, or somebody who has invites; "": nobody.
func (p Post) link(ctx context.Context, email string) (token string, expires time.Time, err error) {
	user, err := p.Service.Organizations.FindUser(ctx, p.Service.DB, email)
	if fault.Is(err, fault.NotFound) {
		expires = p.Service.DB.Now().Add(LinkTime)
		token, err = p.Service.invited(ctx, p.Service.DB, linkUse, Guest{Email: email, Method: access.ByMail, Until: expires})
		return token, expires, err
	}
	if err != nil {
		return "", time.Time{}, err
	}
	token, l := p.Service.newLink(user, true)
	err = p.Service.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return insertLink(ctx, tx, l) })
	if fault.Is(err, fault.NotFound) { // they have another address by now, or are erased
		return "", time.Time{}, nil
	}
	return token, l.expiresAt, err
}

// forget removes a request that no further try is made for.
func (p Post) forget(ctx context.Context, tx *db.Tx, j job.Job, _ error, again bool) error {
	if again {
		return nil
	}
	return deleteRequest(ctx, tx, j.Item)
}

// mailText holds the values that the mail shows.
type mailText struct {
	Host    string // of this server
	Link    string
	Expires string // when the link stops working
}

//go:embed templates
var files embed.FS

var mailTemplate = mail.NewTemplate(files, "signin")

func (p Post) write(r request, token string, expires time.Time) (mail.Message, error) {
	base, err := url.Parse(p.Service.BaseURL)
	if err != nil {
		return mail.Message{}, err
	}
	said := mailText{Host: base.Host, Link: p.Service.url(token), Expires: expires.UTC().Format("15:04 UTC")}
	text, html, err := mailTemplate.Render(said)
	if err != nil {
		return mail.Message{}, err
	}
	return mail.Message{
		From: p.From, To: r.email, Subject: "Sign in to foyer at " + base.Host, Text: text, HTML: html,
		MessageID: r.id + "." + digest.SHA256(token)[:8], Date: p.Service.DB.Now(), Secrets: []string{token},
	}, nil
}
