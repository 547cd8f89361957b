// Package server puts the parts together and runs them until told to stop.
package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"time"

	"foyer/internal/api"
	"foyer/internal/config"
	"foyer/internal/console"
	"foyer/internal/console/invitation"
	"foyer/internal/console/markup"
	"foyer/internal/db"
	"foyer/internal/http1"
	"foyer/internal/router"
	"foyer/internal/wire"
)

const (
	readTimeout    = time.Minute      // for a whole request: 10 MiB on a slow line
	headerTimeout  = 10 * time.Second // for its head
	writeTimeout   = 5 * time.Minute  // from the head of a request to the end of its answer
	idleTimeout    = 2 * time.Minute  // between requests of a connection
	maxHeaderBytes = 64 << 10
	grace          = 30 * time.Second // for requests in flight at the end
	flushEvery     = 10 * time.Second // of what is noted only in memory
	flushTime      = 8 * time.Second  // for that
	startOver      = time.Second      // after it listens: by then the start is over
)

// ballastSize is how many bytes are set aside and never touched, so that they take
// no memory. Go collects garbage when the heap has doubled: foyer needs only 3 MB,
// so dozens of times a second under load. With these the heap looks larger.
const ballastSize = 8 << 20

// Server is foyer, ready to run.
type Server struct {
	Config  config.Config
	Version string // of this program
	Log     *slog.Logger
	Stdout  io.Writer // where the first start shows its key
}

// Run serves until ctx is done. It stops the listener first, then what requests
// feed, and the database last.
func (s Server) Run(ctx context.Context) (err error) {
	limitMemory()
	for _, name := range s.Config.Unknown {
		s.Log.WarnContext(ctx, "no setting has this name", "variable", name)
	}
	d, err := open(ctx, s.Config, s.Log, true)
	if err == nil {
		defer func() { err = errors.Join(err, d.Close()) }()
		err = s.run(ctx, d)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // told to stop while it started
		s.Log.InfoContext(ctx, "stopped", "reached", err.Error())
		return nil
	}
	return err
}

func (s Server) run(ctx context.Context, d *Domain) error {
	s.compareClocks(ctx, d.db)
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Config.Listen)
	if err != nil {
		return fmt.Errorf("FOYER_LISTEN: %w", err)
	}
	defer ln.Close()
	if s.Config.CatalogIsFile() { // an address may be down for a while; a wrong file stays wrong
		if err := d.Plugins.Catalog.Refresh(ctx); err != nil {
			return fmt.Errorf("FOYER_CATALOG: %w", err)
		}
	}
	baseURL := s.Config.Base(ln.Addr().String())
	d.Invites.Links = d.Invites.Links.At(baseURL)
	if err := s.bootstrap(ctx, d, baseURL); err != nil {
		return err
	}
	var background sync.WaitGroup
	defer background.Wait()
	flushCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	background.Go(func() { s.flush(flushCtx, d.Keys.FlushUse, d.Plugins.Bundles.FlushUse) })
	background.Go(func() { d.Plugins.Catalog.Run(flushCtx) })
	m := newMetrics(flushCtx, s.Version, d.Jobs, d.Plugins.Children)
	workCtx, stopWork := context.WithCancel(ctx) // jobs under way end while requests in flight do
	defer stopWork()
	if err := s.work(workCtx, d, m, &background); err != nil {
		return err
	}
	if s.Config.MetricsListen != "" {
		if err := s.serveMetrics(flushCtx, m, &background); err != nil {
			return err
		}
	}
	background.Go(func() { s.settle(flushCtx) })
	s.Log.InfoContext(ctx, "listening", "address", ln.Addr().String(), "base_url", baseURL, "version", s.Version)
	return s.serve(ctx, ln, s.handler(d, baseURL, m))
}

// maxClockAhead is how far apart clocks may be without a warning: a server takes a job
// for 25 seconds at a time.
const maxClockAhead = 5 * time.Second

// compareClocks warns when servers that share a database may not agree on what time it is.
func (s Server) compareClocks(ctx context.Context, d *db.DB) {
	if ahead, err := d.ClockAhead(ctx); err == nil && ahead.Abs() > maxClockAhead {
		s.Log.WarnContext(ctx, "this machine's clock and the database's differ: mails may be sent twice", "database_ahead", ahead.Round(time.Second).String())
	}
}

