package server_test

import (
	"log/slog"
	"strings"
	"testing"

	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	sites "foyer/internal/domain/site"
	"foyer/internal/infra/db"
	"foyer/internal/server"
)

// A command without the base url shows no element for a site, since its url would be wrong. The event of a change has
// none either.
func TestSnippetOfACommand(t *testing.T) {
	t.Parallel()
	cfg := onDisk(t)
	for base, want := range map[string]string{"": `"snippet":""`, "https://foyer.example": `src=\"https://foyer.example/sites/`} {
		cfg.Listen, cfg.BaseURL = "127.0.0.1:8000", base
		d := must(server.Open(t.Context(), cfg, slog.New(slog.DiscardHandler)))(t)
		o := must(d.Organizations.Create(t.Context(), "Acme"+base))(t)
		owner := must(d.Invites.AddMember(t.Context(), o.ID, "ada@x.example", access.Owner))(t)
		c := access.Caller{UserID: owner.User.ID, Scope: access.All, Level: access.Owner, Organization: o.Organization}
		must(d.Sites.Create(t.Context(), c, sites.Draft{Name: patch.Of("Shop")}))(t)
		made := must(db.One[string](t.Context(), d.DB, nil, `SELECT data FROM activity WHERE organization_id = $1 AND scope = $2`, o.ID, activity.Site))(t)
		if !strings.Contains(made, want) {
			t.Errorf("%q: %s, want %s", base, made, want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
