// Package bundles serves the compiled bundles of apps to browsers. Package bundle makes them.
package bundles

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"foyer/internal/base/cache"
	"foyer/internal/base/compress"
	"foyer/internal/base/digest"
	"foyer/internal/base/fair"
	"foyer/internal/base/fault"
	"foyer/internal/base/flight"
	"foyer/internal/base/inflight"
	"foyer/internal/domain/access"
	"foyer/internal/infra/db"
	"foyer/internal/infra/lastuse"
)

const (
	// maxRefAge is how long a ref in memory may be used.
	maxRefAge = time.Second
	// maxRefs bounds the refs in memory, of about 400 bytes each.
	maxRefs = 8000
	// maxScriptBytes bounds the bundles in memory.
	maxScriptBytes = 24 << 20

	// maxLoading is how many bundles that are not in memory are read and compressed at once; a large one takes 50 MB.
	// maxLoadingWait is how many more may wait: a page may have dozens of apps.
	maxLoading     = 2
	maxLoadingWait = 200

	// useInterval is the precision of a plugin's recorded last use.
	useInterval = time.Hour
	// maxUses bounds how many plugins' last uses are in memory, at about 200 bytes each.
	maxUses = 20_000
)

// Script is a bundle as browsers get it.
type Script struct {
	compress.Text
	SHA256   string
	Disabled bool // it stands for the bundle of a plugin that is disabled
}

// Server serves bundles. It caches them, so that most requests touch no disk, and notes which ones were requested.
type Server struct {
	DB    *db.DB
	Loads *fair.Queue // of bundles to read, shared between organizations

	scripts    cache.Cache[string, *Script] // by sum
	refs       cache.Cache[string, ref]     // by public token and sum; their version is generation
	generation atomic.Int64                 // counted up by Invalidate
	flight     flight.Group[*Script]
	used       cache.Cache[int64, time.Time] // when plugins were last used, as recorded
	uses       lastuse.Notes
}

// NewServer returns a server of the bundles in d.
func NewServer(d *db.DB) *Server {
	return &Server{
		DB:      d,
		Loads:   fair.New(maxLoading, maxLoadingWait, "Too many bundles are being loaded"),
		scripts: cache.Cache[string, *Script]{Max: maxScriptBytes, Size: func(s *Script) int { return s.Size() }},
		refs:    cache.Cache[string, ref]{Max: maxRefs},
		used:    cache.Cache[int64, time.Time]{Max: maxUses},
	}
}

// ref is the bundle that a public token, with or without a sum, stands for.
type ref struct {
	PluginID       int64
	OrganizationID string
	SHA256         string
	Disabled       bool // whether the plugin is disabled
	Withdrawn      bool // whether its version is withdrawn
	checkedAt      time.Time
}

func (r *ref) fields() []any {
	return []any{&r.PluginID, &r.OrganizationID, &r.SHA256, &r.Disabled, &r.Withdrawn}
}

var errGone = fault.New(fault.Gone, "The app is disabled, or this version of it is withdrawn.")

// nothing is served as the current bundle of a disabled plugin. It is a module, so that pages which import it keep
// working.
var nothing = sync.OnceValue(func() *Script {
	return &Script{Text: compress.Of([]byte(emptyModule)), SHA256: digest.SHA256(emptyModule), Disabled: true}
})

const emptyModule = "export {};\n"

// Serve returns a bundle of the app with the public token: the one with the given sum or, without a sum, the current
// one. It counts that as a use. A bundle that is off is gone, but the current bundle of a disabled app is a module
// that does nothing.
func (s *Server) Serve(ctx context.Context, publicToken, sha256 string) (*Script, error) {
	if !IsToken(publicToken) {
		return nil, access.ErrNotFound
	}
	now := s.DB.Now()
	r, err := s.resolve(ctx, publicToken, sha256, now)
	if err != nil {
		return nil, access.OrNotFound(err)
	}
	switch {
	case r.Disabled && sha256 == "":
		return nothing(), nil
	case r.Disabled || r.Withdrawn:
		return nil, errGone
	}
	s.noteUse(r.PluginID, now)
	script, err := s.script(ctx, r)
	if err != nil {
		return nil, err
	}
	return script, inflight.From(ctx).Share(r.OrganizationID, script.SHA256, script.Size())
}

// IsToken reports whether a text can be a public token, which is made by rand.Text. No other text reaches the database,
// which refuses bytes that are not text.
func IsToken(text string) bool {
	const base32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	return strings.Trim(text, base32) == ""
}

func (s *Server) resolve(ctx context.Context, publicToken, sha256 string, now time.Time) (ref, error) {
	key, generation := publicToken+"/"+sha256, s.generation.Load()
	r, ok := s.refs.Get(key, generation)
	if age := now.Sub(r.checkedAt); ok && age >= 0 && age < maxRefAge {
		return r, nil
	}
	r, err := findRef(inflight.Uncounted(ctx), s.DB, publicToken, sha256)
	if err != nil {
		return ref{}, err
	}
	r.checkedAt = now
	s.refs.Put(key, generation, r) // useless if Invalidate was called meanwhile
	return r, nil
}

// Invalidate makes the next requests ask the database, because an app has changed.
func (s *Server) Invalidate() { s.generation.Add(1) }

// script returns a bundle, which is compressed once for all requests.
func (s *Server) script(ctx context.Context, r ref) (*Script, error) {
	if script, ok := s.scripts.Get(r.SHA256, cache.Unversioned); ok {
		return script, nil
	}
	return s.flight.Do(ctx, r.OrganizationID+" "+r.SHA256, func(ctx context.Context) (*Script, error) { return s.loadInTurn(ctx, r) })
}

// loadInTurn reads a bundle once fewer than maxLoading others are being read.
func (s *Server) loadInTurn(ctx context.Context, r ref) (*Script, error) {
	leave, err := s.Loads.Enter(ctx, r.OrganizationID)
	if err != nil {
		return nil, err
	}
	defer leave()
	if script, ok := s.scripts.Get(r.SHA256, cache.Unversioned); ok {
		return script, nil // another organization loaded it while we waited
	}
	js, err := findContent(inflight.Uncounted(ctx), s.DB, r.SHA256)
	if err != nil {
		return nil, access.OrNotFound(err)
	}
	script := &Script{Text: compress.Of([]byte(js)), SHA256: r.SHA256}
	s.scripts.Put(r.SHA256, cache.Unversioned, script)
	return script, nil
}

// noteUse notes that a plugin is used.
func (s *Server) noteUse(pluginID int64, at time.Time) {
	if last, _ := s.used.Get(pluginID, cache.Unversioned); at.Sub(last) < useInterval {
		return
	}
	s.used.Put(pluginID, cache.Unversioned, at)
	s.uses.Note(lastuse.Used{ID: pluginID}, at)
}

// FlushUse records which apps' bundles were requested.
func (s *Server) FlushUse(ctx context.Context) error { return s.uses.Flush(ctx, s.DB, markUsed) }
