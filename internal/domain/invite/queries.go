package invite

import (
	"context"
	"errors"
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/base/page"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

const columns = `i.id, i.organization_id, i.target_email, i.first_name, i.emailing_attempt_made, i.level, i.message,
	i.created_at, i.updated_at, i.expires_at, i.issue, i.mail_state, i.mail_reason, i.mail_attempts, i.mail_at, ` + org.UserColumns

func (i *Invite) fields() []any {
	return append([]any{
		&i.ID, &i.OrganizationID, &i.TargetEmail, &i.FirstName, &i.EmailAttempted, &i.Level, &i.Message,
		&i.CreatedAt, &i.UpdatedAt, &i.ExpiresAt, &i.Issue, &i.Mail.State, &i.Mail.Reason, &i.Mail.Attempts, db.Null(&i.Mail.At),
	}, i.CreatedBy.Fields()...)
}

const selectInvite = `SELECT ` + columns + ` FROM invites i JOIN users u ON u.id = i.created_by `

func insert(ctx context.Context, tx *db.Tx, i Invite) error {
	return db.Exec(ctx, tx, `
		INSERT INTO invites (id, organization_id, target_email, first_name, level, message, created_by, created_at, updated_at, expires_at,
			issue, mail_state, search)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10, $11, $12)`,
		i.ID, i.OrganizationID, i.TargetEmail, i.FirstName, i.Level, i.Message, i.CreatedBy.ID, i.CreatedAt, i.ExpiresAt,
		i.Issue, i.Mail.State, i.search())
}

// reissue stores an invite that is sent again.
func reissue(ctx context.Context, tx *db.Tx, i Invite) error {
	return db.Exec(ctx, tx, `
		UPDATE invites SET issue = $2, updated_at = $3, expires_at = $4, mail_state = $5, mail_reason = '', mail_attempts = 0, mail_at = NULL,
			emailing_attempt_made = FALSE, created_by = $6, expiry_announced = FALSE
		WHERE id = $1 AND organization_id = $7`, i.ID, i.Issue, i.UpdatedAt, i.ExpiresAt, i.Mail.State, i.CreatedBy.ID, i.OrganizationID)
}

// findIssue returns the organization of an invite, accepted or not, whose issue is still the given one.
func findIssue(ctx context.Context, tx *db.Tx, id string, issue int64) (organizationID string, err error) {
	return db.One[string](ctx, tx, nil, `
		SELECT organization_id FROM invites WHERE id = $1 AND issue = $2
		UNION ALL SELECT organization_id FROM accepted_invites WHERE id = $1 AND issue = $2`, id, issue)
}

// noteMail stores the result of a try to mail one issue of an invite, if the invite is in the given table, and returns
// how many rows it changed.
func noteMail(ctx context.Context, tx *db.Tx, table, organizationID, id string, issue int64, m Mail, asked bool) (int64, error) {
	return db.Changed(ctx, tx, `
		UPDATE `+table+` SET mail_state = $3, mail_reason = $4, mail_attempts = $5, mail_at = $7,
			emailing_attempt_made = CASE WHEN CAST($6 AS BOOLEAN) THEN TRUE ELSE emailing_attempt_made END
		WHERE id = $1 AND issue = $2 AND organization_id = $8 AND mail_state IN ('queued', 'deferred')`,
		id, issue, m.State, m.Reason, m.Attempts, asked, m.At, organizationID)
}

// noteGivenUp stores that the mail of an accepted invite is no longer tried.
func noteGivenUp(ctx context.Context, tx *db.Tx, organizationID, id string, issue int64) error {
	return db.Exec(ctx, tx, `
		UPDATE accepted_invites SET mail_state = CASE mail_state WHEN 'deferred' THEN 'failed' ELSE 'none' END
		WHERE id = $1 AND issue = $2 AND organization_id = $3 AND mail_state IN ('queued', 'deferred')`, id, issue, organizationID)
}

// findAnywhere finds an invite of any organization, for the holder of its link.
func findAnywhere(ctx context.Context, q db.Querier, id string) (Invite, error) {
	return db.One(ctx, q, (*Invite).fields, selectInvite+`WHERE i.id = $1`, id)
}

func toAddress(ctx context.Context, q db.Querier, email string, limit int) ([]Invite, error) {
	return db.All(ctx, q, (*Invite).fields, selectInvite+`WHERE i.target_email = $1 ORDER BY i.created_at DESC, i.id DESC LIMIT $2`, email, limit)
}

// removeIssue removes an invite, and returns the invite as it was read, with the state that its mail has by now. Of
// several transactions, one does; the others get ErrNoRow.
func removeIssue(ctx context.Context, tx *db.Tx, read Invite) (Invite, error) {
	mail := func(i *Invite) []any {
		return []any{&i.EmailAttempted, &i.Mail.State, &i.Mail.Reason, &i.Mail.Attempts, db.Null(&i.Mail.At)}
	}
	now, err := db.One(ctx, tx, mail, `
		DELETE FROM invites WHERE organization_id = $1 AND id = $2 AND issue = $3
		RETURNING emailing_attempt_made, mail_state, mail_reason, mail_attempts, mail_at`, read.OrganizationID, read.ID, read.Issue)
	read.EmailAttempted, read.Mail = now.EmailAttempted, now.Mail
	return read, err
}

// keepAccepted stores an accepted invite where it is kept for a time.
func keepAccepted(ctx context.Context, tx *db.Tx, i Invite, at time.Time, userID int64) error {
	return db.Exec(ctx, tx, `
		INSERT INTO accepted_invites (`+stored+`, accepted_at, accepted_by)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
		i.ID, i.OrganizationID, i.TargetEmail, i.FirstName, i.EmailAttempted, i.Level, i.Message, i.CreatedBy.ID,
		i.CreatedAt, i.UpdatedAt, i.ExpiresAt, i.Issue, i.Mail.State, i.Mail.Reason, i.Mail.Attempts, db.Null(&i.Mail.At), i.search(), at, userID)
}

// findAccepted finds and locks an invite that was accepted.
func findAccepted(ctx context.Context, tx *db.Tx, organizationID, id string) (Invite, error) {
	return db.One(ctx, tx, (*Invite).foundFields, `SELECT `+columns+`, i.accepted_at FROM accepted_invites i JOIN users u ON u.id = i.created_by
		WHERE i.organization_id = $1 AND i.id = $2 FOR UPDATE OF i`+whoMade, organizationID, id)
}

// forgetAccepted removes an accepted invite that the transaction has locked.
func forgetAccepted(ctx context.Context, tx *db.Tx, organizationID, id string) error {
	return db.Exec(ctx, tx, `DELETE FROM accepted_invites WHERE organization_id = $1 AND id = $2`, organizationID, id)
}

// whoMade locks the user u who made an invite, so that they cannot be erased before the transaction has stored what
// shows them.
const whoMade = ` FOR KEY SHARE OF u`

// findLocked finds an invite that the transaction is going to change. If somebody takes the invite over while this
// waits for them, PostgreSQL finds it with neither inviter, so it is looked up once more.
func findLocked(ctx context.Context, tx *db.Tx, organizationID, id string) (i Invite, err error) {
	for range 2 {
		i, err = db.One(ctx, tx, (*Invite).fields, selectInvite+`WHERE i.organization_id = $1 AND i.id = $2 FOR UPDATE OF i`+whoMade, organizationID, id)
		if !errors.Is(err, db.ErrNoRow) {
			break
		}
	}
	return i, err
}

// lockTarget makes other transactions that invite an address, or change its invite, wait. Before the invite it locks
// the membership of the inviter, 0 for nobody. Erasing a user removes their memberships first, so that nothing with
// their name is stored after that.
func lockTarget(ctx context.Context, tx *db.Tx, organizationID, email string, by int64) error {
	db.Lock(tx, "invite to "+organizationID+" "+email)
	return db.Exec(ctx, tx, `
		SELECT 1 FROM invites WHERE organization_id = $1 AND target_email = $2 AND (CAST($3 AS BIGINT) = 0
			OR EXISTS (SELECT 1 FROM memberships WHERE organization_id = $1 AND user_id = $3 FOR KEY SHARE)) FOR UPDATE`,
		organizationID, email, by)
}

// target is what an address already is to an organization: that of a member, or of an invitee.
type target struct {
	admitted  bool // the inviter is still a member
	member    bool
	inviteID  string // "": there is none
	createdBy int64
	expiresAt time.Time
}

func (t *target) fields() []any {
	return []any{&t.admitted, &t.member, &t.inviteID, &t.createdBy, db.Null(&t.expiresAt)}
}

// findTarget fails with access.ErrChanged if the inviter, 0 for nobody, is not a member.
func findTarget(ctx context.Context, tx *db.Tx, organizationID, email string, by int64) (target, error) {
	t, err := db.One(ctx, tx, (*target).fields, `
		SELECT CAST($3 AS BIGINT) = 0 OR EXISTS (SELECT 1 FROM memberships WHERE organization_id = $1 AND user_id = $3),
			EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.organization_id = t.organization_id AND u.email = t.email),
			COALESCE(i.id, ''), COALESCE(i.created_by, 0), i.expires_at
		FROM (SELECT CAST($1 AS TEXT) AS organization_id, CAST($2 AS TEXT) AS email) t
		LEFT JOIN invites i ON i.organization_id = t.organization_id AND i.target_email = t.email`, organizationID, email, by)
	if err == nil && !t.admitted {
		err = access.ErrChanged
	}
	return t, err
}

func list(ctx context.Context, q db.Querier, organizationID string, after cursor, p page.Page) ([]Invite, error) {
	condition, args := ``, []any{organizationID, p.Peek(), p.Skip()}
	if after.id != "" {
		condition, args = ` AND (i.created_at, i.id) < ($4, $5)`, append(args, after.createdAt, after.id)
	}
	return db.All(ctx, q, (*Invite).fields, selectInvite+`
		WHERE i.organization_id = $1`+condition+` ORDER BY i.created_at DESC, i.id DESC LIMIT $2 OFFSET $3`, args...)
}

// remove removes an invite that the transaction has locked.
func remove(ctx context.Context, tx *db.Tx, organizationID, id string) error {
	return db.Exec(ctx, tx, `DELETE FROM invites WHERE organization_id = $1 AND id = $2`, organizationID, id)
}

// overdue returns the organizations with invites that expired before a time. Such invites were also made before it,
// unless a clock was set back; there is an index by the time they were made.
func overdue(ctx context.Context, q db.Querier, before time.Time) ([]string, error) {
	return db.All[string](ctx, q, nil, `
		SELECT DISTINCT c.organization_id FROM invite_counts c WHERE EXISTS (
			SELECT 1 FROM invites i WHERE i.organization_id = c.organization_id AND i.created_at < $1 AND i.expires_at < $1)
		ORDER BY c.organization_id`, before)
}

func removeOverdue(ctx context.Context, tx *db.Tx, organizationID string, before time.Time, limit int) (int64, error) {
	return db.Changed(ctx, tx, `
		DELETE FROM invites WHERE id IN (
			SELECT id FROM invites WHERE organization_id = $1 AND created_at < $2 AND expires_at < $2 ORDER BY created_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
		AND expires_at < $2`, organizationID, before, limit)
}

// pendingNow is how many invites an organization has, and a version that changes with each of them, and with any user,
// since invites show their inviters.
type pendingNow struct {
	count   int
	version int64
}

func (p *pendingNow) fields() []any { return []any{&p.count, &p.version} }

func countPending(ctx context.Context, q db.Querier, organizationID string) (pendingNow, error) {
	return db.One(ctx, q, (*pendingNow).fields, `
		SELECT CAST(COALESCE(SUM(pending), 0) AS BIGINT), CAST(COALESCE(SUM(version), 0) AS BIGINT) FROM (
			SELECT pending, version FROM invite_counts WHERE organization_id = $1
			UNION ALL
			SELECT 0, version FROM access_version WHERE id = 1) AS parts`, organizationID)
}

// addCount adds n to the count of an organization's invites, for a transaction that changes invites, and counts up
// their version.
func addCount(tx *db.Tx, organizationID string, n int) {
	db.Add(tx, `
		INSERT INTO invite_counts (organization_id, shard, pending, version) VALUES ($1, $2, $3, $4)
		ON CONFLICT (organization_id, shard) DO UPDATE SET pending = invite_counts.pending + $3, version = invite_counts.version + $4`,
		[]any{organizationID, tx.Shard}, int64(n), cache.VersionStep())
}

// levelOf returns the level of a member, or 0 if the user is not a member.
func levelOf(ctx context.Context, q db.Querier, organizationID string, userID int64) (access.Level, error) {
	return db.One[access.Level](ctx, q, nil,
		`SELECT COALESCE((SELECT level FROM memberships WHERE organization_id = $1 AND user_id = $2), 0)`, organizationID, userID)
}

// findInviter finds and locks a user who takes over an invite. A user who has been erased since they were admitted is
// not a member any more, so the invite is refused.
func findInviter(ctx context.Context, tx *db.Tx, id int64) (org.User, error) {
	return db.One(ctx, tx, (*org.User).Fields, `SELECT `+org.UserColumns+` FROM users u WHERE u.id = $1`+whoMade, id)
}

func userExists(ctx context.Context, q db.Querier, email string) (bool, error) {
	return db.One[bool](ctx, q, nil, `SELECT EXISTS (SELECT 1 FROM users WHERE email = $1)`, email)
}

func isMember(ctx context.Context, q db.Querier, organizationID, email string) (bool, error) {
	return db.One[bool](ctx, q, nil, `
		SELECT EXISTS (
			SELECT 1 FROM memberships m JOIN users u ON u.id = m.user_id WHERE m.organization_id = $1 AND u.email = $2)`, organizationID, email)
}

// expired lists the next invites that have expired and that no event has announced.
func expired(ctx context.Context, tx *db.Tx, now time.Time, limit int) ([]Invite, error) {
	return db.All(ctx, tx, (*Invite).fields, selectInvite+`
		WHERE i.expires_at <= $1 AND NOT i.expiry_announced ORDER BY i.expires_at LIMIT $2 FOR UPDATE OF i SKIP LOCKED`+whoMade, now, limit)
}

func setExpiryAnnounced(ctx context.Context, tx *db.Tx, i Invite) error {
	return db.Exec(ctx, tx, `UPDATE invites SET expiry_announced = TRUE WHERE organization_id = $1 AND id = $2`, i.OrganizationID, i.ID)
}
