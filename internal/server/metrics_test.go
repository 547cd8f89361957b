package server

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"foyer/internal/domain/invite"
	"foyer/internal/face/api"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/job"
	"foyer/internal/infra/sandbox"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		jobs := job.New(d)
		m := newMetrics(t.Context(), "v1.2.3", d, jobs, sandbox.New(1, 1, slog.New(slog.DiscardHandler)))
		err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error { return jobs.Put(t.Context(), tx, "kind", "item") })
		if err != nil {
			t.Fatal(err)
		}
		m.mailed(invite.Deferred)
		m.observe(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), api.Outcome{Status: 429, Code: "throttled"})
		w := httptest.NewRecorder()
		promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		for _, want := range []string{
			`foyer_build_info{version="v1.2.3"} 1`, "foyer_jobs_waiting 1", "foyer_mails_under_way 0", "foyer_db_waiting 0", "foyer_db_wait_seconds_total ", `foyer_refusals_total{code="throttled"} 1`, "foyer_mails_oldest_seconds 0", "foyer_mails_waiting 0", "foyer_mails_waiting_oldest_seconds 0", "foyer_children_running 0", "foyer_children_waiting 0",
			`foyer_mails_total{result="deferred"} 1`, `foyer_mails_total{result="failed"} 0`, `foyer_mails_total{result="sent"} 0`,
		} {
			if !strings.Contains(w.Body.String(), "\n"+want) {
				t.Errorf("no %s", want)
			}
		}
	})
}
