package invite

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/precondition"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/job"
)

// Service makes, lists, sends and answers invites.
type Service struct {
	DB     *db.DB
	Keys   *access.Keys
	Jobs   *job.Queue
	Links  Links
	TTL    time.Duration // how long an invite lives
	Mails  bool          // there is a mail server
	Limits Limits
	Cache  *Cache

	// Shown and ShownMember append an invite and a member as the API shows them, for events; nil: there are no events.
	Shown       func(now time.Time) func([]byte, Invite) []byte
	ShownMember func([]byte, org.Membership) []byte
}

func (s Service) orgs() org.Service {
	return org.Service{DB: s.DB, Keys: s.Keys, Shown: s.ShownMember}
}

// Create makes one invite. It replaces a pending one for the same address.
func (s Service) Create(ctx context.Context, c access.Caller, d Draft) (Invite, error) {
	o, faults := d.check()
	if err := cmp.Or(faults.Err(), MayInvite(c), MayGive(c, o.level)); err != nil {
		return Invite{}, err
	}
	made, err := s.create(ctx, c, bulk{
		all:    []checkedDraft{o},
		refuse: func(_ int, err error) error { return err },
		answer: func(made []Outcome) any { return made[0].Invite },
	})
	if err != nil {
		return Invite{}, err
	}
	return made[0].Invite, nil
}

// CreateBulk makes all of the invites or none. Faults name the item they are in.
func (s Service) CreateBulk(ctx context.Context, c access.Caller, drafts []Draft) ([]Invite, error) {
	all := make([]checkedDraft, len(drafts))
	var faults fault.List
	seen := addresses{}
	for i, d := range drafts {
		if d.Fault != nil {
			faults.Add(d.Fault)
			continue
		}
		o, wrong := d.check()
		faults.Add(atItem(i, seen.add(o.email)))
		faults.Add(atItem(i, wrong.Err()))
		all[i] = o
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if err := MayInvite(c); err != nil || len(all) == 0 {
		return nil, err
	}
	for i, o := range all {
		if err := MayGive(c, o.level); err != nil {
			return nil, atItem(i, err)
		}
	}
	invites := func(made []Outcome) []Invite {
		invites := make([]Invite, len(made))
		for i := range made {
			invites[i] = made[i].Invite
		}
		return invites
	}
	made, err := s.create(ctx, c, bulk{
		all:    all,
		refuse: atItem,
		answer: func(made []Outcome) any { return invites(made) },
	})
	return invites(made), err
}

// CreatePartly makes the invites that it can, and returns the outcome of each draft. It refuses all if they are more
// than a day allows.
func (s Service) CreatePartly(ctx context.Context, c access.Caller, drafts []Draft) ([]Outcome, error) {
	if err := MayInvite(c); err != nil {
		return nil, err
	}
	wrong := make([]Outcome, len(drafts))
	var all []checkedDraft
	var indexes []int // in drafts
	seen := addresses{}
	for i, d := range drafts {
		o, faults := d.check()
		err := cmp.Or(withoutField(d.Fault), faults.Err())
		if err == nil {
			err = MayGive(c, o.level)
		}
		if err == nil { // a draft that is refused does not block another
			err = seen.add(o.email)
		}
		if wrong[i].Err = err; err == nil {
			all, indexes = append(all, o), append(indexes, i)
		}
	}
	if len(all) == 0 {
		return wrong, nil
	}
	merged := func(made []Outcome) []Outcome {
		outcomes := slices.Clone(wrong)
		for n, i := range indexes {
			outcomes[i] = made[n]
		}
		return outcomes
	}
	made, err := s.create(ctx, c, bulk{all: all, answer: func(made []Outcome) any { return merged(made) }})
	if err != nil {
		return nil, err
	}
	return merged(made), nil
}

// addresses are the addresses of the drafts in one request.
type addresses map[string]bool

// add adds an address, and fails if it was added before.
func (seen addresses) add(email string) error {
	if email != "" && seen[email] {
		return fault.Field(fault.NotUnique, "target_email", "Appears twice in this request.")
	}
	seen[email] = true
	return nil
}

// withoutField returns the fault of a draft without its field, for where the draft's index need not be named.
func withoutField(err error) error {
	if err == nil {
		return nil
	}
	f := *fault.Of(err)[0]
	f.Field = ""
	return &f
}

// atItem adds to faults which item of a list they are in.
func atItem(i int, err error) error {
	if err == nil || fault.IsOurs(err) {
		return err
	}
	var faults fault.List
	for _, f := range fault.Of(err) {
		at := *f
		if at.Field != "" {
			at.Field = strconv.Itoa(i) + "." + at.Field
		}
		faults = append(faults, &at)
	}
	return faults
}

// Own returns one invite, of any status, that the caller may delete.
func (s Service) Own(ctx context.Context, c access.Caller, id string) (Invite, error) {
	if id == "" {
		return Invite{}, access.ErrNotFound
	}
	found, err := s.Find(ctx, c, Filter{ID: id, Statuses: []Status{IsPending, IsExpired, IsAccepted}}, page.Page{Limit: 1})
	if err != nil {
		return Invite{}, err
	}
	if len(found.Items) == 0 {
		return Invite{}, access.ErrNotFound
	}
	return found.Items[0], MayDelete(c, found.Items[0].CreatedBy.ID)
}

// Delete deletes an invite. If it was accepted, what is kept of it is removed.
func (s Service) Delete(ctx context.Context, c access.Caller, id string) error {
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		i, err := findLocked(ctx, tx, c.Organization.ID, id)
		if errors.Is(err, db.ErrNoRow) {
			return s.forget(ctx, tx, c, id)
		}
		if err != nil {
			return err
		}
		c, err := s.confirmDelete(ctx, tx, c, i)
		if err != nil {
			return err
		}
		return s.remove(ctx, tx, c, i)
	})
}

