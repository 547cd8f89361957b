// Package server wires the parts together and runs them until it is told to stop.
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
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"foyer/internal/base/inflight"
	"foyer/internal/config"
	"foyer/internal/domain/event"
	"foyer/internal/domain/invite"
	"foyer/internal/face/api"
	"foyer/internal/face/console"
	"foyer/internal/face/console/guide"
	"foyer/internal/face/console/invitation"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
	"foyer/internal/infra/job"
	"foyer/internal/infra/oidc"
	"foyer/internal/infra/trace"
)

const (
	readTimeout    = time.Minute      // for reading a whole request: 10 MiB on a slow line
	headerTimeout  = 10 * time.Second // for its header
	writeTimeout   = 5 * time.Minute  // from the header of a request to the end of its answer
	idleTimeout    = 2 * time.Minute  // between requests on a connection
	maxHeaderBytes = 64 << 10
	grace          = 30 * time.Second // for requests in flight when the server stops
	flushEvery     = 10 * time.Second // how often notes in memory are stored
	flushTime      = 8 * time.Second  // for storing them
)

// Server is foyer, ready to run.
type Server struct {
	Config  config.Config
	Version string // of this program
	Log     *slog.Logger
	Stdout  io.Writer // for the first start to show its key
	Tracer  *trace.Tracer
	// Leave is how long a server that is told to stop still accepts requests, so that proxies notice before connections
	// are closed.
	Leave time.Duration
}

// Run serves until ctx is done. Then it stops the listener, the work that requests feed and the database, in this order.
func (s Server) Run(ctx context.Context) (err error) {
	limitMemory(s.Config.InFlightLimit)
	s.Log = slog.New(newRepeats(s.Log.Handler()))
	for _, name := range s.Config.Unknown {
		s.Log.WarnContext(ctx, "no setting has this name", "variable", name)
	}
	d, secret, err := openDatabase(ctx, s.Config, s.Log, true)
	if err == nil {
		defer func() { err = errors.Join(err, d.Close()) }()
		err = s.run(ctx, d, secret)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // it was told to stop during its start
		s.Log.InfoContext(ctx, "stopped", "reached", err.Error())
		return nil
	}
	return err
}

func (s Server) run(ctx context.Context, database *db.DB, secret string) error {
	s.compareClocks(ctx, database)
	s.warnOfHeld(ctx, database)
	ln, err := s.listen(ctx)
	if err != nil {
		return fmt.Errorf("FOYER_LISTEN: %w", err)
	}
	defer ln.Close()
	baseURL := s.Config.Base(ln.Addr().String())
	d, err := newDomain(s.Config, secret, baseURL, database, s.Log)
	if err != nil {
		return err
	}
	d.Events.Tracer = s.Tracer
	if s.Config.CatalogIsFile() { // a url may be unavailable for a while, but a wrong file stays wrong
		if err := d.Plugins.Catalog.Refresh(ctx); err != nil {
			return config.Wrong(fmt.Errorf("FOYER_CATALOG: %w", err))
		}
	}
	var background sync.WaitGroup
	defer background.Wait()
	lateCtx, stopLate := context.WithCancel(context.WithoutCancel(ctx)) // for what requests feed: ends after the last request
	defer stopLate()
	m := newMetrics(lateCtx, s.Version, d.DB, d.Jobs, d.Plugins.Children)
	if s.Config.MetricsListen != "" {
		if err := s.serveMetrics(lateCtx, m, &background); err != nil {
			return err
		}
	}
	if err := s.bootstrap(ctx, d, baseURL); err != nil {
		return err
	}
	background.Go(func() { s.flush(lateCtx, d.Keys.FlushUse, d.Plugins.Bundles.FlushUse, d.Sites.Manifests.Counts.Flush) })
	background.Go(func() { d.Plugins.Catalog.Run(lateCtx) })
	background.Go(func() { s.watch(lateCtx, d.DB) })
	if s.Tracer != nil {
		background.Go(func() { s.Tracer.Run(lateCtx, s.Log) })
	}
	workCtx, stopWork := context.WithCancel(ctx) // running jobs end while requests in flight do
	defer stopWork()
	if err := s.work(workCtx, d, m, &background); err != nil {
		return err
	}
	if strings.HasPrefix(baseURL, "https://") && len(s.Config.TrustedProxies) == 0 {
		s.Log.WarnContext(ctx, "FOYER_BASE_URL is https, and FOYER_TRUSTED_PROXIES names no proxy: all clients behind one count as its address, "+
			"and share its limit on requests without a valid key")
	}
	s.Log.InfoContext(ctx, "listening", "address", ln.Addr().String(), "base_url", baseURL, "version", s.Version)
	collectLess()
	return s.serve(ctx, ln, s.handler(ctx, d, baseURL, m))
}

