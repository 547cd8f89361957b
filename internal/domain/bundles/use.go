package bundles

import (
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/infra/lastuse"
)

// useInterval is the precision of a plugin's recorded last use.
const useInterval = time.Hour

// maxUses bounds how many plugins' last uses are in memory, at about 200 bytes each.
const maxUses = 20_000

// uses records when plugins were last used.
type uses struct {
	noted   cache.Cache[int64, time.Time] // the last recorded use
	pending lastuse.Notes
}

func (u *uses) note(pluginID int64, at time.Time) {
	if last, _ := u.noted.Get(pluginID, cache.Unversioned); at.Sub(last) < useInterval {
		return
	}
	u.noted.Put(pluginID, cache.Unversioned, at)
	u.pending.Note(lastuse.Used{ID: pluginID}, at)
}
