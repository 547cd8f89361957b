package invite_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/invite"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/job"
	"foyer/internal/infra/mail/mailtest"
)

func TestInviteArrives(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		unmailed := draft("b@x.example")
		unmailed.SendEmail = patch.Of(false)
		r.invite(r.owner, unmailed)
		r.run()
		i := r.invite(r.owner, invite.Draft{TargetEmail: patch.Of("ada@x.example"), FirstName: patch.Of("Ada"), Message: patch.Of("Hi!")})
		if i.EmailAttempted || i.Mail.State != invite.Queued {
			r.Errorf("before: %t, %+v", i.EmailAttempted, i.Mail)
		}
		token := r.mailed(1)
		m := r.smtp.Mails()[0]
		for name, want := range map[string]string{
			"From": `"Foyer" <foyer@foyer.example>`, "To": "<ada@x.example>", "Reply-To": "<owner@acme.example>",
			"Message-ID": "<" + i.ID + ".1@foyer.example>", "Subject": "You are invited to join Acme",
			"List-Unsubscribe": "<" + baseURL + "/invite/" + token + ">",
		} {
			if got := strings.Join(strings.Fields(m.Header(r, name)), ""); got != strings.Join(strings.Fields(want), "") {
				r.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		sent := r.until(inState(invite.Sent))
		if !sent.EmailAttempted || sent.Mail.Attempts != 1 || sent.Mail.Reason != "" {
			r.Errorf("after: %t, %+v", sent.EmailAttempted, sent.Mail)
		}
		if all, err := r.invites.Find(r.Context(), r.owner, invite.Filter{}, page.First); err != nil || all.Items[1].EmailAttempted || all.Items[1].Mail.State != invite.NoMail {
			r.Errorf("an invite without a mail: %v, %+v", err, all.Items)
		}
	})
}

// A mail that waited shows the name that the organization has when it is sent.
func TestMailShowsTheNewName(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.invite(r.owner, draft("ada@x.example"))
		r.set(org.Settings{Name: new("Renamed")})
		r.run()
		r.mailed(1)
		if got := r.smtp.Mails()[0].Header(r, "Subject"); got != "You are invited to join Renamed" {
			r.Errorf("subject %q", got)
		}
	})
}

func TestMailThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer mailtest.Answer
		want   invite.MailState
		reason string
	}{
		"451":           {mailtest.Refuse(451, "try later"), invite.Deferred, "try later"},
		"550":           {mailtest.Refuse(550, "no such user"), invite.Failed, "no such user"},
		"550 recipient": {mailtest.RefuseRecipient(550, "unknown"), invite.Failed, "unknown"},
		"drop":          {mailtest.Drop, invite.Deferred, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(r *rig) {
				r.smtp.Script(test.answer)
				r.run()
				r.invite(r.owner, draft("ada@x.example"))
				i := r.until(inState(test.want))
				if !i.EmailAttempted || i.Mail.Attempts != 1 || i.Mail.Reason == "" || !strings.Contains(i.Mail.Reason, test.reason) {
					r.Errorf("%t, %+v", i.EmailAttempted, i.Mail)
				}
				failed := activity.Filter{OrganizationID: i.OrganizationID, Verb: activity.Failed}
				found, err := activity.List(r.Context(), r.db, failed, page.First)
				if err != nil || (found.Count == 1) != (test.want == invite.Failed) {
					r.Errorf("%d entries, %v", found.Count, err)
				}
			})
		})
	}
}

// A mail server may repeat the link in its answer, which many people can read.
func TestReasonDoesNotHoldTheLink(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		i := r.invite(r.owner, draft("ada@x.example"))
		token := r.mailedToken(i)
		r.smtp.Script(mailtest.Refuse(451, "URL blocked: "+baseURL+"/invite/"+token))
		r.run()
		i = r.until(inState(invite.Deferred))
		if strings.Contains(i.Mail.Reason, token) || !strings.Contains(i.Mail.Reason, "URL blocked") {
			r.Error(i.Mail.Reason)
		}
		if _, err := r.invites.Open(r.Context(), token); err != nil {
			r.Errorf("the test does not know the token: %v", err)
		}
	})
}

