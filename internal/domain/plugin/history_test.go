package plugin

import (
	"strings"
	"testing"

	"foyer/internal/base/page"
	"foyer/internal/base/patch"
)

// A list of versions does not read their schemas, which are large and not shown; a single version has its schema.
func TestVersionsAreListedWithoutSchemas(t *testing.T) {
	each(t, func(r rig) {
		p := r.create(Draft{Name: patch.Of("app")})
		r.save(p.ID, "site.ts", patch.Of("export function inject() {}"))
		for _, letter := range []string{"a", "b", "c"} {
			r.update(p.ID, Draft{ConfigSchema: patch.Of(`[{"key":"` + strings.Repeat(letter, 200<<10) + `"}]`)})
		}
		found, err := r.Versions(r.Context(), r.caller, p.ID, page.First)
		if err != nil || len(found.Items) != 4 {
			r.Fatalf("%d versions, %v", len(found.Items), err)
		}
		if n := len(found.Items[0].Schema); n > 0 {
			r.Errorf("%d bytes of a schema", n)
		}
		if one, err := r.Version(r.Context(), r.caller, p.ID, found.Items[0].Number); err != nil || len(one.Schema) < 200<<10 {
			r.Errorf("a schema of %d bytes, %v", len(one.Schema), err)
		}
	})
}
