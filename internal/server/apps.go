package server

import (
	"log/slog"
	"runtime"

	"foyer/internal/base/fair"
	"foyer/internal/base/seal"
	"foyer/internal/config"
	"foyer/internal/domain/bundles"
	"foyer/internal/domain/plugin"
	"foyer/internal/infra/bundle"
	"foyer/internal/infra/db"
	"foyer/internal/infra/sandbox"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/infra/upstream/unpack"
)

const (
	maxWaiting        = 256 // callers that wait for a child process
	maxInstalls       = 16  // installs at once, each with a pack on disk
	maxInstallWaiting = 64  // more that wait
	maxDiffs          = 2   // comparisons at once, each with all files of two versions in memory
	maxDiffWaiting    = 64  // more that wait
	maxSaveWaiting    = 64  // saves of one app's source that wait, while one is under way
	maxSearchWaiting  = 64  // searches of one organization that wait, while one is under way
)

// Tasks are the tasks that child processes of this program do.
func Tasks() map[string]sandbox.Task {
	return map[string]sandbox.Task{bundle.TaskName: bundle.Work, upstream.UnpackTask: unpack.Run}
}

// Apps returns the service for apps; without a secret, it cannot use upstreams with credentials. Its children are
// processes of this program, whose main must know Tasks.
func Apps(cfg config.Config, secret string, d *db.DB, log *slog.Logger) plugin.Service {
	client := egress.New(cfg.UpstreamAllow)
	children := sandbox.New(max(2, runtime.GOMAXPROCS(0)), maxWaiting, log) // at least 2, so that one organization cannot take all
	return plugin.Service{
		DB: d, Children: children, Box: seal.Box{Secret: secret, Purpose: "foyer upstream credentials v1"},
		Upstream: upstream.New(client, children, d.Now),
		Catalog:  upstream.NewCatalog(cfg.Catalog, client, log, d.Now),
		Installs: fair.New(maxInstalls, maxInstallWaiting, "Too many apps are being installed"),
		Diffs:    fair.New(maxDiffs, maxDiffWaiting, "Too many versions are being compared"),
		Saves:    fair.OneEach(maxSaveWaiting, "Others are changing the source of this app"),
		Searches: fair.OneEach(maxSearchWaiting, "Too many searches of this organization are under way"),
		Bundles:  bundles.NewServer(d),
		Cache:    plugin.NewCache(),
	}
}
