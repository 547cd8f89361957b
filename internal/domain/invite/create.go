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

// create carries out all orders or none; blame adds to a fault which order it is in.
func (s Service) create(ctx context.Context, c access.Caller, orders []order, blame func(int, error) error) ([]Invite, error) {
	if err := MayInvite(c); err != nil {
		return nil, err
	}
	for i, o := range orders {
		if err := mayGive(c, o.level); err != nil {
			return nil, blame(i, err)
		}
	}
	by, err := s.hosts(ctx, c)
	if err != nil {
		return nil, err
	}
	var invites []Invite
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if invites, err = s.placeAll(ctx, tx, c, by, orders, blame); err != nil {
			return err
		}
		return access.KeepAnswer(ctx, tx, invites)
	})
	if err != nil {
		return nil, err
	}
	if dryrun.Is(ctx) {
		for i := range invites {
			invites[i].ID = uuid.Nil.String()
		}
		return invites, nil
	}
	s.wake(invites...)
	return invites, nil
}

// placeAll makes an invite of each order. All transactions take their locks in this order:
// people by their addresses, quotas, counts.
func (s Service) placeAll(ctx context.Context, tx *db.Tx, c access.Caller, by org.Hosts, orders []order, blame func(int, error) error) ([]Invite, error) {
	if err := lockTargets(ctx, tx, c.Organization.ID, orders); err != nil {
		return nil, err
	}
	if err := s.countQuotas(ctx, tx, c, orders); err != nil {
		return nil, err
	}
	addCount(tx, c.Organization.ID, len(orders))
	invites := make([]Invite, len(orders))
	for i, o := range orders {
		t, err := findTarget(ctx, tx, c.Organization.ID, o.email)
		if err != nil {
			return nil, err
		}
		if invites[i], err = s.createOne(ctx, tx, c, by, o, t); err != nil {
			return nil, blame(i, err)
		}
	}
	return invites, nil
}

// mayGive reports whether a caller may invite at a level: else a key for invites alone would
// lead to a key that can do all.
func mayGive(c access.Caller, l access.Level) error {
	if l > c.Level {
		return fault.New(fault.Denied, "You may invite people up to your own level, %d (%s).", c.Level, c.Level)
	}
	if l > access.Member {
		return c.Scope.Require(access.All)
	}
	return nil
}

// wake has the mails of invites sent now, not only at the next poll.
func (s Service) wake(invites ...Invite) {
	if slices.ContainsFunc(invites, func(i Invite) bool { return i.Mail.State == Queued }) {
		s.Jobs.Wake()
	}
}

// hosts returns who invites, from memory if nothing has changed there.
func (s Service) hosts(ctx context.Context, c access.Caller) (org.Hosts, error) {
	key, version := hostsOf{c.UserID, c.Organization.ID}, s.Keys.Version()
	if hosts, ok := s.Cache.hosts.Get(key, version); ok {
		return hosts, nil
	}
	hosts, err := s.orgs().Hosts(ctx, c)
	if err == nil {
		s.Cache.hosts.Put(key, version, hosts)
	}
	return hosts, err
}

// lockTargets makes other transactions that invite the same people, or change their
// invites, wait.
func lockTargets(ctx context.Context, tx *db.Tx, organizationID string, orders []order) error {
	emails := make([]string, len(orders))
	for i, o := range orders {
		emails[i] = o.email
	}
	slices.Sort(emails)
	for _, email := range emails {
		if err := lockTarget(ctx, tx, organizationID, email); err != nil {
			return err
		}
	}
	return nil
}

// countQuotas counts the invites and mails of orders.
func (s Service) countQuotas(ctx context.Context, tx *db.Tx, c access.Caller, orders []order) error {
	if err := s.countInvites(ctx, tx, c.Organization.ID, len(orders)); err != nil {
		return err
	}
	var emails []string
	for _, o := range orders {
		if o.mail {
			emails = append(emails, o.email)
		}
	}
	return s.countMails(ctx, tx, emails)
}

// createOne makes one invite, in place of a pending one for the same address.
func (s Service) createOne(ctx context.Context, tx *db.Tx, c access.Caller, by org.Hosts, o order, t target) (Invite, error) {
	in := by.Organization
	if !in.Admits(o.email) {
		return Invite{}, fault.Field(fault.Invalid, "target_email", "Must be an address at %s: this organization takes no others.",
			strings.Join(in.AllowedDomains, " or "))
	}
	if t.member {
		return Invite{}, fault.Field(fault.AlreadyMember, "target_email", "%s is already a member of this organization.", o.email)
	}
	if t.pending.id != "" {
		if err := s.replace(ctx, tx, c, t.pending); err != nil {
			return Invite{}, err
		}
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

// ttl is how long an invite of an organization lives.
func (s Service) ttl(in org.Organization) time.Duration {
	if in.InviteTTL == 0 {
		return s.TTL
	}
	return min(time.Duration(in.InviteTTL)*time.Second, s.TTL)
}

// newMail is the mail of a new issue.
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

// replace removes an invite for a new one. One that has expired is in nobody's way.
func (s Service) replace(ctx context.Context, tx *db.Tx, c access.Caller, old pending) error {
	if s.DB.Now().Before(old.expiresAt) && MayDelete(c, old.createdBy) != nil {
		return fault.New(fault.Denied, "%s has been invited by somebody else: ask them or an admin.", old.email)
	}
	return s.remove(ctx, tx, c, old)
}
