package server_test

import (
	"context"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/base/fault"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/trace"
)

// What somebody adds to an organization that is being erased, and changes at once, waits for the erasure and is refused.
// There is no deadlock.
func TestAddWhileErasing(t *testing.T) {
	t.Parallel()
	place := func(ctx context.Context, s *running, draft client.AppDraft, siteID int64) error {
		app, err := s.CreateApp(ctx, draft)
		if err == nil {
			_, err = s.PlaceApp(ctx, siteID, client.PlacementDraft{AppID: app.ID})
		}
		return err
	}
	for what, change := range map[string]func(ctx context.Context, s *running, site client.Site) error{
		"an app, which is placed": func(ctx context.Context, s *running, site client.Site) error {
			return place(ctx, s, client.AppDraft{Name: "Late"}, site.ID)
		},
		"an app with files, which is placed": func(ctx context.Context, s *running, site client.Site) error {
			return place(ctx, s, client.AppDraft{Name: "Late", PluginType: "source", Source: client.Files{"site.ts": "export const n = 1"}}, site.ID)
		},
		"a site, which gets the name of another": func(ctx context.Context, s *running, site client.Site) error {
			late, err := s.CreateSite(ctx, client.SitePatch{Name: new("Late")})
			if err == nil {
				_, err = s.UpdateSite(ctx, late.ID, client.SitePatch{Name: &site.Name})
			}
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			url := dbtest.Postgres(t) // SQLite has one transaction at a time
			s := start(t, config.Config{Database: url})
			site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Shop")}))(t)
			whileErasing(t, s, url, []int{3}, func(ctx context.Context) error { return comesTooLate(change(ctx, s, site)) })
		})
	}
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
