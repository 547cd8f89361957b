package org_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/page"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/domain/org"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/lastuse"
)

// A user can be erased even if somebody has an address like the one that they would get. The address of an erased user
// names nobody, and is shown neither as an inviter's nor in the activity.
func TestAddressOfTheErasedIsNobodys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := org.Service{DB: d, Keys: access.NewKeys(d)}
		o, members := newOrg(t, s, "Acme", "bob@x.example")
		bob := members[0].User
		join(t, s, o.ID, fmt.Sprintf("erased-%d@foyer.invalid", bob.ID), access.Member)
		dbtest.Exec(t, d, `UPDATE memberships SET invited_by = $1`, bob.ID)
		did := activity.Entry{OrganizationID: o.ID, Scope: activity.Site, Verb: activity.Created, User: activity.User{ID: bob.ID}}
		recorded := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return activity.Record(ctx, tx, did, d.Now()) })
		if recorded != nil {
			t.Fatal(recorded)
		}
		if _, err := s.EraseUser(t.Context(), bob.Email); err != nil {
			t.Fatal(err)
		}
		erased, err := org.UserByID(t.Context(), d, bob.ID)
		if err != nil || !strings.HasPrefix(erased.Email, fmt.Sprintf("erased-%d-", bob.ID)) {
			t.Errorf("%s, %v", erased.Email, err)
		}
		left, err := s.Members(t.Context(), o.ID)
		if err != nil || len(left) != 1 || left[0].InvitedBy != (org.Inviter{}) {
			t.Errorf("%+v, %v", left, err)
		}
		users, err := s.Users(t.Context())
		if err != nil || slices.ContainsFunc(users, func(u org.User) bool { return u.ID == bob.ID }) {
			t.Errorf("%+v, %v", users, err)
		}
		entries, err := activity.List(t.Context(), d, activity.Filter{OrganizationID: o.ID, UserID: bob.ID}, page.First)
		if err != nil || len(entries.Items) != 1 || entries.Items[0].User != did.User {
			t.Errorf("%+v, %v", entries.Items, err)
		}
		_, found := s.UserByEmail(t.Context(), erased.Email)
		_, set := s.SetUser(t.Context(), erased.Email, org.SelfPatch{Email: patch.Of("bob@x.example")})
		_, again := s.EraseUser(t.Context(), erased.Email)
		for what, err := range map[string]error{"found": found, "changed": set, "erased again": again} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		joined := s.Keys.Change(t.Context(), func(ctx context.Context, tx *db.Tx) error {
			_, err := s.InsertMember(ctx, tx, access.Caller{}, org.Joining{OrganizationID: o.ID, User: org.User{Email: erased.Email}, Level: access.Member})
			return err
		})
		if !fault.Is(joined, fault.NotUnique) {
			t.Errorf("joined: %v", joined)
		}
	})
}

// Erasing a user or an organization, and noting that members were active, take turns.
func TestEraseWhileUseIsNoted(t *testing.T) {
	t.Parallel()
	for name, erase := range map[string]func(ctx context.Context, s org.Service, first org.Membership) error{
		"user": func(ctx context.Context, s org.Service, first org.Membership) error {
			_, err := s.EraseUser(ctx, first.User.Email)
			return err
		},
		"organization": func(ctx context.Context, s org.Service, first org.Membership) error {
			_, err := s.EraseOrganization(ctx, first.OrganizationID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := dbtest.Postgres(t) // SQLite has one transaction at a time
			d, beside := dbtest.Open(t, u), dbtest.Open(t, u)
			s := org.Service{DB: d, Keys: access.NewKeys(d)}
			s.OrganizationErasers = append(s.OrganizationErasers, s.EraseMembers)
			first, others := joinBackwards(t, s)
			var n lastuse.Notes
			for _, m := range append(others, first) {
				n.Note(lastuse.Used{ID: m.User.ID, OrganizationID: m.OrganizationID}, d.Now())
			}
			const update = `UPDATE memberships SET last_active_at = $3 WHERE organization_id = $1 AND user_id = $2`
			done := make(chan error, 2)
			err := beside.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				if _, err := db.Changed(ctx, tx, update, first.OrganizationID, first.User.ID, d.Now()); err != nil {
					return err
				}
				go func() {
					done <- n.Flush(t.Context(), d, func(ctx context.Context, tx *db.Tx, what lastuse.Used, at time.Time) error {
						return db.Exec(ctx, tx, update, what.OrganizationID, what.ID, at)
					})
				}()
				if err := dbtest.AwaitWaiting(t.Context(), beside, 1, done); err != nil {
					return err
				}
				go func() { done <- erase(t.Context(), s, first) }()
				return dbtest.AwaitWaiting(t.Context(), beside, 2, done)
			})
			if err := errors.Join(err, <-done, <-done); err != nil {
				t.Error(err)
			}
		})
	}
}

// joinBackwards makes a user a member of two organizations, and another user a member of the first, each in the reverse
// order of ids. It returns the membership that is first by ids, and the others.
func joinBackwards(t *testing.T, s org.Service) (first org.Membership, others []org.Membership) {
	t.Helper()
	var ids [2]string
	for i := range ids {
		o, err := s.Create(t.Context(), fmt.Sprint("Acme ", i))
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = o.ID
	}
	slices.Sort(ids[:])
	others = []org.Membership{join(t, s, ids[1], "ada@x.example", access.Member), join(t, s, ids[0], "bob@x.example", access.Member)}
	return join(t, s, ids[0], "ada@x.example", access.Member), others
}

// The log is emptied even if not all texts of an erased organization can be deleted now.
func TestEraseWithoutTidy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "foyer.db")
	d := dbtest.Open(t, "sqlite:"+path)
	s := org.Service{DB: d, Keys: access.NewKeys(d), Tidy: func(context.Context) error { return errors.New("busy") }}
	o, err := s.Create(t.Context(), "Acme")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EraseOrganization(t.Context(), o.ID); err == nil || err.Error() != "it is deleted, but not all texts of its apps: busy; the hourly cleanup deletes the rest" {
		t.Errorf("got %v", err)
	}
	if log, err := os.ReadFile(path + "-wal"); err != nil || len(log) != 0 {
		t.Errorf("%d bytes are in the log, %v", len(log), err)
	}
}

// A user is erased even if there is no room to empty the log: the error says so, and a restart empties the log. Not
// parallel: the limit is for the whole process.
func TestEraseWithoutRoomForTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "foyer.db")
	d, err := db.Open(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Purge(); err != nil { // so that the database is longer than the log
		t.Fatal(err)
	}
	s := org.Service{DB: d, Keys: access.NewKeys(d)}
	ada, _ := joinBackwards(t, s)
	err = dbtest.WithinFileSize(t, 256<<10, func() error {
		_, err := s.EraseUser(t.Context(), ada.User.Email)
		return err
	})
	if err == nil || !strings.HasPrefix(err.Error(), "it is deleted, but what was deleted is still in the log, "+path+"-wal: ") {
		t.Errorf("got %v", err)
	}
	if _, err := s.UserByEmail(t.Context(), ada.User.Email); !fault.Is(err, fault.NotFound) {
		t.Errorf("the user is still there: %v", err)
	}
	if log, err := os.ReadFile(path + "-wal"); err != nil || !bytes.Contains(log, []byte(ada.User.Email)) {
		t.Errorf("the log is empty: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
	if file, err := os.ReadFile(path); err != nil || bytes.Contains(file, []byte(ada.User.Email)) {
		t.Errorf("the address is still in the database: %v", err)
	}
}
