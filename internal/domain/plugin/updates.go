package plugin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/upstream"
)

const (
	// updateBatch is how many upstreams CheckUpdates asks at once, and updateRound is how long it goes on.
	updateBatch = 4
	updateRound = 10 * time.Minute
)

// CheckUpdates asks the upstreams that are due for their newest tags, each at most once per every, and records which
// apps have a newer tag. It records a tag once, until another one is the newest.
func (s Service) CheckUpdates(ctx context.Context, every time.Duration) error {
	if err := s.setDue(ctx, every); err != nil {
		return err
	}
	var wrong error
	for ends := s.DB.Now().Add(updateRound); s.DB.Now().Before(ends) && ctx.Err() == nil; {
		urls, err := s.takeDue(ctx, every)
		if err != nil || len(urls) == 0 {
			return errors.Join(wrong, err)
		}
		faults := make([]error, len(urls))
		var asking sync.WaitGroup
		for i, url := range urls {
			asking.Go(func() { faults[i] = s.checkUpdatesAt(ctx, url) })
		}
		asking.Wait()
		wrong = errors.Join(wrong, errors.Join(faults...))
	}
	return wrong
}

// setDue sets when the upstreams of new apps are asked: together with the other apps from there, or else at a random
// time within every, so that not all are asked at once.
func (s Service) setDue(ctx context.Context, every time.Duration) error {
	for {
		urls, err := newURLs(ctx, s.DB, updateBatch)
		if err != nil || len(urls) == 0 {
			return err
		}
		err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error { return s.setDueOf(ctx, tx, urls, every) })
		if err != nil {
			return err
		}
	}
}

func (s Service) setDueOf(ctx context.Context, tx *db.Tx, urls []string, every time.Duration) error {
	if err := lockSourcesAt(ctx, tx, urls); err != nil {
		return err
	}
	for _, url := range urls {
		if err := setFirstDue(ctx, tx, url, s.DB.Now().Add(rand.N(every))); err != nil {
			return err
		}
	}
	return nil
}

// takeDue returns upstreams that are due, and postpones them by more than every, so that no other server takes them.
func (s Service) takeDue(ctx context.Context, every time.Duration) (taken []string, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		taken = nil
		now := s.DB.Now()
		latest := now.Add(every + every/6 + maxAhead)
		urls, err := dueURLs(ctx, tx, now, latest, updateBatch)
		if err == nil {
			err = lockSourcesAt(ctx, tx, urls)
		}
		if err != nil {
			return err
		}
		for _, url := range urls {
			n, err := postpone(ctx, tx, url, now, latest, now.Add(every+rand.N(every/6)))
			if err != nil {
				return err
			}
			if n > 0 {
				taken = append(taken, url)
			}
		}
		return nil
	})
	return taken, err
}

// checkUpdatesAt asks one upstream for all apps that come from there, with the credentials of each app that has any.
func (s Service) checkUpdatesAt(ctx context.Context, url string) error {
	origins, err := originsAt(ctx, s.DB, url)
	if err != nil {
		return err
	}
	var wrong error
	for _, o := range origins {
		if err := s.checkUpdateOf(ctx, o); err != nil && !errors.Is(err, access.ErrNotFound) {
			wrong = errors.Join(wrong, fmt.Errorf("check app %d for updates: %w", o.PluginID, err))
		}
	}
	return wrong
}

func (s Service) checkUpdateOf(ctx context.Context, o origin) error {
	c := access.Caller{Organization: access.Organization{ID: o.OrganizationID}}
	asked, err := find(ctx, s.DB, c.Organization, o.PluginID, "")
	if err != nil {
		return access.OrNotFound(err)
	}
	latest, err := s.latest(ctx, o.OrganizationID, asked, o)
	if err != nil {
		if !fault.IsOurs(err) {
			return nil // it failed or is busy: it is asked again later
		}
		return err
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		p, _, err := s.storeLatestIn(ctx, tx, c, o.PluginID, asked.URL, latest)
		if err != nil {
			return err
		}
		return s.announceUpdate(ctx, tx, p)
	})
}

// announceUpdate records that there is a newer tag than the app's own, unless it was recorded and no other tag was the
// newest since. The newest tag can be older than the app's, which may be a pre-release or a deleted tag.
func (s Service) announceUpdate(ctx context.Context, tx *db.Tx, p Plugin) error {
	if p.LatestTag == "" || p.LatestTag == p.Tag || upstream.Older(p.LatestTag, p.Tag) {
		return forgetAnnounced(ctx, tx, p)
	}
	if n, err := setAnnounced(ctx, tx, p); err != nil || n == 0 {
		return err
	}
	changes := []activity.Change{activity.Changed("latest_tag", p.Tag, p.LatestTag)}
	return s.record(ctx, tx, access.Caller{}, p, activity.Outdated, changes)
}
