// Package report counts what pages report about the apps that they run, and sums it up as the health of these apps.
package report

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

// Buckets for the views in which an app did not run.
const (
	failedBucket = -1
	otherBucket  = -2 // it was still loading, or was stopped
)

// Times are counted in buckets up to a minute, each a quarter longer than the one before.
const (
	growth    = 1.25
	maxBucket = 50
)

// bucketOf returns the bucket of a time in milliseconds.
func bucketOf(ms float64) int {
	return min(max(0, int(math.Ceil(math.Log(max(1, ms))/math.Log(growth)))), maxBucket)
}

// timeOf returns about the time that a bucket stands for, in milliseconds.
func timeOf(bucket int) int64 { return int64(math.Round(math.Pow(growth, float64(bucket)-0.5))) }

const (
	quiet         = 30_000 // views of a site per minute up to which every view is reported
	reportedOf    = 10     // above that, one view in this many, or in a power of it
	maxSample     = 1000
	maxPending    = 50_000
	maxViews      = maxPending / 5 // keys of an organization that are not stored yet, so that none takes the room of others
	maxErrors     = 500            // the same for errors
	maxErrorsKept = 50             // of an app
)

// Counts collects in memory what pages report, and stores it periodically.
type Counts struct {
	DB *db.DB

	mu       sync.Mutex
	views    map[viewKey]int64
	viewsOf  map[string]int // number of keys, by organization
	errors   map[errorKey]*noted
	errorsOf map[string]int              // number of errors, by organization
	minutes  cache.Cache[int64, *minute] // by site
}

// NewCounts returns Counts for the sites in d.
func NewCounts(d *db.DB) *Counts {
	return &Counts{
		DB: d, views: map[viewKey]int64{}, viewsOf: map[string]int{}, errors: map[errorKey]*noted{}, errorsOf: map[string]int{},
		minutes: cache.Cache[int64, *minute]{Max: maxPending},
	}
}

// Site is the site of a page.
type Site struct {
	ID             int64
	OrganizationID string
}

// Version is a version of an app.
type Version struct{ AppID, Number int64 }

type viewKey struct {
	site Site
	Version
	minute int64
	bucket int
}

type errorKey struct {
	site Site
	Version
	name, message string
	line, column  int64
}

type noted struct {
	n           int64
	first, last time.Time
}

// minute is how many views a site had in a minute, according to reports.
type minute struct {
	at, views int64
	sample    int   // pages report one view in this many, computed from the views of the minute before
	most      int   // the largest recent sample
	mostAt    int64 // the minute of that sample
}

// weight is how many views a sampled report stands for. A page's claim is believed up to the largest sample that pages
// got lately, from this server or from another that has other views.
func (m *minute) weight(sample float64) int64 {
	if sample > 0 && sample < 1 {
		return int64(min(math.Round(1/sample), float64(reportedOf*m.most)))
	}
	return 1
}