func TestDeferredMailIsSentSoon(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.smtp.Script(mailtest.Refuse(451, "try later"))
		r.run()
		r.invite(r.owner, draft("ada@x.example"))
		r.until(inState(invite.Deferred))
		if err := r.db.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			return db.Exec(r.Context(), tx, `UPDATE jobs SET run_at = created_at`)
		}); err != nil {
			r.Fatal(err)
		}
		r.invites.Jobs.Wake()
		i := r.until(inState(invite.Sent))
		r.mu.Lock()
		defer r.mu.Unlock()
		if i.Mail.Attempts != 2 || i.Mail.Reason != "" || !slices.Equal(r.seen, []invite.MailState{invite.Deferred, invite.Sent}) {
			r.Errorf("%+v, told %v", i.Mail, r.seen)
		}
	})
}

// An invite that is accepted by a link passed on by hand, while its mail is under way, still shows the result of the
// mail.
func TestAcceptedWhileItsMailIsUnderWay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer mailtest.Answer
		want   invite.MailState
	}{
		"taken": {mailtest.Answer{}, invite.Sent}, "refused": {mailtest.Refuse(550, "no such user"), invite.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(r *rig) {
				answered := make(chan struct{})
				r.smtp.Script(test.answer.After(answered))
				r.run()
				i := r.invite(r.owner, draft("ada@x.example"))
				r.await(func() bool { return r.smtp.Asked() == 1 })
				r.accept(r.handed(i))
				if i = r.accepted(i.ID); i.Mail.State != invite.Queued {
					r.Errorf("before: %+v", i.Mail)
				}
				close(answered)
				r.await(func() bool { i = r.accepted(i.ID); return i.Mail.State != invite.Queued })
				if !i.EmailAttempted || i.Mail.State != test.want || i.Mail.Attempts != 1 || i.Mail.At.IsZero() {
					r.Errorf("after: %t, %+v", i.EmailAttempted, i.Mail)
				}
			})
		})
	}
}

// An invite that is accepted while the result of its mail is being stored shows that result, too.
func TestAcceptedWhileItsMailIsNoted(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		i := r.invite(r.owner, draft("ada@x.example"))
		token := r.handed(i)
		start, end := dbtest.Meanwhile(r, r.db, func() error {
			_, err := r.invites.Accept(r.Context(), token, invite.Names{}, access.Caller{})
			return err
		})
		if err := r.db.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			// Changed, since what Exec runs may reach PostgreSQL only with the next statement.
			const sent = `UPDATE invites SET emailing_attempt_made = TRUE, mail_state = 'sent', mail_attempts = 1`
			_, err := db.Changed(ctx, tx, sent)
			start()
			return err
		}); err != nil {
			r.Fatal(err)
		}
		end()
		if i = r.accepted(i.ID); !i.EmailAttempted || i.Mail.State != invite.Sent || i.Mail.Attempts != 1 {
			r.Errorf("%t, %+v", i.EmailAttempted, i.Mail)
		}
	})
}

// The mail of an invite that is accepted before a server takes the mail does not wait forever.
func TestAcceptedBeforeItsMailIsTaken(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		deferred := r.invite(r.owner, draft("deferred@x.example"))
		r.smtp.Script(mailtest.Refuse(451, "try later"))
		stop := r.run()
		r.until(inState(invite.Deferred))
		stop()
		queued := r.invite(r.owner, draft("queued@x.example"))
		for _, i := range []invite.Invite{deferred, queued} {
			r.accept(r.handed(i))
		}
		if err := r.db.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
			return db.Exec(ctx, tx, `UPDATE jobs SET run_at = created_at`)
		}); err != nil {
			r.Fatal(err)
		}
		r.run()
		r.await(func() bool {
			deferred, queued = r.accepted(deferred.ID), r.accepted(queued.ID)
			return deferred.Mail.State != invite.Deferred && queued.Mail.State != invite.Queued
		})
		if !deferred.EmailAttempted || deferred.Mail.State != invite.Failed || !strings.Contains(deferred.Mail.Reason, "try later") {
			r.Errorf("tried once: %t, %+v", deferred.EmailAttempted, deferred.Mail)
		}
		if queued.EmailAttempted || queued.Mail.State != invite.NoMail || len(r.smtp.Mails()) != 0 {
			r.Errorf("never tried: %t, %+v", queued.EmailAttempted, queued.Mail)
		}
	})
}

