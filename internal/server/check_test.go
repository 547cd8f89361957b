package server_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"

	"foyer/internal/infra/upstream/upstreamtest"
)

// However many checks are requested, the upstream is asked once.
func TestCheckForUpdates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *running) {
		host := upstreamtest.NewHost(t)
		repo := publish(t, host, "banner", "v1.0.0")
		app := must(s.CreateApp(t.Context(), custom(repo, "")))(t)
		repo.Tag(t, "v1.1.0", repo.Commit(t, files("v1.1.0")))
		before := host.Requests()
		var all sync.WaitGroup
		check := func() {
			app, _, err := s.CheckForUpdates(t.Context(), app.ID)
			if err != nil || app.Tag != "v1.0.0" || app.LatestTag != "v1.1.0" {
				t.Errorf("got %+v, %v", app, err)
			}
		}
		for range 50 {
			all.Go(check)
		}
		all.Wait()
		for range 20 {
			check()
		}
		if n := host.Requests() - before; n != 1 {
			t.Errorf("%d requests upstream, want 1", n)
		}
		if got := must(s.GetApp(t.Context(), app.ID))(t); got.LatestTag != "v1.1.0" {
			t.Errorf("stored %+v", got)
		}
	})
}

// When the upstream fails, the last result is returned with its age, even by a server that was started since.
func TestCheckWhenUpstreamFails(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	repo := publish(t, host, "banner", "v1.0.0")
	cfg := onDisk(t)
	s := start(t, cfg)
	app := must(s.CreateApp(t.Context(), custom(repo, "")))(t)
	host.Fail(http.StatusInternalServerError)
	cfg.Bootstrap.Key = s.key
	for _, s := range []*running{s, start(t, cfg)} {
		got := s.send(t, http.MethodGet, "/"+itoa(app.ID)+"/check_for_updates", "")
		if age, err := strconv.Atoi(got.header.Get("Age")); got.status != http.StatusOK || err != nil || age < 0 {
			t.Errorf("got %+v", got)
		}
	}
}
