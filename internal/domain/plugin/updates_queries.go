package plugin

import (
	"context"
	"time"

	"foyer/internal/infra/db"
	"foyer/internal/infra/queries"
)

// newURLs returns the urls of upstreams for apps that have no due time yet.
func newURLs(ctx context.Context, q db.Querier, limit int) ([]string, error) {
	return db.All[string](ctx, q, nil, `
		SELECT DISTINCT url_key FROM plugin_sources WHERE url_key IS NOT NULL AND check_due_at IS NULL LIMIT $1`, limit)
}

func setFirstDue(ctx context.Context, tx *db.Tx, url string, at time.Time) error {
	return db.Exec(ctx, tx, `
		UPDATE plugin_sources SET check_due_at = COALESCE((SELECT MIN(s.check_due_at) FROM plugin_sources s WHERE s.url_key = $1), $2)
		WHERE url_key = $1 AND check_due_at IS NULL`, url, at)
}

// isDue selects what is due at $1. Nothing is postponed beyond $2, so a later due time was set by a clock that was
// wrong.
const isDue = `(check_due_at <= $1 OR check_due_at > $2)`

// dueURLs returns the urls of upstreams that are due, oldest first, in the order of an index, so that it reads no others.
// The apps from an upstream are due together.
func dueURLs(ctx context.Context, tx *db.Tx, now, latest time.Time, limit int) ([]string, error) {
	return db.All[string](ctx, tx, nil, firstURLs, now, latest, limit)
}

const firstURLs = `
	SELECT url_key FROM plugin_sources WHERE url_key IS NOT NULL AND ` + isDue + `
	GROUP BY check_due_at, url_key ORDER BY check_due_at, url_key LIMIT $3`

// lockSourcesAt locks the sources of the apps that come from some upstreams, in the order in which erasing an
// organization locks them.
func lockSourcesAt(ctx context.Context, tx *db.Tx, urls []string) error {
	if len(urls) == 0 {
		return nil
	}
	var args []any
	query := `SELECT 1 FROM plugin_sources WHERE url_key IN (` + queries.Arg(&args, urls...) + `) ORDER BY plugin_id FOR UPDATE`
	return db.Exec(ctx, tx, query, args...)
}

// postpone makes an upstream due at a later time. It returns 0 if the upstream is not due any more.
func postpone(ctx context.Context, tx *db.Tx, url string, now, latest, at time.Time) (int64, error) {
	return db.Changed(ctx, tx, `UPDATE plugin_sources SET check_due_at = $4 WHERE url_key = $3 AND `+isDue, now, latest, url, at)
}

// originsAt returns the origins of all organizations' apps that come from an upstream.
func originsAt(ctx context.Context, q db.Querier, url string) ([]origin, error) {
	return db.All(ctx, q, (*origin).fields, `SELECT `+originColumns+` FROM plugin_sources WHERE url_key = $1 ORDER BY plugin_id`, url)
}

// setAnnounced notes that the latest tag has an event. It returns 0 if that was noted already.
func setAnnounced(ctx context.Context, tx *db.Tx, p Plugin) (int64, error) {
	return db.Changed(ctx, tx, `
		UPDATE plugin_sources SET announced_tag = $3 WHERE organization_id = $1 AND plugin_id = $2 AND announced_tag <> $3`, p.OrganizationID, p.ID, p.LatestTag)
}

// forgetAnnounced forgets an announced tag that is not the newest any more, so that it is announced again if it becomes
// the newest again.
func forgetAnnounced(ctx context.Context, tx *db.Tx, p Plugin) error {
	return db.Exec(ctx, tx, `
		UPDATE plugin_sources SET announced_tag = '' WHERE organization_id = $1 AND plugin_id = $2 AND announced_tag NOT IN ('', $3)`,
		p.OrganizationID, p.ID, p.LatestTag)
}
