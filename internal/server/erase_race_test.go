package server_test

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/face/api"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/job"
	"foyer/internal/server"
)

// inviting is an organization with an invite that ada, who is erased, has made; its owner changes the invite meanwhile.
type inviting struct {
	*server.Domain
	join       func(email string, level access.Level) access.Caller
	owner, ada access.Caller
	made       invite.Invite
	token      string // in its link
}

const inviter = "ada@inviter.example"

// withInvite makes such an organization, and the context of a request with an Idempotency-Key.
func withInvite(t *testing.T, url string) (*inviting, context.Context) {
	t.Helper()
	cfg := config.Config{Database: url, DataDir: t.TempDir(), Secret: "a secret that all servers of the tests share", InviteTTL: time.Hour}
	d := openDomain(t, cfg)
	o := must(d.Organizations.Create(t.Context(), "Acme"))(t)
	join := func(email string, level access.Level) access.Caller {
		m := must(d.Invites.AddMember(t.Context(), o.ID, email, level))(t)
		return access.Caller{UserID: m.User.ID, Level: level, Scope: access.All, Organization: o.Organization}
	}
	w := &inviting{Domain: d, join: join, owner: join("owner@x.example", access.Owner), ada: join(inviter, access.Admin)}
	w.made = must(d.Invites.Create(t.Context(), w.ada, draftTo("bob@x.example")))(t)
	link, _, err := d.Invites.Link(t.Context(), w.owner, w.made.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.token = path.Base(link)
	claim, _, err := d.Keys.Claim(t.Context(), w.owner, "name", "fingerprint", func(object any) access.Answer {
		made, _ := object.(invite.Invite)
		return access.Answer{Status: 200, Body: string(api.AppendInvite(d.DB.Now())(nil, made))}
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, claim.With(t.Context())
}

func draftTo(email string) invite.Draft { return invite.Draft{TargetEmail: patch.Of(email)} }

// erase is dbtest.Meanwhile for erasing ada.
func (w *inviting) erase(t *testing.T) (start, end func()) {
	t.Helper()
	return dbtest.Meanwhile(t, w.DB, func() error {
		_, err := w.Organizations.EraseUser(t.Context(), inviter)
		return err
	})
}

// resend is dbtest.Meanwhile for resending ada's invite in the request of ctx.
func (w *inviting) resend(ctx context.Context, t *testing.T) (start, end func()) {
	t.Helper()
	return dbtest.Meanwhile(t, w.DB, func() error {
		_, err := w.Invites.Resend(ctx, w.owner, w.made.ID)
		return err
	})
}

// If data that shows the maker of an invite is about to be stored while they are erased, it is erased too.
func TestEraseInviterMeanwhile(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		before, do func(context.Context, *inviting) error
	}{
		"resent": {do: func(ctx context.Context, w *inviting) error {
			_, err := w.Invites.Resend(ctx, w.owner, w.made.ID)
			return err
		}},
		"taken over": {
			before: func(ctx context.Context, w *inviting) (err error) {
				if w.made, err = w.Invites.Create(ctx, w.join("eve@x.example", access.Admin), draftTo("carl@x.example")); err != nil {
					return err
				}
				_, err = w.Organizations.RemoveMember(ctx, w.owner.Organization.ID, "eve@x.example")
				return err
			},
			do: func(ctx context.Context, w *inviting) error {
				_, err := w.Invites.Resend(ctx, w.ada, w.made.ID)
				return err
			},
		},
		"deleted": {do: func(ctx context.Context, w *inviting) error { return w.Invites.Delete(ctx, w.owner, w.made.ID) }},
		"replaced": {do: func(ctx context.Context, w *inviting) error {
			_, err := w.Invites.Create(ctx, w.owner, draftTo(w.made.TargetEmail))
			return err
		}},
		"declined": {do: func(ctx context.Context, w *inviting) error {
			return w.Invites.Decline(ctx, w.token, access.Caller{})
		}},
		"accepted, and forgotten": {
			before: func(ctx context.Context, w *inviting) error {
				_, err := w.Invites.Accept(ctx, w.token, invite.Names{}, access.Caller{})
				return err
			},
			do: func(ctx context.Context, w *inviting) error { return w.Invites.Delete(ctx, w.owner, w.made.ID) },
		},
		"expired": {do: func(ctx context.Context, w *inviting) error {
			at := w.made.ExpiresAt
			w.DB.Now = func() time.Time { return at }
			return w.Invites.Expire(ctx)
		}},
		"not mailed": {before: func(ctx context.Context, w *inviting) error {
			return w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
				return db.Exec(ctx, tx, `UPDATE invites SET mail_state = 'queued' WHERE id = $1`, w.made.ID)
			})
		}, do: func(ctx context.Context, w *inviting) error {
			note := invite.Post{Service: w.Invites}.Kind().Ended
			return w.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
				return note(ctx, tx, job.Job{Item: w.made.ID + ".1"}, errors.New("refused"), false)
			})
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dbtest.EachURL(t, func(t *testing.T, url string) {
				w, ctx := withInvite(t, url)
				if tc.before != nil {
					check(t, tc.before(t.Context(), w))
				}
				start, end := w.erase(t)
				shown, begun := w.Invites.Shown, false
				w.Invites.Shown = func(now time.Time) func([]byte, invite.Invite) []byte {
					begun = true
					start()
					return shown(now)
				}
				if err := tc.do(ctx, w); err != nil || !begun {
					t.Fatalf("begun: %t, %v", begun, err)
				}
				end()
				wantGone(t, w.DB, inviter)
			})
		})
	}
}

