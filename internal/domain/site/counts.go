package site

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"foyer/internal/base/cache"
	"foyer/internal/infra/db"
)

// What became of an app in a page, where that is not the time until it ran.
const (
	failedBucket = -1
	otherBucket  = -2 // it was loading still, or was stopped
)

// Times are counted in buckets, each a quarter longer than the one before, up to a minute.
const (
	growth    = 1.25
	maxBucket = 50
)

// bucketOf is the bucket of a time in milliseconds.
func bucketOf(ms float64) int {
	return min(max(0, int(math.Ceil(math.Log(max(1, ms))/math.Log(growth)))), maxBucket)
}

// timeOf is about the time that a bucket stands for, in milliseconds.
func timeOf(bucket int) int64 { return int64(math.Round(math.Pow(growth, float64(bucket)-0.5))) }

const (
	quiet         = 30_000 // views a minute of a site, of which each is reported
	reportedOf    = 10     // of a busier one, one in so many
	maxSample     = 1000
	maxPending    = 50_000
	maxViews      = maxPending / 5 // keys of an organization that are not written down yet: none takes the room of others
	maxErrors     = 500            // of an organization, likewise
	maxErrorsKept = 50             // of an app
	maxSeenBytes  = 4 << 20
)

// Counts notes what pages report in memory, and writes it down once in a while.
type Counts struct {
	DB *db.DB

	seen *cache.Cache[int64, *seen] // by site; their version is the site's revision

	mu       sync.Mutex
	views    map[viewKey]int64
	viewsOf  map[string]int // how many keys, by organization
	errors   map[errorKey]*noted
	errorsOf map[string]int               // how many, by organization
	minutes  *cache.Cache[int64, *minute] // by site
}

// newCounts returns what counts for the sites that d holds.
func newCounts(d *db.DB) *Counts {
	return &Counts{
		DB: d, views: map[viewKey]int64{}, viewsOf: map[string]int{}, errors: map[errorKey]*noted{}, errorsOf: map[string]int{},
		minutes: &cache.Cache[int64, *minute]{Max: maxPending},
		seen:    &cache.Cache[int64, *seen]{Max: maxSeenBytes, Size: func(s *seen) int { return 200 + 24*len(s.versions) }},
	}
}

type viewKey struct {
	siteID         int64
	organizationID string
	versionKey
	minute int64
	bucket int
}

type errorKey struct {
	siteID         int64
	organizationID string
	versionKey
	name, message string
	line, column  int64
}

type noted struct {
	n           int64
	first, last time.Time
}

// minute is how many views of a site there were in a minute, as far as was reported.
type minute struct {
	at, views int64
	sample    int   // pages are told to report one in so many, from the views of the minute before
	most      int   // the largest sample of late
	mostAt    int64 // the minute in which it was the sample
}

// weight is how many views a report stands for that was one of a sample. What a page claims is believed
// within what pages were told of late: by this server, or by another that has other views.
func (m *minute) weight(sample float64) int64 {
	if sample > 0 && sample < 1 {
		return int64(min(math.Round(1/sample), float64(reportedOf*m.most)))
	}
	return 1
}

// sample says which part of a site's views is to be reported: one in so many.
func (c *Counts) sample(siteID int64, now time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.minuteOf(siteID, now).sample
}

func (c *Counts) minuteOf(siteID int64, now time.Time) *minute {
	at := now.Unix() / 60
	m, ok := c.minutes.Get(siteID, cache.Unversioned)
	if !ok {
		m = &minute{at: at, sample: 1, most: 1}
		c.minutes.Put(siteID, cache.Unversioned, m)
	}
	if m.at != at {
		next := minute{at: at, sample: 1, most: m.most, mostAt: m.mostAt}
		for m.at == at-1 && m.views > quiet*int64(next.sample) && next.sample < maxSample {
			next.sample *= reportedOf
		}
		if next.sample >= m.most || at-m.mostAt > 60 {
			next.most, next.mostAt = next.sample, at
		}
		*m = next
	}
	return m
}

// report is what a page sends.
type report struct {
	Sample float64 `json:"sample"`
	Apps   []struct {
		ID      int64   `json:"id"`
		Version int64   `json:"version"`
		State   string  `json:"state"`
		MS      float64 `json:"ms"`
	} `json:"apps"`
	Errors []struct {
		ID      int64   `json:"id"`
		Version int64   `json:"version"`
		Name    string  `json:"name"`
		Message string  `json:"message"`
		Line    float64 `json:"line"`
		Column  float64 `json:"column"`
	} `json:"errors"`
}

const maxReported = 200 // apps, which is as many as a site has, and errors

