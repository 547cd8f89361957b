package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics is what foyer tells Prometheus.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "foyer_http_request_duration_seconds",
			Help:    "How long requests took, by route and status.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"route", "status"}),
	}
	m.registry.MustRegister(m.requests, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) seen(r *http.Request, status int, took time.Duration) {
	m.requests.WithLabelValues(r.Pattern, strconv.Itoa(status)).Observe(took.Seconds())
}

// serveMetrics answers on a listener of its own, until ctx is done.
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
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	background.Go(func() {
		<-ctx.Done()
		_ = srv.Close()
	})
	go func() { _ = srv.Serve(ln) }() // ends with Close
	s.Log.InfoContext(ctx, "metrics", "address", ln.Addr().String())
	return nil
}
