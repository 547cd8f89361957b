package site

import (
	"context"
	"encoding/json"
	"strconv"
	"sync/atomic"
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/base/compress"
	"foyer/internal/base/digest"
	"foyer/internal/base/flight"
	"foyer/internal/base/inflight"
	"foyer/internal/domain/access"
	"foyer/internal/domain/bundles"
	"foyer/internal/domain/report"
	"foyer/internal/domain/site/loader"
	"foyer/internal/infra/db"
)

const (
	// maxManifestAge is how long a cached manifest may be served before the database is asked whether it is current.
	maxManifestAge = time.Second
	// maxManifestBytes bounds the sites in memory, with their manifests, maxLoaderBytes the loaders, and maxSeenBytes what
	// sites have run.
	maxManifestBytes = 32 << 20
	maxLoaderBytes   = 8 << 20
	maxSeenBytes     = 4 << 20
)

// Content is a text for browsers, compressed once for all requests.
type Content struct {
	compress.Text
	Tag string // different for each text
}

func newContent(body []byte) *Content {
	return &Content{Text: compress.Of(body), Tag: digest.SHA256(body)[:32]}
}

func (c *Content) size() int { return c.Size() + 200 }

// Manifests serves manifests and loaders to pages. It caches them, so that most requests touch no disk.
type Manifests struct {
	DB      *db.DB
	BaseURL string // set before anything is served
	Counts  *report.Counts

	sites      cache.Cache[string, *served]  // by token
	loaders    cache.Cache[string, *Content] // by token
	seen       cache.Cache[int64, *seen]     // by site; their version is the site's revision
	generation atomic.Int64                  // counted up by invalidate
	flight     flight.Group[*served]
}

// NewManifests returns Manifests for the sites in d.
func NewManifests(d *db.DB) *Manifests {
	return &Manifests{
		DB: d, Counts: report.NewCounts(d),
		sites:   cache.Cache[string, *served]{Max: maxManifestBytes, Size: (*served).size},
		loaders: cache.Cache[string, *Content]{Max: maxLoaderBytes, Size: (*Content).size},
		seen:    cache.Cache[int64, *seen]{Max: maxSeenBytes, Size: func(s *seen) int { return 200 + 24*len(s.versions) }},
	}
}

// served is a site with its manifest.
type served struct {
	Site

	manifest   *Content
	sample     int   // one in so many views is reported
	generation int64 // of Manifests, before the site was read
	checkedAt  time.Time
}

func (s *served) size() int { return s.manifest.size() + 500 }

// invalidate makes the next requests ask the database, because a site has changed.
func (m *Manifests) invalidate() { m.generation.Add(1) }

// isToken reports whether a text can be the token of a site.
func isToken(text string) bool { return len(text) == 26 && bundles.IsToken(text) }

// site returns the site with a token, as it was at most a second ago.
func (m *Manifests) site(ctx context.Context, token string) (*served, error) {
	if !isToken(token) {
		return nil, access.ErrNotFound
	}
	now, generation := m.DB.Now(), m.generation.Load()
	known, ok := m.sites.Get(token, cache.Unversioned)
	if ok && known.generation == generation {
		if age := now.Sub(known.checkedAt); age >= 0 && age < maxManifestAge {
			return known, nil
		}
	}
	s, err := m.flight.Do(ctx, token+strconv.FormatInt(generation, 10), func(ctx context.Context) (*served, error) {
		return m.load(inflight.Uncounted(ctx), token, generation, now)
	})
	return s, access.OrNotFound(err)
}

// load reads a site from the database; it makes the manifest only if the site has changed.
func (m *Manifests) load(ctx context.Context, token string, generation int64, now time.Time) (*served, error) {
	site, err := findByToken(ctx, m.DB, token)
	if err != nil {
		return nil, err
	}
	s := &served{Site: site, sample: m.Counts.Sample(site.ID, now), generation: generation, checkedAt: now}
	if known, ok := m.sites.Get(token, cache.Unversioned); ok && known.stamp == s.stamp && known.sample == s.sample {
		s.manifest = known.manifest
	} else {
		if site, err = findByTokenWithApps(ctx, m.DB, token); err != nil {
			return nil, err
		}
		s.manifest, s.stamp = newContent(manifest(site, m.BaseURL, s.sample)), site.stamp
	}
	m.sites.Put(token, cache.Unversioned, s) // asked again if invalidate was called meanwhile
	return s, nil
}

