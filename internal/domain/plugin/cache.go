package plugin

import (
	"foyer/internal/base/cache"
	"foyer/internal/base/page"
)

// Cache holds pages that were read. Each use asks the database whether the page is still current, which costs a
// fraction of reading it.
type Cache struct {
	pages cache.Cache[pageOf, page.Found[Plugin]]
}

type pageOf struct {
	organizationID string
	after          int64
	limit, skip    int
}

// maxPages bounds the cached pages, in bytes.
const maxPages = 8 << 20

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{
		pages: cache.Cache[pageOf, page.Found[Plugin]]{Max: maxPages, Size: func(f page.Found[Plugin]) int {
			total := 300 // of the page itself
			for _, p := range f.Items {
				total += p.size()
			}
			return total
		}},
	}
}
