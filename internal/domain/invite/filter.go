package invite

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/plaintext"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
)

// Filter narrows a list of invites down. The zero Filter is of those that are pending or expired.
type Filter struct {
	Statuses []Status
	Delivery MailState
	Search   string // part of the address or the first name
	Level    access.Level
	ID       string
}

// ParseStatuses reads a list of statuses with commas between them; any is all.
func ParseStatuses(text string) ([]Status, error) {
	all := []Status{IsPending, IsExpired, IsAccepted}
	if text == "any" {
		return all, nil
	}
	var statuses []Status
	for _, name := range strings.Split(text, ",") {
		if !slices.Contains(all, Status(name)) {
			return nil, fault.Field(fault.InvalidChoice, "status", "%q is no status: give pending, expired, accepted, several with commas between them, or any.", name)
		}
		statuses = append(statuses, Status(name))
	}
	return statuses, nil
}

// ParseDelivery reads how far a mail has come.
func ParseDelivery(text string) (MailState, error) {
	if !slices.Contains([]MailState{NoMail, Queued, Sent, Deferred, Failed}, MailState(text)) {
		return "", fault.Field(fault.InvalidChoice, "delivery", "%q is no state of a delivery: give none, queued, sent, deferred or failed.", text)
	}
	return MailState(text), nil
}

// Find returns a page of the invites that a filter leaves, the newest first.
func (s Service) Find(ctx context.Context, c access.Caller, f Filter, p page.Page) (page.Found[Invite], error) {
	if f.plain() {
		return s.List(ctx, c, p)
	}
	from, args := f.from(c.Organization.ID, s.DB.Now())
	return db.Page(ctx, s.DB, p,
		func(q db.Querier) (int, error) {
			return db.One(ctx, q, db.Value[int], `SELECT COUNT(*)`+from, args...)
		},
		func(q db.Querier) ([]Invite, error) {
			window := ` ORDER BY i.created_at DESC, i.id DESC LIMIT $` + strconv.Itoa(len(args)+1) + ` OFFSET $` + strconv.Itoa(len(args)+2)
			return db.All(ctx, q, (*Invite).foundFields, `SELECT `+columns+`, i.accepted_at`+from+window, append(slices.Clone(args), p.Limit, p.Offset)...)
		})
}

// plain reports whether the filter leaves what List shows.
func (f Filter) plain() bool {
	return len(f.Statuses) == 0 && f.Delivery == "" && f.Search == "" && f.Level == 0 && f.ID == ""
}

func (i *Invite) foundFields() []any {
	fields := i.fields()
	return append(fields, db.Null(&i.AcceptedAt))
}

// stored are the columns of invites that both of their tables have.
const stored = `id, organization_id, target_email, first_name, emailing_attempt_made, level, message, created_by,
	created_at, updated_at, expires_at, issue, mail_state, mail_reason, mail_attempts, mail_at, search`

// from is where the invites are that a filter leaves, with the users who made them. Each of
// the tables is narrowed down by itself, so that each can use its index.
func (f Filter) from(organizationID string, now time.Time) (text string, args []any) {
	args = []any{organizationID}
	arg := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	condition := ` WHERE organization_id = $1`
	if f.Delivery != "" {
		condition += ` AND mail_state = ` + arg(f.Delivery)
	}
	if f.Search != "" {
		condition += ` AND search LIKE ` + arg("%"+plaintext.EscapeLike(plaintext.Fold(f.Search))+"%") + ` ESCAPE '!'`
	}
	if f.Level != 0 {
		condition += ` AND level = ` + arg(f.Level)
	}
	if f.ID != "" {
		condition += ` AND id = ` + arg(f.ID)
	}
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = []Status{IsPending, IsExpired}
	}
	var tables []string
	pending, expired := slices.Contains(statuses, IsPending), slices.Contains(statuses, IsExpired)
	if pending || expired {
		open := `SELECT ` + stored + `, NULL AS accepted_at FROM invites` + condition
		switch {
		case !expired:
			open += ` AND expires_at > ` + arg(now)
		case !pending:
			open += ` AND expires_at <= ` + arg(now)
		}
		tables = append(tables, open)
	}
	if slices.Contains(statuses, IsAccepted) {
		tables = append(tables, `SELECT `+stored+`, accepted_at FROM accepted_invites`+condition)
	}
	return ` FROM (` + strings.Join(tables, ` UNION ALL `) + `) i JOIN users u ON u.id = i.created_by`, args
}
