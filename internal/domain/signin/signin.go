// Package signin signs people in: by a link that was mailed to them, by what an identity provider says, or by a key.
package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"foyer/internal/base/address"
	"foyer/internal/base/digest"
	"foyer/internal/base/fault"
	"foyer/internal/base/seal"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/job"
	"foyer/internal/infra/oidc"
	"foyer/internal/infra/queries"
	"foyer/internal/infra/quota"
)

// LinkTime is how long a link signs somebody in.
const LinkTime = 15 * time.Minute

const (
	// linkKept is how long an expired link is kept, so that it can be answered as expired.
	linkKept = 7 * 24 * time.Hour

	maxPerEmail   = 5  // links an hour for an address
	maxPerAddress = 20 // links an hour for one client
)

// Service signs people in.
type Service struct {
	DB            *db.DB
	Keys          *access.Keys
	Jobs          *job.Queue
	Organizations org.Service
	Invites       invite.Service
	BaseURL       string         // what links start with, without a slash at the end
	Mails         bool           // links go out by mail
	Provider      *oidc.Provider // nil: none
	Domains       []string       // of the addresses that the identity provider speaks for; none: all
	Box           seal.Box       // seals what browsers keep while they are at the provider, and guests
}

// seal returns a value as a sealed text for one purpose: unseal accepts it for no other.
func (s Service) seal(use string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return s.Box.Seal(text, []byte(use))
}

// unseal reads a value from a text, and reports whether seal made the text for the same purpose.
func (s Service) unseal(use, text string, value any) bool {
	plain, err := s.Box.Open(text, []byte(use))
	return err == nil && json.Unmarshal(plain, value) == nil
}

// Ask has a link mailed to a user. It does the same and takes the same time for any address, even if too many links
// were asked for: only the job finds out whether there is a user.
func (s Service) Ask(ctx context.Context, email, client string) error {
	if !s.Mails {
		return fault.New(fault.Denied, "This server mails no links to sign in with.")
	}
	email, err := org.ParseEmail("email", email)
	if err != nil {
		return err
	}
	now := s.DB.Now()
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if ok, err := quota.Take(ctx, tx, "signin from", client, 1, maxPerAddress, now, time.Hour); err != nil || !ok {
			return err
		}
		if ok, err := quota.Take(ctx, tx, "signin", email, 1, maxPerEmail, now, time.Hour); err != nil || !ok {
			return err
		}
		id := rand.Text()
		if err := insertRequest(ctx, tx, request{id, email, now}); err != nil {
			return err
		}
		return s.Jobs.Put(ctx, tx, MailJob, id)
	})
	if err == nil {
		s.Jobs.Wake()
	}
	return err
}

// Link makes, for an operator, a link that signs in the user with an address, to be passed on to them, and records that.
func (s Service) Link(ctx context.Context, email string) (url string, expires time.Time, err error) {
	user, err := s.Organizations.UserByEmail(ctx, email)
	if err != nil {
		return "", time.Time{}, err
	}
	token, l := s.newLink(user, false)
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := insertLink(ctx, tx, l); err != nil {
			return err
		}
		return s.Organizations.RecordSignIn(ctx, tx, access.Caller{}, user, activity.Created, activity.Changed("link", nil, "for 15 minutes"))
	})
	return s.url(token), l.expiresAt, err
}

func (s Service) newLink(u org.User, mailed bool) (token string, l link) {
	token = rand.Text() + rand.Text() // 260 bits
	return token, link{hash: digest.SHA256(token), userID: u.ID, email: u.Email, mailed: mailed, expiresAt: s.DB.Now().Add(LinkTime)}
}

func (s Service) url(token string) string { return s.BaseURL + "/signin/" + token }

var errExpired = fault.New(fault.Expired, "The link has expired: it works for 15 minutes. Ask for another one.")

// Open returns the address of the person whom a link signs in.
func (s Service) Open(ctx context.Context, token string) (email string, err error) {
	if len(token) > linkSize {
		g, err := s.openGuestLink(ctx, s.DB, token)
		return g.Email, err
	}
	l, err := s.open(ctx, s.DB, token, "")
	return l.email, err
}