// manifest returns what a page should run, as JSON.
func manifest(s Site, baseURL string, sample int) []byte {
	return []byte(encode(struct {
		Site     string          `json:"site"`
		Revision int64           `json:"revision"`
		Sample   json.Number     `json:"sample"`
		Apps     json.RawMessage `json:"apps"`
	}{s.Token, s.Revision, json.Number(strconv.FormatFloat(1/float64(sample), 'f', -1, 64)), json.RawMessage(withBase(s.apps, baseURL))}))
}

// Manifest returns the manifest of the site with a token.
func (s Service) Manifest(ctx context.Context, token string) (*Content, error) {
	found, err := s.Manifests.site(ctx, token)
	if err != nil {
		return nil, err
	}
	return found.manifest, inflight.From(ctx).Share(found.OrganizationID, found.manifest.Tag, found.manifest.size())
}

// PreviewManifest is Manifest for a page that has the token of a preview. The page sends no origin if it is on foyer's
// own host, and "null" if it is in a sandbox, as the try page is.
func (s Service) PreviewManifest(ctx context.Context, token, preview, origin string) (*Content, error) {
	if !isToken(token) || !isToken(preview) {
		return nil, access.ErrNotFound
	}
	site, err := s.previewed(ctx, token, preview)
	if err != nil {
		return nil, err
	}
	if origin != "" && origin != "null" && !site.takes(origin) {
		return nil, access.ErrNotFound
	}
	return newContent(manifest(site, s.BaseURL(), 1)), nil
}

// Loader returns the script for the pages of the site with a token.
func (s Service) Loader(ctx context.Context, token string) (*Content, error) {
	m := s.Manifests
	if _, err := m.site(ctx, token); err != nil {
		return nil, err
	}
	if c, ok := m.loaders.Get(token, cache.Unversioned); ok {
		return c, nil
	}
	c := newContent(loader.Script(m.BaseURL, token))
	m.loaders.Put(token, cache.Unversioned, c)
	return c, nil
}

// Try returns the site with a token if its try page may be shown: to callers with its key or, for the site that the
// first start made, to everybody.
func (s Service) Try(ctx context.Context, token, key string) (Site, error) {
	found, err := s.Manifests.site(ctx, token)
	if err != nil {
		return Site{}, err
	}
	if !found.Demo && !s.opens(key, token) {
		return Site{}, access.ErrNotFound
	}
	return found.Site, nil
}

// IDOf returns the id of the site with a token.
func (s Service) IDOf(ctx context.Context, token string) (int64, error) {
	found, err := s.Manifests.site(ctx, token)
	if err != nil {
		return 0, err
	}
	return found.ID, nil
}

// Beacon counts the report of a page of the site with a token. It ignores an invalid one.
func (s Service) Beacon(ctx context.Context, token, origin string, body []byte) {
	found, err := s.Manifests.site(ctx, token)
	if err != nil || !found.takes(origin) {
		return
	}
	r, ok := report.Read(body)
	if !ok {
		return
	}
	ran, err := s.Manifests.lately(ctx, found.Site, r.Revision > float64(found.Revision))
	if err != nil {
		return // the database cannot be read, so nothing can be counted
	}
	s.Manifests.Counts.Take(found.reported(), r, ran)
}

// seen is the versions that a site has run in the last day.
type seen struct {
	at       time.Time
	versions map[report.Version]bool
}

// lately returns the versions that were in a site's manifest in the last day. If a report is about a newer manifest,
// which another server may have served, they are read again, but not for each report: anybody can send any revision.
func (m *Manifests) lately(ctx context.Context, s Site, newer bool) (map[report.Version]bool, error) {
	now := m.DB.Now()
	if found, ok := m.seen.Get(s.ID, s.Revision); ok {
		if age := now.Sub(found.at); age < time.Hour && (!newer || age < maxManifestAge) {
			return found.versions, nil
		}
	}
	lists, err := listLately(ctx, m.DB, s.ID, now.Add(-24*time.Hour))
	if err != nil {
		return nil, err
	}
	versions := map[report.Version]bool{}
	for _, list := range lists {
		for _, v := range readVersions(list) {
			versions[v] = true
		}
	}
	m.seen.Put(s.ID, s.Revision, &seen{now, versions})
	return versions, nil
}
