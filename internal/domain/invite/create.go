package invite

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"foyer/internal/base/dryrun"
	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
)

// Outcome is the result of a draft: an invite, or why there is none.
type Outcome struct {
	Invite Invite
	Err    error
}

// bulk is the drafts of one request.
type bulk struct {
	all []checkedDraft
	// refuse returns the error of the whole request if a draft is refused. If it is nil, the others are invited.
	refuse func(i int, err error) error
	// answer returns what the request is answered with.
	answer func([]Outcome) any
}

// create invites the people of all drafts, or of those that can be invited.
func (s Service) create(ctx context.Context, c access.Caller, b bulk) ([]Outcome, error) {
	by, err := s.inviters(ctx, c)
	if err != nil {
		return nil, err
	}
	var outcomes []Outcome
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if outcomes, err = s.createAll(ctx, tx, c, by, b); err != nil {
			return err
		}
		return access.KeepAnswer(ctx, tx, b.answer(outcomes))
	})
	if err != nil {
		return nil, err
	}
	if dryrun.Is(ctx) {
		for i := range outcomes {
			outcomes[i].Invite.ID = uuid.Nil.String()
		}
		return outcomes, nil
	}
	if slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Invite.Mail.State == Queued }) {
		s.Jobs.Wake() // so that the mails do not wait for the next poll
	}
	return outcomes, nil
}

// createAll makes an invite of each draft. All transactions take their locks in this order: the inviter's membership,
// people by their addresses, quotas of mails, the quota of invites, counts.
func (s Service) createAll(ctx context.Context, tx *db.Tx, c access.Caller, by org.Inviters, b bulk) ([]Outcome, error) {
	turns := byEmail(b.all)
	for _, i := range turns {
		if err := lockTarget(ctx, tx, c.Organization.ID, b.all[i].email, c.UserID); err != nil {
			return nil, err
		}
	}
	c, err := access.ConfirmCached(ctx, tx, c, s.DB.Now(), b.may)
	if err != nil {
		return nil, err
	}
	outcomes := make([]Outcome, len(b.all))
	made := 0
	count := func() (err error) { made, err = s.countQuotas(ctx, tx, c, b.all, turns, outcomes); return err }
	find := func() error { return s.findTargets(ctx, tx, c, by.Organization, b.all, outcomes) }
	steps := []func() error{count, find}
	if b.refuse == nil { // only those who can be invited count
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := cmp.Or(step(), b.refused(outcomes)); err != nil {
			return nil, err
		}
	}
	for i, o := range b.all {
		if outcomes[i].Err != nil {
			continue
		}
		if outcomes[i].Invite, err = s.createOne(ctx, tx, c, by, o); err != nil {
			return nil, err
		}
	}
	addCount(tx, c.Organization.ID, made)
	return outcomes, nil
}

// may reports whether a caller may invite at the levels of the drafts.
func (b bulk) may(c access.Caller) error {
	err := MayInvite(c)
	for _, each := range b.all {
		err = cmp.Or(err, MayGive(c, each.level))
	}
	return err
}

// refused returns the error of the whole request because of drafts that are refused, or nil.
func (b bulk) refused(outcomes []Outcome) error {
	var faults fault.List
	for i, o := range outcomes {
		if o.Err != nil && b.refuse != nil {
			faults.Add(b.refuse(i, o.Err))
		}
	}
	return faults.Err()
}

// MayGive reports whether a caller may invite at a level. A level above member needs all scopes: otherwise a key for
// invites alone would lead to a key that can do all.
func MayGive(c access.Caller, l access.Level) error {
	if l > c.Level {
		return fault.New(fault.Denied, "You may invite people up to your own level, %d (%s).", c.Level, c.Level)
	}
	if l > access.Member {
		return c.Scope.Require(access.All)
	}
	return nil
}

// inviters returns the inviter and the organization, from memory if nothing has changed.
func (s Service) inviters(ctx context.Context, c access.Caller) (org.Inviters, error) {
	key, version := invitersOf{c.UserID, c.Organization.ID}, s.Keys.Version()
	if found, ok := s.Cache.inviters.Get(key, version); ok {
		return found, nil
	}
	found, err := s.orgs().Inviters(ctx, c)
	if err == nil {
		s.Cache.inviters.Put(key, version, found)
	}
	return found, access.OrNotFound(err)
}