func TestNoMailServerNoAttempt(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.invites.Mails = false
		i := r.invite(r.owner, draft("ada@x.example"))
		if n, err := r.invites.Jobs.Waiting(r.Context()); n != 0 || err != nil || i.Mail.State != invite.NoMail {
			r.Errorf("%d jobs, %v, %+v", n, err, i.Mail)
		}
	})
}

func TestNoMailIfNotWanted(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		d := draft("ada@x.example")
		d.SendEmail = patch.Of(false)
		i := r.invite(r.owner, d)
		if n, err := r.invites.Jobs.Waiting(r.Context()); n != 0 || err != nil || i.Mail.State != invite.NoMail {
			r.Errorf("%d jobs, %v, %+v", n, err, i.Mail)
		}
	})
}

func TestInviteThatIsGoneIsNotMailed(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		gone := r.invite(r.owner, draft("gone@x.example"))
		if err := r.invites.Delete(r.Context(), r.owner, gone.ID); err != nil {
			r.Fatal(err)
		}
		r.invite(r.owner, draft("twice@x.example"))
		r.invite(r.owner, draft("twice@x.example")) // replaces the first
		last := r.invite(r.owner, draft("ada@x.example"))
		r.resend(last.ID)
		r.run()
		r.mailed(2)
		for n := 1; n > 0; {
			n, _ = r.invites.Jobs.Waiting(r.Context())
		}
		if mails := r.smtp.Mails(); len(mails) != 2 || r.smtp.Asked() != 2 {
			r.Errorf("%d mails, %d asked", len(mails), r.smtp.Asked())
		}
	})
}

func TestResend(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		admin := r.join(r.owner.Organization, "admin@acme.example", access.Admin)
		d := draft("ada@x.example")
		d.Level, d.ExpiresIn = patch.Of("admin"), patch.Of[int64](60)
		i := r.invite(admin, d)
		r.later(2 * time.Hour)
		again, err := r.invites.Resend(r.Context(), r.owner, i.ID)
		if err != nil || again.ID != i.ID || again.CreatedBy.ID != admin.UserID || !again.ExpiresAt.Equal(r.db.Now().Add(r.invites.TTL)) || !again.CreatedAt.Equal(i.CreatedAt) {
			r.Fatalf("%v: %+v", err, again)
		}
		r.run()
		if _, err := r.invites.Open(r.Context(), r.mailed(1)); err != nil {
			r.Error(err)
		}
		if id := r.smtp.Mails()[0].Header(r, "Message-ID"); id != "<"+i.ID+".2@foyer.example>" {
			r.Error(id)
		}
		before, ttl := r.orgs, int64(72*time.Hour/time.Second)
		before.MaxInviteTTL = 72 * time.Hour // of a server whose maximum is lower now
		if _, err := before.Set(r.Context(), r.owner, r.owner.Organization.ID, org.Settings{InviteTTL: &ttl}); err != nil {
			r.Fatal(err)
		}
		if i, err := r.invites.Resend(r.Context(), r.owner, i.ID); err != nil || !i.ExpiresAt.Equal(r.db.Now().Add(r.invites.TTL)) {
			r.Errorf("lives longer than the server lets: %s, %v", i.ExpiresAt, err)
		}
	})
}

