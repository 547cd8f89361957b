package api_test

import (
	"net/http"
	"strings"
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

// While the database refuses commits, as PostgreSQL may, or has no room, as on a full disk, each change is answered with
// an error and leaves nothing. Once the database accepts them again, so does the API.
func TestDatabaseRefusesChanges(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x"}`)
		large := strings.Repeat("x", 200<<10)
		send := func() (all []answer) {
			return []answer{
				r.once("made", "POST", apps, `{"name":"y","description":"new","config_schema":["`+large+`"]}`),
				r.once("changed", "PATCH", app, `{"config_schema":["`+large+`"]}`),
			}
		}
		refuse, accept := []string{
			`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '53100'; END $$`,
			`CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON plugins DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`,
		}, `DROP TRIGGER refuse ON plugins`
		if dbtest.IsSQLite(r.t, r.db) {
			refuse, accept = []string{`PRAGMA max_page_count = 1`}, `PRAGMA max_page_count = 1000000` // it keeps its size, but cannot grow
		}
		before, rows := r.send(r.key, "GET", apps, "").body, r.rows()
		for _, query := range refuse {
			dbtest.Exec(r.t, r.db, query)
		}
		for _, got := range send() {
			r.compare("refused", got, 503, faultBody("server_error", "unavailable", "The database cannot answer just now, and nothing was changed: try again.", "null"))
		}
		if after := r.send(r.key, "GET", apps, "").body; after != before || r.rows() != rows {
			r.t.Errorf("%d rows, before %d; the apps are %.300s", r.rows(), rows, after)
		}
		dbtest.Exec(r.t, r.db, accept)
		for _, got := range send() {
			if got.status > 299 || got.header.Get("Idempotent-Replayed") != "" {
				r.t.Errorf("afterwards: %d %.300s", got.status, got.body)
			}
		}
	})
}
