package server_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/base/digest"
	"foyer/internal/base/fault"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/trace"
)

// A site that is added while its organization is erased, and takes the name of another one at once, waits for the erasure
// and is refused. There is no deadlock.
func TestAddSiteWhileErasing(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t) // SQLite has one transaction at a time
	s := start(t, config.Config{Database: url})
	site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
	whileErasing(t, s, url, []int{3}, func(ctx context.Context) error {
		late, err := s.CreateSite(ctx, client.SitePatch{Name: new("Late")})
		if err == nil {
			_, err = s.UpdateSite(ctx, late.ID, client.SitePatch{Name: &site.Name})
		}
		return comesTooLate(err)
	})
}

// A change of a webhook that is traced does not wait for the organization, as the erasure may wait for the webhook.
func TestTracedWhileErasing(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t)
	tracer, _ := collector(t, "/")
	s := startTraced(t, config.Config{Database: url}, tracer)
	hook := must(s.CreateWebhook(t.Context(), client.WebhookPatch{URL: new("https://hooks.example.com/foyer"), Events: []string{"app.*"}}))(t)
	whileErasing(t, s, url, []int{4}, func(ctx context.Context) error {
		_, err := s.UpdateWebhook(ctx, hook.ID, client.WebhookPatch{Description: new("Late")})
		return err
	})
}

// The same is true of a sign-in with an expired key of the organization, which is refused as ever, whether it is the first
// that fails or there were others an hour ago.
func TestTracedSignInWhileErasing(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		signInWhileErasing(t, before)
	}
}

func signInWhileErasing(t *testing.T, failedBefore bool) {
	t.Helper()
	url := dbtest.Postgres(t)
	cfg := config.Config{Database: url, Secret: "a secret that all servers of the tests share"}
	s, d := start(t, cfg), openDomain(t, cfg)
	id := must(s.Get(t.Context()))(t).ID
	owner := must(d.Organizations.Members(t.Context(), id))(t)[0].User
	_, key, err := d.Keys.Create(t.Context(), access.Draft{UserID: owner.ID, OrganizationID: id, Scope: access.All, ExpiresIn: 1})
	if err != nil {
		t.Fatal(err)
	}
	if failedBefore {
		dbtest.Exec(t, d.DB, `INSERT INTO signin_failures (user_id, organization_id, since, others) VALUES ($1, $2, $3, 1)`,
			owner.ID, id, d.DB.Now().Add(-2*time.Hour))
	}
	tracer, _ := collector(t, "/")
	whileErasing(t, s, url, []int{4}, func(ctx context.Context) error {
		ctx, span := tracer.Continue(ctx, "", "sign in", trace.Server)
		defer span.End()
		_, err := d.SignIn.ByKey(ctx, key, access.SessionDraft{RequestID: "request"})
		if fault.Is(err, fault.AuthenticationFailed) {
			return nil
		}
		return err
	})
}

// While an app is saved, its organization is erased. There is no deadlock.
func TestEraseDuringSave(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t) // SQLite has one transaction at a time
	s := start(t, config.Config{Database: url})
	d := openDomain(t, config.Config{Database: url, Secret: "a secret that all servers of the tests share"})
	id := must(s.Get(t.Context()))(t).ID
	app := must(s.CreateApp(t.Context(), client.AppDraft{Name: "Clock", PluginType: "source", Source: client.Files{"a.md": "a"}}))(t)
	ended := make(chan error, 2)
	err := d.DB.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		if _, err := db.Changed(ctx, tx, `INSERT INTO contents (sha256, content) VALUES ($1, 'b')`, digest.SHA256("b")); err != nil {
			return err
		}
		for i, change := range []func() error{
			func() error {
				_, err := s.UpdateSource(t.Context(), app.ID, client.SourcePatch{Source: map[string]*string{"a.md": new("b")}})
				return err
			},
			func() error {
				_, err := d.Organizations.EraseOrganization(t.Context(), id)
				return err
			},
		} {
			go func() { ended <- change() }()
			if err := dbtest.AwaitWaiting(t.Context(), d.DB, i+1, ended); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, <-ended, <-ended); err != nil {
		t.Error(err)
	}
}
