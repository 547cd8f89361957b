package server_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/domain/access"
	"foyer/internal/domain/org"
	"foyer/internal/server"
)

// What somebody may not do is not offered, and the way to another organization leads to a page that they may see there.
func TestConsoleOffersWhatOneMay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := config.Config{DataDir: dir, Database: "sqlite:" + filepath.Join(dir, "foyer.db"), Catalog: filepath.Join(dir, "catalog.json")}
	if err := os.WriteFile(cfg.Catalog, []byte(`[{"name": "Listed", "url": "https://git.example/listed"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, cfg)
	app := "/console/@current/apps/" + itoa(furnish(t, s))
	owner, member := visit(t, s, s.key), visit(t, s, join(t, s))
	for path, button := range map[string]string{
		"/console/@current/apps/new": `value="catalog"`, "/console/@current/apps/new?way=git": `value="git"`, "/console/@current/apps/new?way=own": `value="source"`,
		app + "/source/upload": `value="save"`,
	} {
		owner.want(200, button, owner.get(path))
		if got := member.get(path); got.status != http.StatusOK || strings.Contains(got.body, "<button class=\"small\" name=\"do\"") || strings.Contains(got.body, button) {
			t.Errorf("%s: %d, offers what a member may not do:\n%s", path, got.status, got.body)
		}
	}
	member.want(200, "You may not put apps on sites.", member.get(app+"/place"))
	ctx := context.WithoutCancel(t.Context())
	d := must[*server.Domain](t)(server.Open(ctx, cfg, slog.New(slog.DiscardHandler)))
	defer d.Close()
	there := must[org.Organization](t)(d.Organizations.Create(ctx, "Elsewhere"))
	grace := must[client.Page[client.Member]](t)(s.ListMembers(t.Context(), client.MemberFilter{}, client.Range{})).Results[0].User
	must[org.Membership](t)(d.Invites.AddMember(ctx, access.Caller{}, there.ID, grace.Email, access.Member))
	_, key, err := d.Keys.Create(ctx, access.Draft{UserID: must[org.User](t)(d.Organizations.UserByEmail(ctx, grace.Email)).ID, Scope: access.All})
	if err != nil {
		t.Fatal(err)
	}
	both := visit(t, s, key)
	for page, want := range map[string]string{
		"/apps/new": "/apps", "/apps/catalog?name=Listed&url=https://git.example/listed": "/apps", "/audit": "/activity", "/keys": "", "/webhooks": "", "/sites": "/sites",
	} {
		both.want(200, `href="/console/`+there.ID+want+`"`, both.get("/console/@current"+page))
	}
}
