package plugin

import (
	"foyer/internal/cache"
	"foyer/internal/page"
)

// Memory keeps plugins and pages that were read. The database is asked each time
// whether they still hold, which costs a fraction of reading them.
type Memory struct {
	one   cache.Cache[int64, Plugin]
	pages cache.Cache[pageOf, page.Found[Plugin]]
}

type pageOf struct {
	organizationID string
	after          int64
	limit, skip    int
}

// maxMemory bounds each of the two kinds, in bytes.
const maxMemory = 8 << 20

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{
		one: cache.Cache[int64, Plugin]{MaxBytes: maxMemory, Size: Plugin.size},
		pages: cache.Cache[pageOf, page.Found[Plugin]]{MaxBytes: maxMemory, Size: func(f page.Found[Plugin]) int {
			total := 0
			for _, p := range f.Items {
				total += p.size()
			}
			return total
		}},
	}
}

// keep remembers a plugin as it is on disk.
func (m *Memory) keep(p Plugin) { m.one.Put(p.ID, p.Revision, p) }

// size is about how many bytes a plugin takes.
func (p Plugin) size() int {
	const fixed = 400
	return fixed + len(p.Name) + len(p.Description) + len(p.URL) + len(p.Icon) + len(p.Tag) + len(p.LatestTag) +
		len(p.ConfigSchema) + len(p.Capabilities) + len(p.Metrics) + len(p.PublicJobs)
}
