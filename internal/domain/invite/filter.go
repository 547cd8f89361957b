package invite

import (
	"context"
	"slices"
	"strings"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// Filter selects invites for a list. The zero Filter selects those that are pending or expired.
type Filter struct {
	Statuses []Status
	Delivery MailState
	Search   string // part of the address or the first name
	Level    access.Level
	ID       string
}

// ParseStatuses reads a list of statuses with commas between them; any means all.
func ParseStatuses(text string) ([]Status, error) {
	all := []Status{IsPending, IsExpired, IsAccepted}
	if text == "any" {
		return all, nil
	}
	var statuses []Status
	for _, name := range strings.Split(text, ",") {
		if !slices.Contains(all, Status(name)) {
			return nil, fault.Field(fault.InvalidChoice, "status", "%q is not a status: give pending, expired, accepted, several with commas between them, or any.", name)
		}
		statuses = append(statuses, Status(name))
	}
	return statuses, nil
}

// ParseDelivery reads the state of a mail.
func ParseDelivery(text string) (MailState, error) {
	if !slices.Contains([]MailState{NoMail, Queued, Sent, Deferred, Failed}, MailState(text)) {
		return "", fault.Field(fault.InvalidChoice, "delivery", "%q is not a state of a delivery: give none, queued, sent, deferred or failed.", text)
	}
	return MailState(text), nil
}

// Find returns a page of the invites that a filter selects, the newest first.
func (s Service) Find(ctx context.Context, c access.Caller, f Filter, p page.Page) (page.Found[Invite], error) {
	after, err := parseCursor(p.After)
	if err != nil {
		return page.Found[Invite]{}, err
	}
	if f.plain() {
		return s.list(ctx, c.Organization.ID, after, p)
	}
	now := s.DB.Now()
	var found page.Found[Invite]
	err = s.DB.View(ctx, func(ctx context.Context, q db.Querier) error {
		query, args := f.count(c.Organization.ID, now)
		n, err := db.One[int](ctx, q, nil, query, args...)
		if err != nil || p.Beyond(n) {
			found = page.Found[Invite]{Count: n}
			return err
		}
		query, args = f.query(c.Organization.ID, now, after, p)
		invites, err := db.All(ctx, q, (*Invite).foundFields, query, args...)
		found = page.Cut(invites, p, n, Invite.cursor)
		return err
	})
	return found, err
}

// list returns a page of all invites of an organization that are pending or expired, from the cache if it has the page.
func (s Service) list(ctx context.Context, organizationID string, after cursor, p page.Page) (page.Found[Invite], error) {
	counted, err := countPending(ctx, s.DB, organizationID)
	if err != nil || p.Beyond(counted.count) {
		return page.Found[Invite]{Count: counted.count}, err
	}
	key := pageOf{organizationID, after, p.Limit, p.Skip()}
	if invites, ok := s.Cache.pages.Get(key, counted.version); ok {
		return page.Cut(invites, p, counted.count, Invite.cursor), nil
	}
	invites, err := list(ctx, s.DB, organizationID, after, p)
	if err != nil {
		return page.Found[Invite]{}, err
	}
	s.Cache.pages.Put(key, counted.version, invites)
	return page.Cut(invites, p, counted.count, Invite.cursor), nil
}

// plain reports whether it is the zero Filter.
func (f Filter) plain() bool {
	return len(f.Statuses) == 0 && f.Delivery == "" && f.Search == "" && f.Level == 0 && f.ID == ""
}

func (i *Invite) foundFields() []any { return append(i.fields(), db.Null(&i.AcceptedAt)) }

// stored are the columns of invites that both of their tables have.
const stored = `id, organization_id, target_email, first_name, emailing_attempt_made, level, message, created_by,
	created_at, updated_at, expires_at, issue, mail_state, mail_reason, mail_attempts, mail_at, search`

// count returns the query for the number of invites that the filter selects.
func (f Filter) count(organizationID string, now time.Time) (query string, args []any) {
	tables, args := f.tables([]any{organizationID}, now)
	for i, t := range tables {
		tables[i] = `(SELECT COUNT(*) FROM ` + t + `)`
	}
	return `SELECT ` + strings.Join(tables, ` + `), args
}

// query returns the query for a page. It finds the newest invites of each table in the order of an index; otherwise all
// invites would have to be sorted.
func (f Filter) query(organizationID string, now time.Time, after cursor, p page.Page) (query string, args []any) {
	const newest = ` ORDER BY i.created_at DESC, i.id DESC LIMIT `
	older, args := ``, []any{organizationID, p.Peek(), p.Skip()}
	if after.id != "" {
		older, args = ` AND (i.created_at, i.id) < ($4, $5)`, append(args, after.createdAt, after.id)
	}
	tables, args := f.tables(args, now)
	for i, t := range tables {
		acceptedAt := `CAST(NULL AS TIMESTAMPTZ) AS accepted_at`
		if strings.HasPrefix(t, acceptedTable) {
			acceptedAt = `accepted_at`
		}
		tables[i] = `SELECT * FROM (SELECT ` + stored + `, ` + acceptedAt + ` FROM ` + t + older + newest + `CAST($2 AS BIGINT) + $3) AS newest`
	}
	return `SELECT ` + columns + `, i.accepted_at FROM (` + strings.Join(tables, ` UNION ALL `) + `) i JOIN users u ON u.id = i.created_by` +
		newest + `$2 OFFSET $3`, args
}

// acceptedTable holds the invites that were accepted, and no others.
const acceptedTable = `accepted_invites i`

// tables returns the tables of the invites that the filter selects, each with a condition of its own. The first of args
// is the organization's id.
func (f Filter) tables(args []any, now time.Time) (tables []string, all []any) {
	condition := ` WHERE organization_id = $1`
	switch f.Delivery {
	case "":
	case Failed: // written out, so that it uses the index of failed mails
		condition += ` AND mail_state = 'failed'`
	default:
		condition += ` AND mail_state = ` + queries.Arg(&args, f.Delivery)
	}
	if f.Search != "" {
		condition += ` AND ` + queries.Contains(&args, "search", f.Search)
	}
	if f.Level != 0 {
		condition += ` AND level = ` + queries.Arg(&args, f.Level)
	}
	if f.ID != "" {
		condition += ` AND id = ` + queries.Arg(&args, f.ID)
	}
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = []Status{IsPending, IsExpired}
	}
	pending, expired := slices.Contains(statuses, IsPending), slices.Contains(statuses, IsExpired)
	if pending || expired {
		open := `invites i` + condition
		switch {
		case !expired:
			open += ` AND expires_at > ` + queries.Arg(&args, now)
		case !pending:
			open += ` AND expires_at <= ` + queries.Arg(&args, now)
		}
		tables = append(tables, open)
	}
	if slices.Contains(statuses, IsAccepted) {
		tables = append(tables, acceptedTable+condition)
	}
	return tables, args
}
