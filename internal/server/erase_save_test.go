package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"foyer/internal/base/patch"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/domain/plugin"
	"foyer/internal/domain/source"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
)

// A user who saves an app, in a request with an Idempotency-Key, while they are erased either saves first or is
// refused. There is no deadlock, however far the save is.
func TestSaveWhileItsUserIsErased(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct{ method, path, body, waitsFor string }{
		"changed": {"PATCH", "/update_source", `{"source":{"site.ts":"export const n = 2"}}`, "plugin_sources"},
		"new":     {"POST", "", `{"name":"Two","plugin_type":"source","source":{"site.ts":"export const n = 1"}}`, "contents"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			url := dbtest.Postgres(t) // SQLite has one transaction at a time
			cfg := config.Config{Database: url, Secret: "a secret that all servers of the tests share"}
			s := start(t, cfg)
			id := must(s.Get(t.Context()))(t).ID
			app := s.withSite(t, "export const n = 1")
			d := openDomain(t, cfg)
			ada := must(d.Invites.AddMember(t.Context(), id, "ada@x.example", access.Admin))(t)
			key := makeKey(t, d, ada.User.Email)
			path := s.URL + "/api/organizations/@current/pipeline_frontend_apps"
			if tc.path != "" {
				path += "/" + itoa(app.ID) + tc.path
			}
			save := must(http.NewRequestWithContext(t.Context(), tc.method, path, strings.NewReader(tc.body)))(t)
			save.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Idempotency-Key": {"once"}}
			saved, erased := make(chan error, 1), make(chan error, 1)
			raw := dbtest.Open(t, url)
			err := raw.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
				if _, err := db.All[int](ctx, tx, nil, `SELECT 1 FROM `+tc.waitsFor+" FOR UPDATE"); err != nil {
					return err
				}
				go func() {
					var err error
					if got := do(t, save); got.status >= 500 {
						err = fmt.Errorf("saved: %d: %s", got.status, got.body)
					}
					saved <- err
				}()
				if err := dbtest.AwaitWaiting(t.Context(), d.DB, 1, saved); err != nil {
					return err
				}
				go func() {
					_, err := d.Organizations.EraseUser(t.Context(), ada.User.Email)
					erased <- err
				}()
				return dbtest.AwaitWaiting(t.Context(), d.DB, 2, saved, erased)
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(<-erased, <-saved); err != nil {
				t.Error(err)
			}
			wantGone(t, raw, ada.User.Email)
		})
	}
}

// If a kept answer that shows another user is about to be stored while they are erased, it is erased too.
func TestEraseWhoIsAnswered(t *testing.T) {
	t.Parallel()
	for what, tc := range map[string]struct {
		before, do func(ctx context.Context, w *inviting, app int64) error
	}{
		"made a version": {do: func(ctx context.Context, w *inviting, app int64) error {
			_, err := w.Plugins.Withdraw(ctx, w.owner, app, plugin.Withdrawal{Number: 1, Reason: patch.Of("leaks")})
			return err
		}},
		"disabled the app": {
			before: func(ctx context.Context, w *inviting, app int64) error {
				_, err := w.Plugins.Disable(ctx, w.ada, app, patch.Of("leaks"))
				return err
			},
			do: func(ctx context.Context, w *inviting, app int64) error {
				_, err := w.Plugins.UpdateSource(ctx, w.owner, app, plugin.Draft{Name: patch.Of("Renamed")}, nil)
				return err
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dbtest.EachURL(t, func(t *testing.T, url string) {
				w, _ := withInvite(t, url)
				app := must(w.Plugins.Create(t.Context(), w.owner, plugin.Draft{Type: patch.Of("source"), Name: patch.Of("One")}))(t)
				for _, by := range []access.Caller{w.ada, w.owner} {
					edit := source.Edit{Field: "source", Name: "notes.txt", Text: patch.Of(itoa(by.UserID))}
					must(w.Plugins.UpdateSource(t.Context(), by, app.ID, plugin.Draft{}, []source.Edit{edit}))(t)
				}
				if tc.before != nil {
					check(t, tc.before(t.Context(), w, app.ID))
				}
				start, end := w.erase(t)
				claim, _, err := w.Keys.Claim(t.Context(), w.owner, "another", "fingerprint", func(object any) access.Answer {
					start()
					return access.Answer{Status: 200, Body: string(must(json.Marshal(object))(t))}
				})
				if err != nil {
					t.Fatal(err)
				}
				check(t, tc.do(claim.With(t.Context()), w, app.ID))
				end()
				wantGone(t, w.DB, inviter)
			})
		})
	}
}

// A user who withdraws a version that they made, in a request with an Idempotency-Key, while they are erased does so
// first. There is no deadlock.
func TestWithdrawWhileErasing(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, url string) {
		w, _ := withInvite(t, url)
		app := must(w.Plugins.Create(t.Context(), w.ada, plugin.Draft{Type: patch.Of("source"), Name: patch.Of("One")}))(t)
		for _, text := range []string{"1", "2"} {
			edit := source.Edit{Field: "source", Name: "notes.txt", Text: patch.Of(text)}
			must(w.Plugins.UpdateSource(t.Context(), w.ada, app.ID, plugin.Draft{}, []source.Edit{edit}))(t)
		}
		claim, _, err := w.Keys.Claim(t.Context(), w.ada, "another", "fingerprint", func(any) access.Answer { return access.Answer{Status: 200} })
		if err != nil {
			t.Fatal(err)
		}
		start, end := w.erase(t)
		w.Plugins.Follow = func(context.Context, *db.Tx, access.Caller, int64) error {
			start()
			return nil
		}
		must(w.Plugins.Withdraw(claim.With(t.Context()), w.ada, app.ID, plugin.Withdrawal{Number: 2, Reason: patch.Of("leaks"), GoTo: patch.Of(int64(1))}))(t)
		end()
		wantGone(t, w.DB, inviter)
	})
}
