package addresschange

import (
	"context"
	"embed"
	"net/url"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/plaintext"
	"foyer/internal/infra/job"
	"foyer/internal/infra/mail"
)

// MailJob is the kind of the jobs that send mails about changes. Their item names the use of the link in the mail, and
// the change.
const MailJob = "address_mail"

// Post sends mails about address changes.
type Post struct {
	Service Service
	SMTP    mail.SMTP
	From    string // an address, or "Name <address>"
}

// Kind returns how jobs of the kind MailJob are done.
func (p Post) Kind() job.Kind { return job.Kind{Do: p.send, Awaited: true} }

// send mails a link to the new or the old address. Each try makes a new link, since none is stored; all of them work.
func (p Post) send(ctx context.Context, j job.Job) error {
	to, id, _ := strings.Cut(j.Item, " ")
	token, err := p.Service.token(use(to), id)
	if err != nil {
		return err
	}
	c, err := p.Service.Open(ctx, token)
	switch {
	case fault.Is(err, fault.NotFound): // it was replaced by another one, or it is done
		return nil
	case err != nil && !fault.IsOurs(err):
		return job.Permanent(err)
	case err != nil:
		return err
	}
	m, err := p.write(ctx, c, token)
	if err != nil {
		return err
	}
	return p.SMTP.Send(ctx, m)
}

// mailText holds the values that a mail shows.
type mailText struct {
	Host               string // of this server
	OldEmail, NewEmail string
	Link               string // "": there is none, since the address is another user's
	Expires            string // when the link stops working
}

//go:embed templates
var files embed.FS

var toNewAddress, toOldAddress, toTakenAddress = mail.NewTemplate(files, "new"), mail.NewTemplate(files, "old"), mail.NewTemplate(files, "taken")

func (p Post) write(ctx context.Context, c Change, token string) (mail.Message, error) {
	base, err := url.Parse(p.Service.BaseURL)
	if err != nil {
		return mail.Message{}, err
	}
	said := mailText{
		Host: base.Host, OldEmail: plaintext.Address(c.OldEmail), NewEmail: plaintext.Address(c.NewEmail),
		Link: p.Service.url(token), Expires: plaintext.Minute(c.ends()),
	}
	m := mail.Message{From: p.From, To: c.NewEmail, Subject: "Your new address for foyer at " + base.Host, Date: p.Service.DB.Now(), Secrets: []string{token}}
	template, kind := toNewAddress, "new."
	if c.Undo {
		template, kind = toOldAddress, "old."
		m.To, m.Subject = c.OldEmail, "Your address for foyer at "+base.Host+" is to change"
	} else if taken, err := p.Service.Organizations.IsTaken(ctx, p.Service.DB, c.userID, c.NewEmail); err != nil {
		return mail.Message{}, err
	} else if taken {
		template, said.Link = toTakenAddress, ""
	}
	m.MessageID = kind + c.id
	m.Text, m.HTML, err = template.Render(said)
	return m, err
}