func TestResentMailIsYetToBeTried(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.smtp.Script(mailtest.Refuse(550, "no"))
		i := r.invite(r.owner, draft("ada@x.example"))
		r.run()
		r.until(inState(invite.Failed))
		r.invites.Mails = false // so that no mail is tried meanwhile
		again, err := r.invites.Resend(r.Context(), r.owner, i.ID)
		if err != nil || again.EmailAttempted {
			r.Errorf("%v, %+v", err, again)
		}
		stored := r.until(func(i invite.Invite) bool { return i.Issue == 2 && !i.EmailAttempted })
		if stored.Mail != again.Mail || !stored.UpdatedAt.Equal(again.UpdatedAt) || !stored.ExpiresAt.Equal(again.ExpiresAt) {
			r.Errorf("stored: %+v, answered: %+v", stored, again)
		}
	})
}

// An invite that nobody could answer is not mailed again: who may not invite at its level does not become its inviter.
func TestResendOfWhatCannotBeAnswered(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		in := r.owner.Organization
		admin, gone := r.join(in, "admin@acme.example", access.Admin), r.join(in, "gone@acme.example", access.Owner)
		d := draft("ada@x.example")
		d.Level = patch.Of("owner")
		i := r.invite(gone, d)
		r.leave("gone@acme.example")
		narrow := r.owner
		narrow.Scope = access.MemberWrite
		for _, c := range []access.Caller{admin, narrow} {
			_, err := r.invites.Resend(r.Context(), c, i.ID)
			r.wantFault(err, fault.Denied)
		}
		again, err := r.invites.Resend(r.Context(), r.owner, i.ID)
		if err != nil || again.CreatedBy.ID != r.owner.UserID {
			r.Fatalf("%v, %+v", err, again.CreatedBy)
		}
		r.until(func(i invite.Invite) bool { return i.CreatedBy.ID == r.owner.UserID })
		if _, err := r.invites.Open(r.Context(), r.mailedToken(again)); err != nil {
			r.Error(err)
		}
		domains := []string{"acme.example"}
		r.set(org.Settings{AllowedDomains: &domains})
		_, err = r.invites.Resend(r.Context(), r.owner, i.ID)
		r.wantFault(err, fault.Denied)
	})
}

func TestInviteThatCannotBeAnsweredIsNotMailed(t *testing.T) {
	t.Parallel()
	for reason, meanwhile := range map[string]func(r *rig){
		"expired before the mail server took": func(r *rig) { r.later(r.invites.TTL) },
		"no longer takes members": func(r *rig) {
			domains := []string{"acme.example"}
			r.set(org.Settings{AllowedDomains: &domains})
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			each(t, func(r *rig) {
				r.invite(r.owner, draft("ada@x.example"))
				meanwhile(r)
				r.run()
				i := r.until(inState(invite.Failed))
				if i.EmailAttempted || r.smtp.Asked() != 0 || !strings.Contains(i.Mail.Reason, reason) {
					r.Errorf("asked %d times, %t, %+v", r.smtp.Asked(), i.EmailAttempted, i.Mail)
				}
			})
		})
	}
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.invites.Limits = invite.Limits{Invites: 5, Mails: 2}
		throttled := func(err error, after time.Duration) {
			r.Helper()
			if !fault.Is(err, fault.QuotaExceeded) || fault.Of(err)[0].RetryAfter != after {
				r.Errorf("%+v, want quota exceeded for %s", err, after)
			}
		}
		r.later(0)
		first := r.invite(r.owner, draft("ada@x.example"))
		r.later(time.Hour)
		if err := r.invites.Delete(r.Context(), r.owner, first.ID); err != nil {
			r.Fatal(err)
		}
		second := r.invite(r.owner, draft("ada@x.example"))
		_, err := r.invites.CreateBulk(r.Context(), r.owner, []invite.Draft{draft("b@x.example"), draft("ada@x.example")})
		throttled(err, 23*time.Hour)
		if !strings.Contains(err.Error(), "to ada@x.example") {
			r.Errorf("whom it is about is not said: %v", err)
		}
		if _, err := r.invites.CreateBulk(r.Context(), r.owner, []invite.Draft{draft("b@x.example"), draft("no address")}); !fault.Is(err, fault.Invalid) {
			r.Error(err)
		}
		_, err = r.invites.CreateBulk(r.Context(), r.owner, []invite.Draft{draft("b@x.example"), draft("c@x.example"), draft("d@x.example"), draft("e@x.example")})
		throttled(err, 23*time.Hour)
		bulk, err := r.invites.CreateBulk(r.Context(), r.owner, []invite.Draft{draft("b@x.example"), draft("c@x.example"), draft("d@x.example")})
		if err != nil {
			r.Fatal(err)
		}
		_, err = r.invites.Create(r.Context(), r.owner, draft("e@x.example"))
		throttled(err, 23*time.Hour)
		_, err = r.invites.Resend(r.Context(), r.owner, bulk[0].ID)
		throttled(err, 23*time.Hour)
		r.invites.Limits.Invites = 6
		r.resend(bulk[0].ID)
		r.invites.Limits.Invites = 20
		for id, after := range map[string]time.Duration{second.ID: 23 * time.Hour, bulk[0].ID: 24 * time.Hour} {
			_, err = r.invites.Resend(r.Context(), r.owner, id)
			throttled(err, after)
		}
		r.later(23 * time.Hour)
		r.invite(r.owner, draft("ada@x.example"))
	})
}

func TestQuotasOfAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		r.invites.Limits = invite.Limits{Invites: 2}
		r.later(365 * 24 * time.Hour)
		r.invite(r.owner, draft("a@x.example"))
		r.invite(r.owner, draft("b@x.example"))
		r.later(-365 * 24 * time.Hour)
		r.invite(r.owner, draft("c@x.example"))
		r.later(-time.Minute) // as another server's clock may be
		r.invite(r.owner, draft("d@x.example"))
		if _, err := r.invites.Create(r.Context(), r.owner, draft("e@x.example")); !fault.Is(err, fault.QuotaExceeded) {
			r.Errorf("%v, want quota exceeded", err)
		}
	})
}

// The result of a mail is stored with its own invite and issue, in any organization, accepted or not.
func TestResultsOfOtherMails(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		elsewhere := r.join(r.newOrg("Umbrella"), "owner@umbrella.example", access.Owner)
		all := []invite.Invite{r.invite(elsewhere, draft("a@x.example"))}
		for _, email := range []string{"b@x.example", "c@x.example", "d@x.example", "e@x.example", "f@x.example"} {
			all = append(all, r.invite(r.owner, draft(email)))
		}
		for _, i := range all[4:] {
			r.accept(r.handed(i))
		}
		r.resend(all[3].ID)
		kind := invite.Post{Service: r.invites}.Kind()
		note := func(i invite.Invite, failed error) {
			r.Helper()
			err := r.db.InTx(r.Context(), func(ctx context.Context, tx *db.Tx) error {
				return kind.Ended(ctx, tx, job.Job{Item: i.ID + ".1", Attempt: 1}, failed, false)
			})
			if err != nil {
				r.Fatal(err)
			}
		}
		note(all[0], nil)
		note(all[1], errors.New("refused"))
		note(all[3], errors.New("its second issue is on its way"))
		if err := kind.Do(r.Context(), job.Job{Item: all[4].ID + ".1"}); err != nil { // it is accepted, and no longer mailed
			r.Fatal(err)
		}
		want := []invite.MailState{invite.Sent, invite.Failed, invite.Queued, invite.Queued, invite.NoMail, invite.Queued}
		for n, i := range all {
			by := r.owner
			if n == 0 {
				by = elsewhere
			}
			found, err := r.invites.Find(r.Context(), by, invite.Filter{Statuses: []invite.Status{invite.IsPending, invite.IsAccepted}, ID: i.ID}, page.First)
			if err != nil || len(found.Items) != 1 || found.Items[0].Mail.State != want[n] {
				r.Errorf("%s: %+v, %v, want %s", i.TargetEmail, found.Items, err, want[n])
			}
		}
	})
}