// Sample says how many views of a site one report stands for.
func (c *Counts) Sample(siteID int64, now time.Time) int {
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

// Report is what a page reports about a view.
type Report struct {
	Revision float64 `json:"revision"` // of the manifest
	Sample   float64 `json:"sample"`
	Apps     []struct {
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

const maxReported = 200 // apps, as many as a site may have, and errors

// Read reads the body that a page sends. ok is false if it is not a report.
func Read(body []byte) (r Report, ok bool) {
	err := json.Unmarshal(body, &r)
	return r, err == nil && len(r.Apps) <= maxReported && len(r.Errors) <= maxReported
}

// Take counts a report, as far as it is about versions that the site has run lately.
func (c *Counts) Take(s Site, r Report, ran map[Version]bool) {
	now := c.DB.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.minuteOf(s.ID, now)
	views := m.weight(r.Sample)
	told := map[int64]bool{}
	for _, a := range r.Apps {
		version := Version{a.ID, a.Version}
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
		if ran[version] && !told[a.ID] {
			told[a.ID] = true // an app counts once in a view
			c.noteViews(viewKey{s, version, now.Unix() / 60, bucket}, views)
		}
	}
	if len(told) > 0 {
		m.views += views
	}
	for _, e := range r.Errors {
		if version := (Version{e.ID, e.Version}); ran[version] {
			c.noteError(errorKey{
				s, version, clean(e.Name, 100), clean(e.Message, 300), lineOrColumn(e.Line), lineOrColumn(e.Column),
			}, noted{views, now, now})
		}
	}
}

// noteViews adds n views to a key.
func (c *Counts) noteViews(key viewKey, n int64) {
	if _, ok := c.views[key]; !ok {
		if c.viewsOf[key.site.OrganizationID] >= maxViews || len(c.views) >= maxPending {
			return
		}
		c.viewsOf[key.site.OrganizationID]++
	}
	c.views[key] += n
}

// noteError adds to the count of an error.
func (c *Counts) noteError(key errorKey, more noted) {
	e := c.errors[key]
	switch {
	case e != nil:
		e.n += more.n
		if more.first.Before(e.first) { // these are put back after a failed flush
			e.first = more.first
		} else {
			e.last = more.last
		}
	case c.errorsOf[key.site.OrganizationID] < maxErrors && len(c.errors) < maxPending/10:
		c.errorsOf[key.site.OrganizationID]++
		c.errors[key] = &more
	}
}

// lineOrColumn returns a possible line or column; 0: none.
func lineOrColumn(n float64) int64 {
	if n >= 1 && n <= math.MaxInt32 {
		return int64(n)
	}
	return 0
}

// private matches the parts of an error's text that may identify a visitor: urls and paths, e-mail and network
// addresses, and the browser. Patterns that can match the whole text stand alone: in one expression, each short match
// would start another search to the end of the text.
var private = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]*`),
		regexp.MustCompile(`[^\s"'<>@]+@[^\s"'<>@]+`),
		regexp.MustCompile(`\B/[^\s"'<>/][^\s"'<>]*|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b(?:[0-9A-Fa-f]{1,4}:{1,2}){2,7}[0-9A-Fa-f]{0,4}` +
			`|\b[0-9A-Fa-f]{1,4}::(?:[0-9A-Fa-f]{1,4}\b|\B)|Mozilla/\d.*`),
	}
})

// clean returns a text that an app has reported, in the form that is stored.
func clean(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r // invalid UTF-8 becomes U+FFFD
	}, text)
	for _, part := range private() {
		text = part.ReplaceAllString(text, "(address)")
	}
	if all := []rune(text); len(all) > most {
		text = string(all[:most])
	}
	return strings.TrimSpace(text)
}

// Flush stores the counts in memory. If that fails, they stay in memory.
func (c *Counts) Flush(ctx context.Context) error {
	return errors.Join(c.flushViews(ctx), c.flushErrors(ctx))
}

// flushViews stores views in the order of sites, because other transactions lock several sites in this order too:
// another order could deadlock. Views of a site that was deleted meanwhile are dropped.
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

// sameApp reports whether two errors belong to one app on one site.
func (k errorKey) sameApp(other errorKey) bool {
	return k.site.ID == other.site.ID && k.AppID == other.AppID
}

// writeErrors stores errors, and removes the oldest errors of each app that has too many.
func (c *Counts) writeErrors(ctx context.Context, keys []errorKey, errs map[errorKey]*noted) error {
	return c.DB.InTx(ctx, func(ctx context.Context, tx *db.Tx) error {
		for i, key := range keys {
			if err := addError(ctx, tx, key, *errs[key]); err != nil {
				return err
			}
			if i+1 == len(keys) || !key.sameApp(keys[i+1]) {
				if err := removeOldErrors(ctx, tx, key.site.ID, key.AppID); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// flushErrors is flushViews for errors; only the last ones of an app are kept.
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
