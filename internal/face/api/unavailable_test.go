package api_test

import (
	"net/http"
	"testing"

	"foyer/internal/infra/db/dbtest"
)

// While the database is unreachable, clients learn that nothing was changed and when to retry. Once it is back they are
// served as before.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	u, hosts := dbtest.Relayed(t, 1)
	r := newRig(t, dbtest.Open(t, u))
	create := func() answer { return r.send(r.key, "POST", apps, `{"name":"x"}`) }
	if got := create(); got.status != http.StatusCreated {
		t.Fatalf("got %+v", got)
	}
	hosts[0].Cut()
	for range 2 {
		got := create()
		r.compare("away", got, 503, faultBody("server_error", "unavailable", "The database cannot answer just now, and nothing was changed: try again.", "null"))
		if got.header.Get("Retry-After") != "2" {
			t.Errorf("Retry-After: %q", got.header.Get("Retry-After"))
		}
	}
	hosts[0].Mend()
	if got := create(); got.status != http.StatusCreated {
		t.Errorf("got %+v", got)
	}
}

// away returns the answer to a client while the database is unreachable.
func away(tb testing.TB) answer {
	tb.Helper()
	u, hosts := dbtest.Relayed(tb, 1)
	r := newRig(tb, dbtest.Open(tb, u))
	hosts[0].Cut()
	return r.send(r.key, "GET", apps, "")
}