// collectLess lets garbage grow to four times the memory in use before Go collects it, unless the environment sets
// that: because a server needs only a few megabytes, collecting took a tenth of a request's CPU time. limitMemory
// bounds the garbage.
func collectLess() {
	if os.Getenv("GOGC") == "" { //nolint:forbidigo // a setting of Go, not of foyer
		debug.SetGCPercent(garbage)
	}
}

const garbage = 400 // in percent of the memory in use

// provider returns the identity provider for signing in; nil: none.
func provider(c config.Config, now func() time.Time, baseURL string) *oidc.Provider {
	if !c.SignsInBy(config.ByProvider) {
		return nil
	}
	given := c.OIDC
	return oidc.New(oidc.Settings{
		Issuer: given.Issuer, ClientID: given.ClientID, ClientSecret: given.ClientSecret, Scopes: given.Scopes, Redirect: baseURL + console.CallbackPath,
	}, now)
}

// maxClockAhead is how far clocks may differ without a warning; a server leases a job for 25 seconds at a time.
const maxClockAhead = 5 * time.Second

// compareClocks warns if the clocks of servers that share a database may differ.
func (s Server) compareClocks(ctx context.Context, d *db.DB) {
	if s.Config.SQLite() { // SQLite has no clock of its own
		return
	}
	there, err := db.One[time.Time](ctx, d, nil, `SELECT clock_timestamp()`)
	if ahead := there.Sub(d.Now()); err == nil && ahead.Abs() > maxClockAhead {
		s.Log.WarnContext(ctx, "this machine's clock and the database's differ: mails may be sent twice", "database_ahead", ahead.Round(time.Second).String())
	}
}

// warnOfHeld warns while webhooks or mails are held since a restore.
func (s Server) warnOfHeld(ctx context.Context, d *db.DB) {
	webhooks, err := event.Held(ctx, d)
	if err != nil {
		return // problems with the database are reported elsewhere
	}
	if mails, err := job.Held(ctx, d); err == nil && webhooks+mails > 0 {
		s.Log.WarnContext(ctx, "held since a backup was restored: foyer admin resume lets them go on", "webhooks", webhooks, "mails", mails)
	}
}

// handler returns the handler of all requests to the server.
func (s Server) handler(ctx context.Context, d *Domain, baseURL string, m *metrics) http.Handler {
	a := d.API(baseURL, s.Log)
	a.RateLimit, a.TrustedProxies, a.KeepAddresses = s.Config.RateLimit, s.Config.TrustedProxies, s.Config.ActivityAddresses
	a.InFlight = inflight.New(s.Config.InFlightLimit)
	a.Stopping = ctx.Done()
	host := markup.Host{BaseURL: baseURL, RequestID: api.RequestID, Report: a.Report, Check: a.CheckPeer, Limit: a.LimitPeer, Address: a.ClientAddress, Network: a.ClientNetwork}
	members := &console.Console{
		Host: host, Keys: d.Keys, LimitUser: a.LimitUser, Mails: d.Invites.Mails, InviteTTL: d.Organizations.MaxInviteTTL, SignIn: d.SignIn, Addresses: d.Addresses, TryKey: d.Sites.TryKey, Preview: d.Invites.Preview, ReviewInstall: d.Plugins.ReviewInstall, Compare: d.Plugins.Compare,
		ByKey: s.Config.SignsInBy(config.ByKey), ByMail: s.Config.SignsInBy(config.ByMail), Provider: s.Config.ProviderName(),
	}
	pages := &invitation.Pages{
		Host: host, Invites: d.Invites, SignIn: invite.SignInMethods{Mail: members.ByMail, Provider: members.Provider != "", Key: members.ByKey}, Provider: members.Provider, Keep: members.Keep,
		SignedIn: members.SignedIn, AcceptAsGuest: d.SignIn.AcceptAsGuest,
	}
	return traced(s.Tracer, a.Observe(a.Handler(func(to *wire.Mux) {
		s.pages(ctx, to, d.DB)
		pages.Register(to)
		members.Register(to)
		(&guide.Guides{Host: host, Document: api.OpenAPIDocument(), Reference: api.OpenAPIPage(), Organization: members.Organization}).Register(to)
	}), withSpan(m.observe)))
}