// handler answers everything that is asked of the server.
func (s Server) handler(d *Domain, baseURL string, m *metrics) http.Handler {
	a := &api.API{
		Log: s.Log, Keys: d.Keys, BaseURL: baseURL, RateLimit: s.Config.RateLimit, TrustedProxies: s.Config.TrustedProxies,
		Plugins: d.Plugins, Invites: d.Invites, Organizations: d.Organizations,
	}
	host := markup.Host{BaseURL: baseURL, RequestID: api.RequestID, Report: a.Report, Limit: a.LimitPeer}
	pages := &invitation.Pages{Host: host, Invites: d.Invites}
	members := &console.Console{Host: host, Keys: d.Keys, Sessions: d.Sessions, Mails: d.Invites.Mails}
	return a.Observe(a.Handler(func(to *router.Router) {
		s.pages(to, d.db, baseURL)
		pages.Register(to)
		members.Register(to)
	}), m.seen)
}

// pages adds what is served beside the API.
func (s Server) pages(to *router.Router, d *db.DB, baseURL string) {
	docs := api.Docs(baseURL)
	for path, h := range map[string]http.Handler{
		"/healthz":      http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { status(w, http.StatusOK, "ok") }),
		"/readyz":       s.readyz(d),
		"/openapi.yaml": api.OpenAPIYAML(),
		"/openapi.json": api.OpenAPIJSON(),
		"/docs":         docs,
	} {
		to.Handle(path, wire.Get(h))
	}
	to.Handle("/{$}", wire.Get(docs))
}

// readyTimeout is how long the database may take to answer.
const readyTimeout = 5 * time.Second

func (s Server) readyz(d *db.DB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := d.Ping(ctx); err != nil {
			s.Log.WarnContext(r.Context(), "not ready", "error", err.Error())
			status(w, http.StatusServiceUnavailable, "the database does not answer")
			return
		}
		status(w, http.StatusOK, "ok")
	}
}

func status(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n") // fails if the client has gone
}

// serve listens until ctx is done, then lets open requests finish.
func (s Server) serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	srv := http1.New(&http.Server{
		Handler: h, ReadTimeout: readTimeout, ReadHeaderTimeout: headerTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: log.New(netLog{s.Log.Handler()}, "", 0),
		DisableGeneralOptionsHandler: true, // its answer to OPTIONS * would have no request id
	})
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		graceCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		stopped <- srv.Shutdown(graceCtx)
	}()
	// It ends what did not end in time, before the database closes.
	defer srv.Close()
	//nolint:contextcheck // requests go on when ctx is done
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if err := <-stopped; err != nil {
		s.Log.WarnContext(ctx, "requests did not end in time", "error", err.Error())
	}
	s.Log.InfoContext(ctx, "stopped")
	return nil
}

// netLog takes the lines that net/http logs. Nearly all are about clients that break
// off. That nobody can connect is our fault, and soon logged only once a second.
type netLog struct{ slog.Handler }

func (l netLog) Write(line []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.HasPrefix(line, []byte("http: Accept error")) {
		level = slog.LevelError
	}
	return slog.NewLogLogger(l, level).Writer().Write(line)
}

// settle arranges memory for a long time of serving. No start waits for it: setting
// the ballast aside makes Go collect garbage.
func (s Server) settle(ctx context.Context) {
	select {
	case <-time.After(startOver):
	case <-ctx.Done():
		return
	}
	ballast := make([]byte, ballastSize)
	if err := releaseProgram(); err != nil {
		s.Log.DebugContext(ctx, "the program's memory could not be released", "error", err.Error())
	}
	<-ctx.Done()
	runtime.KeepAlive(ballast)
}

// flush writes now and then, and at the end, what requests only noted. What could not be
// written stays noted.
func (s Server) flush(ctx context.Context, notes ...func(context.Context) error) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.write(ctx, notes)
		case <-ctx.Done():
			s.write(context.WithoutCancel(ctx), notes)
			return
		}
	}
}

// write has one time for all notes: a stop waits for them.
func (s Server) write(ctx context.Context, notes []func(context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	for _, write := range notes {
		if err := write(limited); err != nil && ctx.Err() == nil { // else it is tried at the end
			s.Log.ErrorContext(ctx, "note what was used", "error", err.Error())
		}
	}
}
