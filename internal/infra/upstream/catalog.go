package upstream

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/base/flight"
	"foyer/internal/base/patch"
	"foyer/internal/infra/upstream/egress"
)

const (
	// catalogInterval is the interval at which Run looks for changes.
	catalogInterval = 5 * time.Minute

	// MaxName is the length of an app's name field, in characters.
	MaxName = 200

	maxCatalogBytes = 4 << 20
	catalogTime     = 30 * time.Second
	catalogRest     = 10 * time.Second // pause after a failure before Entries tries again
)

//go:embed catalog.json
var defaultCatalog []byte

// Entry is an app listed in the catalog. Other keys of its source are ignored.
type Entry struct {
	Name        string `json:"name"`
	URL         string `json:"url"` // without its secret parts, see Remote
	Description string `json:"description"`
	Verified    bool   `json:"verified"`

	remote Remote
}

// Key returns Remote.Key.
func (e Entry) Key() string { return e.remote.Key() }

// Remote returns where to install the entry from. For an npm package the error is an Invalid fault on "url".
func (e Entry) Remote() (Remote, error) {
	_, rest, _ := strings.Cut(e.Key(), "://")
	host, path, _ := strings.Cut(rest, "/")
	if strings.Contains(host, "npm") && strings.HasPrefix(path, "package/") {
		return Remote{}, badURL(fmt.Sprintf("%q is an npm package; apps are installed only from git repositories.", e.Name))
	}
	return e.remote, nil
}

// Catalog is a list of apps to choose from. It keeps the last good copy of its
// source in memory.
type Catalog struct {
	source string // FOYER_CATALOG: a path or url; "" for the embedded one
	client *egress.Client
	log    *slog.Logger
	now    func() time.Time

	entries atomic.Pointer[[]Entry] // nil before the first good copy

	flight flight.Group[struct{}] // guards the following fields
	etag   string                 // of entries
	unfit  []string               // the omitted entries in the last log line
	failed time.Time              // when readFirst last failed
}

// NewCatalog returns the catalog at source, a path or a url, or the embedded one for "". It fetches urls with client,
// which restricts the hosts that they can reach.
func NewCatalog(source string, client *egress.Client, log *slog.Logger, now func() time.Time) *Catalog {
	return &Catalog{source: source, client: client, log: log, now: now}
}

// Entries returns the catalog's entries in its order, duplicates included, or an UpstreamUnavailable fault if there has
// never been a good copy.
func (c *Catalog) Entries(ctx context.Context) ([]Entry, error) {
	if entries := c.entries.Load(); entries != nil {
		return *entries, nil
	}
	if err := c.share(ctx, c.readFirst); err != nil { // it may be the error of a running refresh
		return nil, cmp.Or(ctx.Err(), errNoCatalog)
	}
	return *c.entries.Load(), nil
}

var errNoCatalog = fault.New(fault.UpstreamUnavailable, "The catalog cannot be read now.")

// Run refreshes the catalog every catalogInterval until ctx ends.
func (c *Catalog) Run(ctx context.Context) {
	ticker := time.NewTicker(catalogInterval)
	defer ticker.Stop()
	for {
		if err := c.Refresh(ctx); err != nil && ctx.Err() == nil {
			if c.entries.Load() == nil {
				c.log.WarnContext(ctx, "catalog not read", "error", err)
			} else {
				c.log.WarnContext(ctx, "catalog not refreshed, keeping the last copy", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Refresh reads the source again. After an error the last good copy is kept.
func (c *Catalog) Refresh(ctx context.Context) error { return c.share(ctx, c.refresh) }

// readFirst reads the source if there is no copy, unless an attempt has just failed.
func (c *Catalog) readFirst(ctx context.Context) error {
	if c.entries.Load() != nil {
		return nil
	}
	if c.now().Sub(c.failed).Abs() < catalogRest {
		return errNoCatalog
	}
	if err := c.refresh(ctx); err != nil {
		c.failed = c.now()
		c.log.WarnContext(ctx, "catalog not read", "error", err)
		return errNoCatalog
	}
	return nil
}

// share reads the source once for all concurrent callers.
func (c *Catalog) share(ctx context.Context, read func(context.Context) error) error {
	_, err := c.flight.Do(ctx, "", func(ctx context.Context) (struct{}, error) { return struct{}{}, read(ctx) })
	return err
}

func (c *Catalog) refresh(ctx context.Context) error {
	data, etag, err := c.read(ctx)
	if errors.Is(err, errUnchanged) && c.entries.Load() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the catalog: %w", err)
	}
	entries, unfit, err := parseCatalog(data)
	if err != nil {
		return fmt.Errorf("read the catalog: %w", err)
	}
	if len(unfit) > 0 && !slices.Equal(unfit, c.unfit) {
		c.log.WarnContext(ctx, "catalog entries left out", "some", unfit, "kept", len(entries))
	}
	c.unfit = unfit
	c.entries.Store(&entries)
	c.etag = etag
	return nil
}

var errUnchanged = errors.New("the catalog is unchanged")

func (c *Catalog) read(ctx context.Context) (data []byte, etag string, err error) {
	switch {
	case c.source == "":
		return defaultCatalog, "", nil
	case strings.HasPrefix(c.source, "https://"):
		return c.fetch(ctx)
	default:
		data, err = os.ReadFile(c.source)
		return data, "", err
	}
}

func (c *Catalog) fetch(ctx context.Context) (data []byte, etag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, catalogTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.source, nil)
	if err != nil {
		return nil, "", errors.New("FOYER_CATALOG is not a usable url") // err would show its credentials
	}
	if c.etag != "" {
		req.Header.Set("If-None-Match", c.etag)
	}
	resp, err := c.client.Do(req, maxCatalogBytes, "catalog")
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		return nil, "", errUnchanged
	}
	data, err = io.ReadAll(resp.Body)
	return data, resp.Header.Get("ETag"), err
}

// maxUnfit is how many omitted entries are named.
const maxUnfit = 5

// parseCatalog reads a JSON list of {name, url, description, verified}. It omits unusable elements and names the first
// few: one bad entry should not hide the others.
func parseCatalog(data []byte) (entries []Entry, unfit []string, err error) {
	var elements []json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &elements); err != nil {
		return nil, nil, fmt.Errorf("it is not a JSON list: %w", err)
	}
	if elements == nil {
		return nil, nil, errors.New("it is not a JSON list, but null")
	}
	for i, element := range elements {
		e, err := parseEntry(element)
		if err == nil {
			entries = append(entries, e)
		} else if len(unfit) < maxUnfit {
			unfit = append(unfit, fmt.Sprintf("entry %d (%.100q): %s", i+1, e.Name, err))
		}
	}
	return entries, unfit, nil
}

// parseEntry returns the name, if there is one, even if it also returns an error.
func parseEntry(element json.RawMessage) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(element, &e); err != nil {
		return e, errors.New("it is not an object of name, url, description and verified")
	}
	e.Name = strings.TrimSpace(e.Name) // like the name in a request
	switch {
	case patch.Blank(e.Name):
		return e, errors.New("it has no name")
	case utf8.RuneCountInString(e.Name) > MaxName || strings.ContainsRune(e.Name, 0):
		return e, fmt.Errorf("its name is longer than %d characters or has a NUL character", MaxName)
	}
	var err error
	e.remote, err = Parse(e.URL)
	e.URL = e.remote.URL
	return e, err
}
