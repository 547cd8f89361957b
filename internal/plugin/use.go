package plugin

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// useInterval is how exactly the last use of a plugin is kept.
const useInterval = time.Hour

// maxUses bounds how many plugins' last uses are remembered, at about 50 bytes each.
const maxUses = 100_000

// uses notes when plugins were used last.
type uses struct {
	mu      sync.Mutex
	noted   map[int64]time.Time // the last use that was noted
	pending map[int64]time.Time // those of noted that are not written down
}

type use struct {
	pluginID int64
	at       time.Time
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

// take returns what is to be written down, by plugin: two servers that do so at
// once do not wait for each other in a circle.
func (u *uses) take() []use {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make([]use, 0, len(u.pending))
	for id, at := range u.pending {
		all = append(all, use{id, at})
	}
	clear(u.pending)
	slices.SortFunc(all, func(a, b use) int { return cmp.Compare(a.pluginID, b.pluginID) })
	return all
}

// putBack returns what could not be written down.
func (u *uses) putBack(all []use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, use := range all {
		if _, newer := u.pending[use.pluginID]; !newer {
			u.pending[use.pluginID] = use.at
		}
	}
}
