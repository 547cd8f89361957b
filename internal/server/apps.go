package server

import (
	"log/slog"
	"runtime"

	"foyer/internal/bundle"
	"foyer/internal/config"
	"foyer/internal/db"
	"foyer/internal/plugin"
	"foyer/internal/sandbox"
	"foyer/internal/upstream"
	"foyer/internal/upstream/egress"
	"foyer/internal/upstream/unpack"
)

const (
	maxWaiting  = 32 // callers that wait for a child process
	maxInstalls = 16 // installations at once, each with a pack on disk
	maxSaves    = 32 // sources that are compiled, or wait for it
	maxDiffs    = 8  // comparisons at once, each with all files of two versions in memory
)

// Tasks is the work that is done in child processes of this program.
func Tasks() map[string]sandbox.Task {
	return map[string]sandbox.Task{bundle.TaskName: bundle.Work, upstream.UnpackTask: unpack.Run}
}

// Apps puts together what apps need; without a secret, all except upstreams with
// credentials. Its children are this program again, whose main must know Tasks.
func Apps(cfg config.Config, secret string, d *db.DB, log *slog.Logger) (plugin.Service, error) {
	sealer, err := newSealer(secret)
	if err != nil {
		return plugin.Service{}, err
	}
	client := egress.New(cfg.UpstreamAllow)
	children := sandbox.New(runtime.GOMAXPROCS(0), maxWaiting, log)
	return plugin.Service{
		DB: d, Children: children, Sealer: sealer,
		Upstream: upstream.New(client, children, d.Now),
		Catalog:  upstream.NewCatalog(cfg.Catalog, client, log, d.Now),
		Installs: plugin.NewPlaces(maxInstalls, "Too many apps are being installed"),
		Saves:    plugin.NewPlaces(maxSaves, "Too many sources are being compiled"),
		Diffs:    plugin.NewPlaces(maxDiffs, "Too many versions are being compared"),
		Bundles:  plugin.NewBundles(d),
		Memory:   plugin.NewMemory(),
	}, nil
}

func newSealer(secret string) (*upstream.Sealer, error) {
	if secret == "" {
		return nil, nil
	}
	return upstream.NewSealer(secret)
}
