package plugin

import (
	"sync"
	"time"

	"foyer/internal/lastuse"
)

// useInterval is how precisely the last use of a plugin is kept.
const useInterval = time.Hour

// maxUses bounds how many plugins' last uses are remembered, at about 50 bytes each.
const maxUses = 100_000

// uses notes when plugins were used last.
type uses struct {
	mu      sync.Mutex
	noted   map[int64]time.Time // the last use that was noted
	pending lastuse.Notes
}

func (u *uses) note(pluginID int64, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if at.Sub(u.noted[pluginID]) < useInterval {
		return
	}
	if u.noted == nil || len(u.noted) >= maxUses {
		u.noted = map[int64]time.Time{}
	}
	u.noted[pluginID] = at
	u.pending.Note(pluginID, at)
}