// take counts a report of a page, in which only what the site has run lately counts.
func (c *Counts) take(ctx context.Context, s *served, body []byte) {
	var r report
	if json.Unmarshal(body, &r) != nil || len(r.Apps) > maxReported || len(r.Errors) > maxReported {
		return
	}
	now := c.DB.Now()
	ran, err := c.lately(ctx, s.Site, now)
	if err != nil {
		return // the database is away: nothing can be counted
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.minuteOf(s.ID, now)
	views := m.weight(r.Sample)
	told := map[int64]bool{}
	for _, a := range r.Apps {
		key := versionKey{a.ID, a.Version}
		bucket := otherBucket
		switch a.State {
		case "running":
			bucket = bucketOf(a.MS)
		case "failed":
			bucket = failedBucket
		case "loading", "stopped":
		default:
			continue
		}
		if ran[key] && !told[a.ID] {
			told[a.ID] = true // twice in one view is junk
			c.noteViews(viewKey{s.ID, s.OrganizationID, key, now.Unix() / 60, bucket}, views)
		}
	}
	if len(told) > 0 {
		m.views += views
	}
	for _, e := range r.Errors {
		if key := (versionKey{e.ID, e.Version}); ran[key] {
			c.noteError(errorKey{
				s.ID, s.OrganizationID, key, clean(e.Name, 100), clean(e.Message, 300), lineOrColumn(e.Line), lineOrColumn(e.Column),
			}, noted{views, now, now})
		}
	}
}

// noteViews adds to how many views are noted.
func (c *Counts) noteViews(key viewKey, n int64) {
	if _, ok := c.views[key]; !ok {
		if c.viewsOf[key.organizationID] >= maxViews || len(c.views) >= maxPending {
			return
		}
		c.viewsOf[key.organizationID]++
	}
	c.views[key] += n
}

// noteError adds to what is noted of an error.
func (c *Counts) noteError(key errorKey, more noted) {
	e := c.errors[key]
	switch {
	case e != nil:
		e.n += more.n
		if more.first.Before(e.first) { // what could not be written is noted again
			e.first = more.first
		} else {
			e.last = more.last
		}
	case c.errorsOf[key.organizationID] < maxErrors && len(c.errors) < maxPending/10:
		c.errorsOf[key.organizationID]++
		c.errors[key] = &more
	}
}

// lineOrColumn is a line or column that there can be; 0: there is none.
func lineOrColumn(n float64) int64 {
	if n >= 1 && n <= math.MaxInt32 {
		return int64(n)
	}
	return 0
}

// private is what a text of an error may tell of a visitor: where they were (urls and paths), who they are
// (addresses of mail and of networks), and with which browser. What may be as long as the text is apart: as one
// expression, it would be looked for to the end of the text from each short match on.
var private = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]*`),
		regexp.MustCompile(`[^\s"'<>@]+@[^\s"'<>@]+`),
		regexp.MustCompile(`\B/[^\s"'<>/][^\s"'<>]*|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b(?:[0-9A-Fa-f]{1,4}:{1,2}){2,7}[0-9A-Fa-f]{0,4}` +
			`|\b[0-9A-Fa-f]{1,4}::(?:[0-9A-Fa-f]{1,4}\b|\B)|Mozilla/\d.*`),
	}
})

// clean is a text that an app has reported, as it is stored.
func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r // what is not UTF-8 becomes U+FFFD
	}, text)
	for _, part := range private() {
		text = part.ReplaceAllString(text, "(address)")
	}
	if all := []rune(text); len(all) > most {
		text = string(all[:most])
	}
	return strings.TrimSpace(text)
}

// seen is what a site has run in the last day.
type seen struct {
	at       time.Time
	versions map[versionKey]bool
}

// lately is which versions were in a site's manifest in the last day.
func (c *Counts) lately(ctx context.Context, s Site, now time.Time) (map[versionKey]bool, error) {
	if found, ok := c.seen.Get(s.ID, s.Revision); ok && now.Sub(found.at) < time.Hour {
		return found.versions, nil
	}
	lists, err := listLately(ctx, c.DB, s.ID, now.Add(-24*time.Hour))
	if err != nil {
		return nil, err
	}
	versions := map[versionKey]bool{}
	for _, list := range lists {
		for _, v := range readVersions(list) {
			versions[v] = true
		}
	}
	c.seen.Put(s.ID, s.Revision, &seen{now, versions})
	return versions, nil
}

// Flush writes down what is noted. What could not be written stays noted.
func (c *Counts) Flush(ctx context.Context) error {
	return errors.Join(c.flushViews(ctx), c.flushErrors(ctx))
}

// flushViews writes in the order of sites, as whoever locks several does: else they could wait for
// each other. Sites that are gone meanwhile count no more.
func (c *Counts) flushViews(ctx context.Context) error {
	c.mu.Lock()
	views := c.views
	c.views, c.viewsOf = map[viewKey]int64{}, map[string]int{}
	c.mu.Unlock()
	if len(views) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(views), viewKey.compare)
	err := c.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for _, key := range keys {
			if err := addViews(ctx, tx, key, views[key]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for key, n := range views {
			c.noteViews(key, n)
		}
	}
	return err
}

// sameApp reports whether two errors are of one app on one site.
func (k errorKey) sameApp(other errorKey) bool {
	return k.siteID == other.siteID && k.appID == other.appID
}

// writeErrors writes what was noted of errors, and removes the oldest of each app that has too many.
func (c *Counts) writeErrors(ctx context.Context, keys []errorKey, errs map[errorKey]*noted) error {
	return c.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for i, key := range keys {
			if err := addError(ctx, tx, key, *errs[key]); err != nil {
				return err
			}
			if i+1 == len(keys) || !key.sameApp(keys[i+1]) {
				if err := removeOldErrors(ctx, tx, key.siteID, key.appID); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// flushErrors is flushViews for errors, of which the last ones are kept.
func (c *Counts) flushErrors(ctx context.Context) error {
	c.mu.Lock()
	errs := c.errors
	c.errors, c.errorsOf = map[errorKey]*noted{}, map[string]int{}
	c.mu.Unlock()
	if len(errs) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(errs), errorKey.compare)
	err := c.writeErrors(ctx, keys, errs)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for key, e := range errs {
			c.noteError(key, *e)
		}
	}
	return err
}
