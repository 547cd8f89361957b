package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"foyer/internal/domain/invite"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db"
	"foyer/internal/infra/job"
	"foyer/internal/infra/sandbox"
)

// metrics are the metrics for Prometheus.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	mails    *prometheus.CounterVec
}

func newMetrics(ctx context.Context, version string, d *db.DB, jobs *job.Queue, children *sandbox.Pool) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "foyer_http_request_duration_seconds",
			Help:    "How long requests took, by method, route and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route", "status"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "foyer_refusals_total",
			Help: "Requests that the API refused or failed, by the code of the answer's first error.",
		}, []string{"code"}),
		mails: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "foyer_mails_total",
			Help: "Tries to mail an invite, by result: sent, deferred (to be tried again) or failed.",
		}, []string{"result"}),
	}
	for _, result := range []invite.MailState{invite.Sent, invite.Deferred, invite.Failed} {
		m.mails.WithLabelValues(string(result)) // to start from 0
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "foyer_build_info", Help: "Always 1; the label is the version that runs.", ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(build, m.requests, m.refusals, m.mails,
		asked(ctx, "foyer_jobs_waiting", "Jobs that are not done, on all servers; NaN if the database does not answer.", func(ctx context.Context) (float64, error) {
			n, err := jobs.Waiting(ctx)
			return float64(n), err
		}),
		asked(ctx, "foyer_mails_waiting", "Mails that are not delivered yet, on all servers, being tried again or not; NaN likewise.", func(ctx context.Context) (float64, error) {
			n, err := jobs.WaitingOf(ctx, mailJobs...)
			return float64(n), err
		}),
		asked(ctx, "foyer_mails_waiting_oldest_seconds", "How old the oldest of them is; NaN likewise.", func(ctx context.Context) (float64, error) {
			oldest, err := jobs.OldestOf(ctx, mailJobs...)
			return oldest.Seconds(), err
		}),
		gauge("foyer_mails_under_way", "Mails that this server is handing over.", func() int {
			n, _ := jobs.UnderWay(mailJobs...)
			return n
		}),
		gauge("foyer_mails_oldest_seconds", "How long the oldest of them has taken.", func() int {
			_, oldest := jobs.UnderWay(mailJobs...)
			return int(oldest.Seconds())
		}),
		gauge("foyer_db_waiting", "Queries and transactions that wait for their turn: on SQLite for the connection that writes, on PostgreSQL for any.", func() int {
			_, n, _ := d.Stats()
			return n
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "foyer_db_wait_seconds_total", Help: "How long those that had their turn have waited for it.",
		}, func() float64 {
			_, _, waited := d.Stats()
			return waited.Seconds()
		}),
		gauge("foyer_children_running", "Child processes that compile or unpack.", children.Running),
		gauge("foyer_children_waiting", "Callers that wait for a child process to be free.", children.Waiting),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observe(r *http.Request, o api.Outcome) {
	m.requests.WithLabelValues(method(r), r.Pattern, strconv.Itoa(o.Status)).Observe(o.Took.Seconds())
	if o.Code != "" {
		m.refusals.WithLabelValues(o.Code).Inc()
	}
}

// method is the label for a request's method: clients may make up methods, but there must be few labels.
func method(r *http.Request) string {
	if wire.Known(r.Method) {
		return r.Method
	}
	return "other"
}

func gauge(name, help string, value func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
}

// countTimeout bounds how long a database that does not answer delays the metrics.
const countTimeout = 2 * time.Second

// asked returns a gauge whose value is read from the database.
func asked(ctx context.Context, name, help string, value func(context.Context) (float64, error)) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
		ctx, cancel := context.WithTimeout(ctx, countTimeout)
		defer cancel()
		v, err := value(ctx)
		if err != nil {
			return math.NaN()
		}
		return v
	})
}

func (m *metrics) mailed(result invite.MailState) { m.mails.WithLabelValues(string(result)).Inc() }

// serveMetrics serves metrics on their own listener, until ctx is done.
func (s Server) serveMetrics(ctx context.Context, m *metrics, background *sync.WaitGroup) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.Config.MetricsListen)
	if err != nil {
		return fmt.Errorf("FOYER_METRICS_LISTEN: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	if s.Config.Pprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	s.Log.InfoContext(ctx, "metrics", "address", ln.Addr().String())
	s.answer(ctx, ln, mux, background)
	return nil
}

// answer serves h on a listener in the background, until ctx is done.
func (s Server) answer(ctx context.Context, ln net.Listener, h http.Handler, background *sync.WaitGroup) {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, ErrorLog: s.netLog()}
	background.Go(func() {
		<-ctx.Done()
		_ = srv.Close()
	})
	background.Go(func() {
		if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			s.Log.ErrorContext(ctx, "metrics", "error", err.Error())
		}
	})
}