// findTargets finds what the addresses of drafts already are to the organization, and stores which drafts are refused
// because of that.
func (s Service) findTargets(ctx context.Context, tx *db.Tx, c access.Caller, in org.Organization, drafts []checkedDraft, outcomes []Outcome) error {
	for i := range drafts {
		o := &drafts[i]
		var err error
		if o.target, err = findTarget(ctx, tx, c.Organization.ID, o.email, c.UserID); err != nil {
			return err
		}
		outcomes[i].Err = s.mayReplace(c, in, *o)
	}
	return nil
}

// countQuotas counts the mails to each address and the invites, for all drafts that are not refused, and returns the
// number of those.
func (s Service) countQuotas(ctx context.Context, tx *db.Tx, c access.Caller, drafts []checkedDraft, turns []int, outcomes []Outcome) (int, error) {
	can := 0
	for _, i := range turns {
		if outcomes[i].Err != nil {
			continue
		}
		if drafts[i].mail {
			if err := s.countMail(ctx, tx, drafts[i].email); fault.IsOurs(err) {
				return 0, err
			} else if err != nil {
				outcomes[i].Err = err
				continue
			}
		}
		can++
	}
	return can, s.countInvites(ctx, tx, c.Organization.ID, can)
}

// byEmail returns the indexes of drafts, sorted by address. All transactions take locks in this order, so that no two
// wait for each other.
func byEmail(all []checkedDraft) []int {
	indexes := make([]int, len(all))
	for i := range all {
		indexes[i] = i
	}
	slices.SortFunc(indexes, func(a, b int) int { return strings.Compare(all[a].email, all[b].email) })
	return indexes
}

// mayReplace reports whether somebody can be invited, given what its address already is to the organization.
func (s Service) mayReplace(c access.Caller, in org.Organization, o checkedDraft) error {
	t := o.target
	switch {
	case !in.Admits(o.email):
		return fault.Field(fault.Invalid, "target_email", "Must be at a domain that this organization takes: %s.", fault.Enumerate(in.AllowedDomains))
	case t.member:
		return fault.Field(fault.AlreadyMember, "target_email", "%s is already a member of this organization.", o.email)
	case t.inviteID != "" && s.DB.Now().Before(t.expiresAt) && MayDelete(c, t.createdBy) != nil: // an expired invite blocks nobody
		return fault.New(fault.Denied, "%s has been invited by somebody else: ask them or an admin.", o.email)
	}
	return nil
}

// createOne makes one invite, in place of a pending one for the same address.
func (s Service) createOne(ctx context.Context, tx *db.Tx, c access.Caller, by org.Inviters, o checkedDraft) (Invite, error) {
	in := by.Organization
	if err := s.replace(ctx, tx, c, in.ID, o.target); err != nil {
		return Invite{}, err
	}
	now := s.DB.Now()
	i := Invite{
		ID: uuid.Must(uuid.NewV7()).String(), OrganizationID: in.ID, TargetEmail: o.email, FirstName: o.firstName,
		Level: o.level, Message: o.message, CreatedBy: by.User, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(cmp.Or(o.expiresIn, s.ttl(in))),
		Issue: 1, Mail: s.newMail(o.mail),
	}
	if err := insert(ctx, tx, i); err != nil {
		return Invite{}, err
	}
	if err := s.post(ctx, tx, i); err != nil {
		return Invite{}, err
	}
	return i, s.record(ctx, tx, c, i, activity.Created, now)
}

// ttl returns how long an invite of an organization lives.
func (s Service) ttl(in org.Organization) time.Duration {
	if in.InviteTTL == 0 {
		return s.TTL
	}
	return min(time.Duration(in.InviteTTL)*time.Second, s.TTL)
}

// newMail returns the mail of a new issue.
func (s Service) newMail(wanted bool) Mail {
	if wanted && s.Mails {
		return Mail{State: Queued}
	}
	return Mail{State: NoMail}
}

// post has an invite's mail sent once tx has been committed.
func (s Service) post(ctx context.Context, tx *db.Tx, i Invite) error {
	if i.Mail.State != Queued {
		return nil
	}
	return s.Jobs.Put(ctx, tx, MailJob, i.issueName())
}
