package plugin

import (
	"sync"
	"time"
)

// useInterval is how precisely the last use of a plugin is kept.
const useInterval = time.Hour

// maxUses bounds how many plugins' last uses are remembered, at about 50 bytes each.
const maxUses = 100_000

// uses notes when plugins were used last.
type uses struct {
	mu      sync.Mutex
	noted   map[int64]time.Time // the last use that was noted
	pending map[int64]time.Time // those of noted that are not written down
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
	if u.pending == nil {
		u.pending = map[int64]time.Time{}
	}
	u.noted[pluginID], u.pending[pluginID] = at, at
}

// take returns what is to be written down, by plugin.
func (u *uses) take() map[int64]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.pending
	u.pending = nil
	return all
}

// putBack returns what could not be written down.
func (u *uses) putBack(all map[int64]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pending == nil {
		u.pending = map[int64]time.Time{}
	}
	for id, at := range all {
		if _, newer := u.pending[id]; !newer {
			u.pending[id] = at
		}
	}
}