// open finds a link. It returns an expired one with the fault.
func (s Service) open(ctx context.Context, q db.Querier, token, forUpdate string) (link, error) {
	l, err := findLink(ctx, q, digest.SHA256(token), forUpdate)
	if err != nil {
		return link{}, access.OrNotFound(err)
	}
	if !s.DB.Now().Before(l.expiresAt) {
		return l, errExpired
	}
	return l, nil
}

// Use signs in with a link, once: if several try at the same time, one succeeds.
func (s Service) Use(ctx context.Context, token string, d access.SessionDraft) (in Entered, err error) {
	d.Method = access.ByMail
	if len(token) > linkSize {
		return s.useGuestLink(ctx, token, d)
	}
	if l, err := s.open(ctx, s.DB, token, ""); err != nil { // so that a wrong link costs no transaction
		return Entered{}, cmp.Or(s.note(ctx, failure{userID: l.userID, reason: expiredLink}, d), err)
	}
	err = s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		l, err := s.open(ctx, tx, token, " FOR UPDATE")
		if err != nil {
			return err
		}
		if err := deleteLink(ctx, tx, l.hash); err != nil {
			return err
		}
		d.UserID = l.userID
		in.Session, err = s.enter(ctx, tx, d, l.mailed)
		return err
	})
	return in, err
}

// enter begins a session inside Keys.Change. With proves, it also marks the user's address as verified.
func (s Service) enter(ctx context.Context, tx *db.Tx, d access.SessionDraft, proves bool) (session string, err error) {
	if proves {
		if err := s.Organizations.VerifyEmail(ctx, tx, s.Keys.By(d, 0), d.UserID); err != nil {
			return "", err
		}
	}
	return s.Keys.InsertSession(ctx, tx, d)
}

// ByProvider signs in the person whom the provider names: the user with its subject or, the first time, with the
// address that it has verified. It makes no user: somebody who is not one becomes a guest if they have invites.
func (s Service) ByProvider(ctx context.Context, p oidc.Claims, d access.SessionDraft) (in Entered, err error) {
	d.Method = access.ByProvider
	var failed failure
	err = s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) error {
		d := d
		failed, in = failure{}, Entered{}
		userID, err := findIdentity(ctx, tx, p)
		known := err == nil
		if errors.Is(err, db.ErrNoRow) {
			userID, failed.reason, err = s.recognize(ctx, tx, p, s.Keys.By(d, 0))
		}
		if err != nil {
			failed.userID = userID
			return err
		}
		if userID == 0 {
			in.Guest, err = s.asGuest(ctx, tx, p)
			return err
		}
		d.UserID = userID
		in.Session, err = s.enter(ctx, tx, d, !known)
		return err
	})
	if err != nil {
		return Entered{}, cmp.Or(s.note(ctx, failed, d), err)
	}
	return in, nil
}

// asGuest seals a guest: somebody who is not a user, and whose address the provider has verified.
func (s Service) asGuest(ctx context.Context, tx *db.Tx, p oidc.Claims) (sealed string, err error) {
	email, err := org.ParseEmail("email", p.Email)
	if err != nil {
		return "", err
	}
	sealed, err = s.invited(ctx, tx, guestUse, Guest{Email: email, Method: access.ByProvider, By: p, Until: s.DB.Now().Add(GuestTime)})
	if err == nil && sealed == "" {
		err = fault.New(fault.Denied, "Nobody here has the address %s: ask an admin of your organization to invite it.", email)
	}
	return sealed, err
}

// ByKey signs in the user of a key.
func (s Service) ByKey(ctx context.Context, key string, d access.SessionDraft) (session string, err error) {
	d.Method = access.ByKey
	id, err := s.Keys.Identify(ctx, key)
	if fault.Is(err, fault.AuthenticationFailed) {
		expired, failed := s.Keys.Find(ctx, key)
		return "", cmp.Or(failed, s.note(ctx, failure{expired.UserID, expired.OrganizationID, expiredKey}, d), err)
	}
	if err != nil {
		return "", err
	}
	d.UserID, d.KeyID = id.UserID, id.KeyID
	return s.Keys.BeginSession(ctx, d)
}

