package e2e

import (
	"strings"
	"testing"

	"foyer/internal/infra/upstream/upstreamtest"
)

// An app whose repository has moved gets the new address, with credentials that are not on the command line.
func TestRepositoryMoves(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	old, moved := host.Repo(t, "old"), host.Repo(t, "moved")
	for _, repo := range []*upstreamtest.Repo{old, moved} {
		repo.Tag(t, "v1.0.0", repo.Commit(t, map[string]string{"plugin.json": `{"name": "Banner"}`, "site.ts": "1"}))
	}
	s := newSettings(t, "sqlite", "")
	s["UPSTREAM_ALLOW"] = "127.0.0.0/8"
	url := launch(t, s).url
	foyer := func(input string, args ...string) string {
		t.Helper()
		cmd := command(t, url, s["BOOTSTRAP_KEY"], args...)
		cmd.Stdin = strings.NewReader(input)
		shown, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", args, err)
		}
		return string(shown)
	}
	foyer("", "app", "install", old.URL)
	secret := strings.Replace(moved.URL, "://", "://joe:canary@", 1)
	if shown := foyer(secret+"\n", "app", "set", "Banner", "--from=-", "-o", "wide"); !strings.Contains(shown, moved.URL) || strings.Contains(shown, "canary") {
		t.Error(shown)
	}
}