// An invite that is resent while its maker is erased does not show them.
func TestResendWhileErasing(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w, ctx := withInvite(t, url)
		start, end := w.resend(ctx, t)
		w.Organizations.UserErasers = append(w.Organizations.UserErasers, func(ctx context.Context, tx *db.Tx, _ activity.Person) error {
			_, err := db.One[int](ctx, tx, nil, `SELECT 1`) // the pending statements have run when this returns
			start()
			return err
		})
		must(w.Organizations.EraseUser(t.Context(), inviter))(t)
		end()
		wantGone(t, w.DB, inviter)
	})
}

// If an invite gets another maker meanwhile, a resend that waits for that succeeds.
func TestResendWhileTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w, ctx := withInvite(t, url)
		start, end := w.resend(ctx, t)
		err := w.DB.InTx(t.Context(), func(inTx context.Context, tx *db.Tx) error {
			_, err := db.Changed(inTx, tx, `UPDATE invites SET created_by = $1 WHERE id = $2`, w.owner.UserID, w.made.ID)
			start()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		end()
	})
}

// Inviting several addresses of a user while they are erased comes first or second. There is no deadlock.
func TestInviteSeveralAddressesWhileErasing(t *testing.T) {
	t.Parallel()
	w, _ := withInvite(t, dbtest.Postgres(t)) // SQLite has one transaction at a time
	const married = "ada@married.example"
	must(w.Organizations.SetUser(t.Context(), inviter, org.SelfPatch{Email: patch.Of(married)}))(t)
	other := must(w.Organizations.Create(t.Context(), "Other"))(t)
	m := must(w.Invites.AddMember(t.Context(), other.ID, "host@x.example", access.Owner))(t)
	host := access.Caller{UserID: m.User.ID, Level: m.Level, Scope: access.All, Organization: other.Organization}
	w.Invites.Mails, w.Invites.Limits.Mails = true, 10
	drafts := []invite.Draft{draftTo(inviter), draftTo(married)}
	for _, i := range must(w.Invites.CreateBulk(t.Context(), host, drafts))(t) {
		if i.TargetEmail == inviter {
			check(t, w.Invites.Delete(t.Context(), host, i.ID))
		}
	}
	invited, erased := make(chan error, 1), make(chan error, 1)
	err := w.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.All[int](ctx, tx, nil, `SELECT 1 FROM quotas FOR UPDATE`); err != nil {
			return err
		}
		go func() {
			_, err := w.Organizations.EraseUser(t.Context(), married)
			erased <- err
		}()
		if err := dbtest.AwaitWaiting(t.Context(), w.DB, 1, erased); err != nil {
			return err
		}
		go func() {
			_, err := w.Invites.CreateBulk(t.Context(), host, drafts)
			invited <- err
		}()
		return dbtest.AwaitWaiting(t.Context(), w.DB, 2, invited, erased)
	})
	if err := errors.Join(err, <-invited, <-erased); err != nil {
		t.Error(err)
	}
}

// Forgetting an accepted invite of a user, who has its address by now, while they are erased comes second. There is no
// deadlock.
func TestForgetAcceptedWhileErasing(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w, _ := withInvite(t, url)
		must(w.Invites.Accept(t.Context(), w.token, invite.Names{}, access.Caller{}))(t)
		address := w.made.TargetEmail
		for _, change := range [][2]string{{address, "bob@married.example"}, {inviter, address}} {
			must(w.Organizations.SetUser(t.Context(), change[0], org.SelfPatch{Email: patch.Of(change[1])}))(t)
		}
		start, end := dbtest.Meanwhile(t, w.DB, func() error {
			if err := w.Invites.Delete(t.Context(), w.owner, w.made.ID); !fault.Is(err, fault.NotFound) {
				return cmp.Or(err, errors.New("forgotten twice"))
			}
			return nil
		})
		w.Organizations.UserErasers = slices.Insert(w.Organizations.UserErasers, 1, func(ctx context.Context, tx *db.Tx, _ activity.Person) error {
			_, err := db.One[int](ctx, tx, nil, `SELECT 1`) // the invites are erased when this returns
			start()
			return err
		})
		if _, err := w.Organizations.EraseUser(t.Context(), address); err != nil {
			t.Error(err)
		}
		end()
	})
}
