package invite

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"foyer/internal/access"
	"foyer/internal/activity"
	"foyer/internal/db"
	"foyer/internal/fault"
	"foyer/internal/org"
)

// create carries out all orders or none; blame adds to a fault which order it is in.
func (s Service) create(ctx context.Context, c access.Caller, orders []order, blame func(int, error) error) ([]Invite, error) {
	if err := MayInvite(c); err != nil {
		return nil, err
	}
	for i, o := range orders {
		if o.level > c.Level {
			return nil, blame(i, fault.New(fault.Denied, "You may invite people up to your own level, %d (%s).", c.Level, c.Level))
		}
	}
	by, err := s.hosts(ctx, c)
	if err != nil {
		return nil, err
	}
	var invites []Invite
	err = s.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		invites, err = s.placeAll(ctx, tx, c, by, orders, blame)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.wake(invites...)
	return invites, nil
}

// placeAll makes an invite of each order. All transactions take their locks in this order:
// people by their addresses, brakes, counts. What the targets are is asked before the
// brakes and answered after them: in one trip.
func (s Service) placeAll(ctx context.Context, tx *db.Tx, c access.Caller, by org.Hosts, orders []order, blame func(int, error) error) ([]Invite, error) {
	if err := lockTargets(ctx, tx, c.Organization.ID, orders); err != nil {
		return nil, err
	}
	answers := make([]func() (target, error), len(orders))
	for i, o := range orders {
		answers[i] = askTarget(ctx, tx, c.Organization.ID, o.email)
	}
	if err := s.brake(ctx, tx, c, orders); err != nil {
		return nil, err
	}
	if err := addCount(ctx, tx, c.Organization.ID, len(orders)); err != nil {
		return nil, err
	}
	invites := make([]Invite, len(orders))
	for i, o := range orders {
		t, err := answers[i]()
		if err != nil {
			return nil, err
		}
		if invites[i], err = s.place(ctx, tx, c, by, o, t); err != nil {
			return nil, blame(i, err)
		}
	}
	return invites, nil
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
	if hosts, ok := s.Memory.hosts.Get(key, version); ok {
		return hosts, nil
	}
	hosts, err := s.orgs().Hosts(ctx, c)
	if err == nil {
		s.Memory.hosts.Put(key, version, hosts)
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

// brake counts the invites and mails of orders.
func (s Service) brake(ctx context.Context, tx *db.Tx, c access.Caller, orders []order) error {
	if err := s.brakeInvites(ctx, tx, c.Organization.ID, len(orders)); err != nil {
		return err
	}
	var emails []string
	for _, o := range orders {
		if o.mail {
			emails = append(emails, o.email)
		}
	}
	return s.brakeMails(ctx, tx, emails)
}

// place makes one invite, in place of a pending one for the same address.
func (s Service) place(ctx context.Context, tx *db.Tx, c access.Caller, by org.Hosts, o order, t target) (Invite, error) {
	in := by.Organization
	if !in.Admits(o.email) {
		return Invite{}, fault.Field(fault.Invalid, "target_email", "Must be an address at %s: this organization takes no others.",
			strings.Join(in.AllowedDomains, " or "))
	}
	if t.member {
		return Invite{}, fault.Field(fault.Invalid, "target_email", "%s is a member of this organization already.", o.email)
	}
	if t.pending.id != "" {
		if err := s.replace(ctx, tx, c, t.pending); err != nil {
			return Invite{}, err
		}
	}
	now := s.DB.Now()
	i := Invite{
		ID: uuid.Must(uuid.NewV7()).String(), OrganizationID: in.ID, TargetEmail: o.email, FirstName: o.firstName,
		Level: o.level, Message: o.message, CreatedBy: by.User, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(s.TTL),
		Issue: 1, Mail: s.newMail(o.mail),
	}
	if err := insert(ctx, tx, i); err != nil {
		return Invite{}, err
	}
	if err := s.post(ctx, tx, i); err != nil {
		return Invite{}, err
	}
	return i, record(ctx, tx, c, i.pending(), activity.Created, now)
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