// pages registers the routes beside the API.
func (s Server) pages(ctx context.Context, to *wire.Mux, d *db.DB) {
	for path, h := range map[string]http.Handler{
		"/healthz":      http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { status(w, http.StatusOK, "ok") }),
		"/readyz":       s.readyz(ctx.Done(), d),
		"/openapi.yaml": api.OpenAPIYAML(),
		"/openapi.json": api.OpenAPIJSON(),
	} {
		to.Handle(path, wire.Get(h))
	}
}

// readyTimeout is how long the database may take to answer.
const readyTimeout = 5 * time.Second

// readyz reports whether proxies should send requests here: not after stopping is closed.
func (s Server) readyz(stopping <-chan struct{}, d *db.DB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-stopping:
			status(w, http.StatusServiceUnavailable, "stopping")
			return
		default:
		}
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := d.Ready(ctx); err != nil {
			s.Log.WarnContext(r.Context(), "not ready", "error", err.Error())
			status(w, http.StatusServiceUnavailable, "the database does not serve requests")
			return
		}
		status(w, http.StatusOK, "ok")
	}
}

func status(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n") // fails if the client has disconnected
}

// closing makes answers close their connections once running is done.
func closing(running context.Context, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if running.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		h.ServeHTTP(w, r)
	})
}

// serve accepts requests until shortly after ctx is done, then lets open ones finish.
func (s Server) serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	srv := &http.Server{
		Handler: closing(ctx, h), ReadTimeout: readTimeout, ReadHeaderTimeout: headerTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: s.netLog(),
		DisableGeneralOptionsHandler: true, // its answer to OPTIONS * would have no request id
	}
	stopped := make(chan error, 1)
	forget := context.AfterFunc(ctx, func() {
		time.Sleep(s.Leave)
		graceCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		stopped <- srv.Shutdown(graceCtx)
	})
	defer forget()
	// Close ends the requests that did not finish in time, before the database closes.
	defer srv.Close()
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	if err := <-stopped; err != nil {
		s.Log.WarnContext(ctx, "requests did not end in time", "error", err.Error())
	}
	s.Log.InfoContext(ctx, "stopped")
	return nil
}

func (s Server) netLog() *log.Logger { return log.New(netLog{s.Log.Handler()}, "", 0) }

// netLog receives the lines that net/http logs. Nearly all are about clients that disconnect. Failing to accept
// connections is our fault, and net/http soon logs it only once a second.
type netLog struct{ slog.Handler }

func (l netLog) Write(line []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.HasPrefix(line, []byte("http: Accept error")) {
		level = slog.LevelError
	}
	return slog.NewLogLogger(l, level).Writer().Write(line)
}

// watchEvery is how soon a removed database file is noticed without requests.
const watchEvery = time.Second

// watch logs once when the database's file is removed or replaced: there may be no request that notices, and the file
// can be restored while this process still has it open.
func (s Server) watch(ctx context.Context, d *db.DB) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for was := false; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := d.Lost()
		if err != nil && !was {
			s.Log.ErrorContext(ctx, "the database is lost", "error", err.Error())
		}
		was = err != nil
	}
}

// flush stores, periodically and at the end, the notes that requests have made in memory. Notes that could not be
// stored stay in memory.
func (s Server) flush(ctx context.Context, notes ...func(context.Context) error) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.flushOnce(ctx, notes)
		case <-ctx.Done():
			s.flushOnce(context.WithoutCancel(ctx), notes)
			return
		}
	}
}

// flushOnce has one timeout for all notes, because a stop waits for them. None waits for another, which may wait for a row
// that somebody at a prompt has locked.
func (s Server) flushOnce(ctx context.Context, notes []func(context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	var flushing sync.WaitGroup
	for _, flush := range notes {
		flushing.Go(func() {
			if err := flush(limited); err != nil && ctx.Err() == nil { // otherwise the last flush tries again
				s.Log.ErrorContext(ctx, "note what was used", "error", err.Error())
			}
		})
	}
	flushing.Wait()
}