// recognize finds the user of an account that signs in for the first time, and links them; 0: there is no user, and the
// provider is believed about the address. If the user cannot sign in this way, it also returns the reason.
func (s Service) recognize(ctx context.Context, tx *db.Tx, p oidc.Claims, by access.Caller) (userID int64, why reason, err error) {
	if p.Email == "" {
		return 0, "", fault.New(fault.Denied, "The identity provider does not send your e-mail address: ask the operator of this server to have it sent.")
	}
	email, err := org.ParseEmail("email", p.Email)
	if err != nil {
		return 0, "", fault.New(fault.Denied, "The identity provider does not know an e-mail address of yours that can be used here: ask its operator.")
	}
	user, err := findUser(ctx, tx, email)
	none := errors.Is(err, db.ErrNoRow)
	if err != nil && !none {
		return 0, "", err
	}
	switch {
	case !p.EmailVerified:
		return user.id, unverified, fault.New(fault.Denied, "The identity provider has not verified that %s is your address: verify it there, or ask its operator.", email)
	case !s.speaksFor(email):
		return user.id, foreignDomain, fault.New(fault.Denied, "On this server the identity provider does not vouch for addresses like %s: sign in another way, or ask the operator of this server.", email)
	case none:
		return 0, "", nil
	case user.identified:
		return user.id, anotherAccount, fault.New(fault.Denied, "The user %s belongs to another account at the identity provider: ask the operator of this server.", email)
	}
	return user.id, "", s.link(ctx, tx, p, user.id, by)
}

// link stores that an account at the provider belongs to a user, and records that.
func (s Service) link(ctx context.Context, tx *db.Tx, p oidc.Claims, userID int64, by access.Caller) error {
	if err := insertIdentity(ctx, tx, p, userID, s.DB.Now()); err != nil {
		return err
	}
	u, err := org.UserByID(ctx, tx, userID)
	if err != nil {
		return err
	}
	by.UserID = userID
	return s.Organizations.RecordSignIn(ctx, tx, by, u, activity.Updated, activity.Changed(providerField, nil, p.Issuer))
}

// providerField is what the activity calls the identity provider that knows a user.
const providerField = "identity_provider"

// Unlink separates a user, for an operator, from their accounts at the identity provider, and ends the sessions that
// began with it. It returns how many accounts there were.
func (s Service) Unlink(ctx context.Context, email string) (n int, err error) {
	user, err := s.Organizations.UserByEmail(ctx, email)
	if err != nil {
		return 0, err
	}
	err = s.Keys.Change(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		if n, err = s.UnlinkSince(ctx, tx, access.Caller{}, user, time.Time{}); err != nil {
			return err
		}
		return s.Keys.RemoveProviderSessions(ctx, tx, user.ID)
	})
	return n, err
}

// UnlinkSince separates a user, inside a transaction, from the accounts at the identity provider that were linked since
// a time, and records that.
func (s Service) UnlinkSince(ctx context.Context, tx *db.Tx, by access.Caller, u org.User, since time.Time) (n int, err error) {
	issuers, err := deleteIdentities(ctx, tx, u.ID, since)
	for _, issuer := range issuers {
		if err := s.Organizations.RecordSignIn(ctx, tx, by, u, activity.Updated, activity.Changed(providerField, issuer, nil)); err != nil {
			return 0, err
		}
	}
	return len(issuers), err
}

// speaksFor reports whether the provider is believed about an address.
func (s Service) speaksFor(email string) bool {
	return len(s.Domains) == 0 || slices.Contains(s.Domains, address.DomainOf(email))
}

// Tidy removes links, states and requests that are too old to be used.
func (s Service) Tidy(ctx context.Context) error {
	now := s.DB.Now()
	return errors.Join(
		queries.DeleteOld(ctx, s.DB, `signin_links`, `hash`, `expires_at < $1 ORDER BY expires_at`, now.Add(-linkKept)),
		queries.DeleteOld(ctx, s.DB, `signin_states`, `hash`, `expires_at < $1 ORDER BY expires_at`, now),
		queries.DeleteOld(ctx, s.DB, `signin_requests`, `id`, `created_at < $1 ORDER BY created_at`, now.Add(-linkKept)))
}
