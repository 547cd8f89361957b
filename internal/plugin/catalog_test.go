package plugin

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"foyer/internal/page"
	"foyer/internal/upstream"
	"foyer/internal/upstream/egress"
)

// Whoever keeps the catalog may put credentials in it, which are not for callers.
func TestCatalogShowsNoCredentials(t *testing.T) {
	each(t, func(r rig) {
		file := filepath.Join(r.TempDir(), "catalog.json")
		const list = `[{"name": "a", "url": "https://joe:secret@example.org/a?token=b"}, {"name": "b", "url": "joe:secret@example.org:b"}]`
		if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
			r.Fatal(err)
		}
		r.Catalog = upstream.NewCatalog(file, egress.New(nil), slog.New(slog.DiscardHandler), r.DB.Now)
		offers, _, err := r.Catalogued(r.Context(), r.caller, page.First)
		if err != nil || len(offers) != 1 || offers[0].URL != "https://example.org/a" {
			r.Errorf("%+v, %v", offers, err)
		}
	})
}