// confirmDelete returns the caller with the rights they have by now, if they may delete and resend an invite, and it is as
// their request expects.
func (s Service) confirmDelete(ctx context.Context, tx *db.Tx, c access.Caller, i Invite) (access.Caller, error) {
	may := func(c access.Caller) error { return MayDelete(c, i.CreatedBy.ID) }
	if err := may(c); err != nil {
		return c, err
	}
	c, err := access.ConfirmCached(ctx, tx, c, s.DB.Now(), may)
	if err != nil {
		return c, err
	}
	return c, precondition.Check(ctx, i)
}

// forget removes what is kept of an invite that was accepted.
func (s Service) forget(ctx context.Context, tx *db.Tx, c access.Caller, id string) error {
	i, err := findAccepted(ctx, tx, c.Organization.ID, id)
	if err != nil {
		return access.OrNotFound(err)
	}
	if c, err = s.confirmDelete(ctx, tx, c, i); err != nil {
		return err
	}
	if err := forgetAccepted(ctx, tx, c.Organization.ID, id); err != nil {
		return err
	}
	return s.record(ctx, tx, c, i, activity.Deleted, s.DB.Now())
}

// Resend gives an invite a new expiry and a new link, which is mailed; earlier links no longer work. If its inviter may
// no longer invite at its level, and the caller may, the caller becomes its inviter.
func (s Service) Resend(ctx context.Context, c access.Caller, id string) (Invite, error) {
	var i Invite
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		i, err = s.resend(ctx, tx, c, id)
		return err
	})
	if err == nil && i.Mail.State == Queued {
		s.Jobs.Wake()
	}
	return i, err
}

func (s Service) resend(ctx context.Context, tx *db.Tx, c access.Caller, id string) (Invite, error) {
	i, err := findLocked(ctx, tx, c.Organization.ID, id)
	if err != nil {
		return Invite{}, access.OrNotFound(err)
	}
	if c, err = s.confirmDelete(ctx, tx, c, i); err != nil {
		return Invite{}, err
	}
	if i, err = s.renew(ctx, tx, c, i); err != nil {
		return Invite{}, err
	}
	if err := s.countMail(ctx, tx, i.TargetEmail); err != nil {
		return Invite{}, err
	}
	if err := s.countInvites(ctx, tx, i.OrganizationID, 1); err != nil {
		return Invite{}, err
	}
	addCount(tx, i.OrganizationID, 0)
	if err := reissue(ctx, tx, i); err != nil {
		return Invite{}, err
	}
	if err := s.post(ctx, tx, i); err != nil {
		return Invite{}, err
	}
	if err := access.KeepAnswer(ctx, tx, i); err != nil {
		return Invite{}, err
	}
	return i, s.record(ctx, tx, c, i, activity.Resent, i.UpdatedAt)
}

// renew returns the next issue of an invite, unless nobody could answer it.
func (s Service) renew(ctx context.Context, tx *db.Tx, c access.Caller, i Invite) (Invite, error) {
	level, err := levelOf(ctx, tx, i.OrganizationID, i.CreatedBy.ID)
	if err != nil {
		return Invite{}, err
	}
	if level < i.Level && MayGive(c, i.Level) == nil {
		if i.CreatedBy, err = findInviter(ctx, tx, c.UserID); err != nil {
			return Invite{}, err
		}
	}
	i.Issue++
	i.Mail = s.newMail(true)
	i.EmailAttempted = false
	in, err := org.Find(ctx, tx, i.OrganizationID)
	if err != nil {
		return Invite{}, err
	}
	i.UpdatedAt = s.DB.Now()
	i.ExpiresAt = i.UpdatedAt.Add(s.ttl(in))
	_, err = s.opened(ctx, tx, i, mailed)
	return i, err
}

// remove removes an invite that the transaction has locked.
func (s Service) remove(ctx context.Context, tx *db.Tx, c access.Caller, i Invite) error {
	addCount(tx, i.OrganizationID, -1)
	if err := remove(ctx, tx, i.OrganizationID, i.ID); err != nil {
		return err
	}
	return s.record(ctx, tx, c, i, activity.Deleted, s.DB.Now())
}

// replace removes the invite to an address that is invited again, or that a member gets.
func (s Service) replace(ctx context.Context, tx *db.Tx, c access.Caller, organizationID string, t target) error {
	if t.inviteID == "" {
		return nil
	}
	i, err := findLocked(ctx, tx, organizationID, t.inviteID)
	if err != nil {
		return err
	}
	return s.remove(ctx, tx, c, i)
}

func (s Service) record(ctx context.Context, tx *db.Tx, c access.Caller, i Invite, verb activity.Verb, at time.Time) error {
	e := activity.Entry{OrganizationID: i.OrganizationID, Scope: activity.Invite, ItemID: i.ID, Verb: verb, Name: i.TargetEmail}
	if s.Shown != nil {
		e.Data = string(s.Shown(at)(nil, i))
	}
	return activity.Record(ctx, tx, c.Did(e), at)
}
