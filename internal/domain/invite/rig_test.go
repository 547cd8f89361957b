package invite_test

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/job"
	"foyer/internal/infra/mail"
	"foyer/internal/infra/mail/mailtest"
)

const (
	secret  = "a secret of the tests, long enough"
	baseURL = "https://foyer.example"
)

// rig is the services around invites, with a mail server.
type rig struct {
	*testing.T
	db      *db.DB
	orgs    org.Service
	invites invite.Service
	smtp    *mailtest.Server
	owner   access.Caller

	at atomic.Pointer[time.Time] // where the database's clock stands; nil: it goes on

	mu   sync.Mutex
	seen []invite.MailState
}

// eachBeside is each for tests of two servers that share a database.
func eachBeside(t *testing.T, test func(r *rig, other invite.Service)) {
	t.Helper()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		r := newRig(t, dbtest.Open(t, url))
		other := r.invites
		other.DB = dbtest.Open(t, url)
		other.Keys = access.NewKeys(other.DB)
		test(r, other)
	})
}

// each runs test on both engines.
func each(t *testing.T, test func(r *rig)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { test(newRig(t, d)) })
}

func newRig(t *testing.T, d *db.DB) *rig {
	t.Helper()
	links, err := invite.NewLinks(secret, baseURL)
	if err != nil {
		t.Fatal(err)
	}
	keys := access.NewKeys(d)
	r := &rig{T: t, db: d, orgs: org.Service{DB: d, Keys: keys}, smtp: mailtest.Start(t, mailtest.Config{})}
	now := d.Now
	d.Now = func() time.Time { // the jobs that send mails call it, too
		if at := r.at.Load(); at != nil {
			return *at
		}
		return now()
	}
	r.invites = invite.Service{DB: d, Keys: keys, Jobs: job.New(d), Links: links, TTL: time.Hour, Mails: true, Cache: invite.NewCache()}
	r.owner = r.join(r.newOrg("Acme"), "owner@acme.example", access.Owner)
	return r
}

func (r *rig) newOrg(name string) access.Organization {
	r.Helper()
	o, err := r.orgs.Create(r.Context(), name)
	if err != nil {
		r.Fatal(err)
	}
	return o.Organization
}

// join makes a member and returns them as a caller.
func (r *rig) join(o access.Organization, email string, level access.Level) access.Caller {
	r.Helper()
	m, err := r.invites.AddMember(r.Context(), o.ID, email, level)
	if err != nil {
		r.Fatal(err)
	}
	return access.Caller{UserID: m.User.ID, Scope: access.All, Level: level, Organization: o}
}

func draft(email string) invite.Draft { return invite.Draft{TargetEmail: patch.Of(email)} }

func (r *rig) invite(c access.Caller, d invite.Draft) invite.Invite {
	r.Helper()
	i, err := r.invites.Create(r.Context(), c, d)
	if err != nil {
		r.Fatal(err)
	}
	return i
}

func (r *rig) resend(id string) invite.Invite {
	r.Helper()
	i, err := r.invites.Resend(r.Context(), r.owner, id)
	if err != nil {
		r.Fatal(err)
	}
	return i
}

// set changes settings of the owner's organization.
func (r *rig) set(to org.Settings) {
	r.Helper()
	if _, err := r.orgs.Set(r.Context(), access.Caller{}, r.owner.Organization.ID, to); err != nil {
		r.Fatal(err)
	}
}

// leave removes a member of the owner's organization.
func (r *rig) leave(email string) {
	r.Helper()
	if _, err := r.orgs.RemoveMember(r.Context(), r.owner.Organization.ID, email); err != nil {
		r.Fatal(err)
	}
}

// run sends mails until it is stopped, or the test ends.
func (r *rig) run() (stop func()) {
	r.Helper()
	settings, err := mail.Parse(r.smtp.URL())
	if err != nil {
		r.Fatal(err)
	}
	post := invite.Post{Service: r.invites, SMTP: mail.SMTP{Settings: settings}, From: "Foyer <foyer@foyer.example>", Seen: r.note}
	ctx, cancel := context.WithCancel(r.Context())
	var running sync.WaitGroup
	running.Go(func() {
		r.invites.Jobs.Run(ctx, slog.New(slog.DiscardHandler), map[string]job.Kind{invite.MailJob: post.Kind()})
	})
	stop = func() {
		cancel()
		running.Wait()
	}
	r.Cleanup(stop)
	return stop
}

func (r *rig) note(s invite.MailState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, s)
}

// until returns an invite of the owner's organization, once one is as wanted.
func (r *rig) until(want func(invite.Invite) bool) invite.Invite {
	r.Helper()
	var found invite.Invite
	r.await(func() bool {
		all, err := r.invites.Find(r.Context(), r.owner, invite.Filter{}, page.First)
		if err != nil {
			r.Fatal(err)
		}
		n := slices.IndexFunc(all.Items, want)
		if n >= 0 {
			found = all.Items[n]
		}
		return n >= 0
	})
	return found
}

// await returns once so returns true.
func (r *rig) await(so func() bool) {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			r.Fatal("still not as wanted")
		}
	}
}

// again repeats do as long as the database is unavailable: if there are many at once, some may have to wait too long.
func again(do func() error) error {
	err := do()
	for fault.Is(err, fault.Unavailable) {
		err = do()
	}
	return err
}

// accepted returns an invite that somebody has accepted.
func (r *rig) accepted(id string) invite.Invite {
	r.Helper()
	found, err := r.invites.Find(r.Context(), r.owner, invite.Filter{Statuses: []invite.Status{invite.IsAccepted}, ID: id}, page.First)
	if err != nil || len(found.Items) != 1 {
		r.Fatalf("%d accepted invites %s, %v", len(found.Items), id, err)
	}
	return found.Items[0]
}

func inState(s invite.MailState) func(invite.Invite) bool {
	return func(i invite.Invite) bool { return i.Mail.State == s }
}

var link = regexp.MustCompile(regexp.QuoteMeta(baseURL) + `/invite/([A-Za-z0-9_-]+)`)

// mailed waits for n mails and returns the token in the last.
func (r *rig) mailed(n int) string {
	r.Helper()
	mails, err := r.smtp.Wait(r.Context(), n)
	if err != nil {
		r.Fatal(err)
	}
	return link.FindStringSubmatch(mails[n-1].Text(r))[1]
}

// handed returns the token of the link that an owner passes on by hand.
func (r *rig) handed(i invite.Invite) string {
	r.Helper()
	url, _, err := r.invites.Link(r.Context(), r.owner, i.ID)
	if err != nil {
		r.Fatal(err)
	}
	return strings.TrimPrefix(url, baseURL+"/invite/")
}

// later moves the database's clock, and stops it there.
func (r *rig) later(d time.Duration) {
	at := r.db.Now().Add(d)
	r.at.Store(&at)
}

// mailedToken returns the token of the link in an invite's first mail, made as documented.
func (r *rig) mailedToken(i invite.Invite) string {
	r.Helper()
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "foyer invite links v1", sha256.Size)
	if err != nil {
		r.Fatal(err)
	}
	return tokenOf(key, i)
}

// tokenOf is mailedToken with any key.
func tokenOf(key []byte, i invite.Invite) string {
	id := uuid.MustParse(i.ID)
	code := hmac.New(sha256.New, key)
	code.Write(id[:])
	code.Write([]byte{0, 0, 0, 0, 0, 0, 0, byte(i.Issue), 'm'})
	return base64.RawURLEncoding.EncodeToString(code.Sum(id[:]))
}
