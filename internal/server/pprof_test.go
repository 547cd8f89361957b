package server_test

import (
	"log/slog"
	"net"
	"strings"
	"testing"

	"foyer/internal/config"
	"foyer/internal/server"
)

// A failed start reports why, and writes nothing else: the next start is the first one and shows its key.
func TestMetricsOnAPortInUse(t *testing.T) {
	t.Parallel()
	ln := must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer ln.Close()
	log, out, cfg := newLockedBuffer(), newLockedBuffer(), onDisk(t)
	cfg.MetricsListen, cfg.Secret = ln.Addr().String(), strings.Repeat("s", 32)
	err := server.Server{Config: cfg, Log: slog.New(slog.NewJSONHandler(log, nil)), Stdout: out}.Run(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "FOYER_METRICS_LISTEN: ") || log.String() != "" || out.String() != "" {
		t.Errorf("error %v, log %s, output %s", err, log, out)
	}
}

// Profiles reveal much about a process: they are served only if they are switched on, and only on the listener for
// metrics.
func TestProfilesAreOffUntilAskedFor(t *testing.T) {
	t.Parallel()
	for on, want := range map[bool]int{false: 404, true: 200} {
		s := start(t, config.Config{MetricsListen: "127.0.0.1:0", Pprof: on})
		metrics := "http://" + s.address(t, "metrics")
		for url, want := range map[string]int{metrics + "/metrics": 200, metrics + "/debug/pprof/heap": want, s.URL + "/debug/pprof/heap": 404} {
			if got := browse(t, "GET", url, nil); got.status != want {
				t.Errorf("pprof %t: %s answers %d, not %d", on, url, got.status, want)
			}
		}
	}
}
