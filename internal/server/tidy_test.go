package server_test

import (
	"context"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/domain/activity"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/trace"
	"foyer/internal/server"
)

// inHundredDays opens a database, which a server may be using, with a clock that is 100 days ahead.
func inHundredDays(t *testing.T, database string) *server.Domain {
	t.Helper()
	cfg := config.Config{Database: database, Secret: "a secret that all servers of the tests share", Listen: "127.0.0.1:0"}
	d := openDomain(t, cfg)
	now := d.DB.Now
	d.DB.Now = func() time.Time { return now().Add(100 * 24 * time.Hour) }
	return d
}

// If one part of Tidy fails, the others still run.
func TestTidyGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		d := inHundredDays(t, database)
		dbtest.Exec(t, d.DB, `DROP TABLE site_counts`)
		dbtest.Exec(t, d.DB, `DROP TABLE address_changes`)
		dbtest.Exec(t, d.DB, `INSERT INTO signin_states (hash, expires_at) VALUES ('old', $1)`, d.DB.Now().Add(-time.Hour))
		dbtest.Exec(t, d.DB, `INSERT INTO contents (sha256, content) VALUES ('unused', '')`)
		err := d.Tidy(t.Context(), 0)
		for _, failed := range []string{"tidy sites: ", "tidy changes of addresses: "} {
			if err == nil || !strings.Contains(err.Error(), failed) {
				t.Errorf("%v, want %q", err, failed)
			}
		}
		if left, err := db.All[string](t.Context(), d.DB, nil, `SELECT hash FROM signin_states UNION ALL SELECT sha256 FROM contents`); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

// readsGrowing matches a step of a plan that scans a table which grows with each visit, request or change.
var readsGrowing = regexp.MustCompile(`(Seq Scan on|SCAN) (site_|idempotency|event_traces|activity\b|activity_numbers|webhook_deliveries|invites|accepted_invites|quotas|keys\b).*`)

// Expired rows are found by indexes.
func TestTidyReadsIndexes(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		s := start(t, config.Config{Database: database})
		must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Site")}))(t)
		must(s.CreateInvite(t.Context(), client.InviteDraft{TargetEmail: "bob@acme.example"}))(t)
		d := inHundredDays(t, database)
		check(t, activity.NumberAll(t.Context(), d.DB))
		fillSite(t, d.DB)
		tracer, spans := collector(t, "")
		ctx, stop := context.WithCancel(t.Context())
		sent := make(chan struct{})
		go func() {
			tracer.Run(ctx, slog.New(slog.DiscardHandler))
			close(sent)
		}()
		tidying, span := tracer.Continue(t.Context(), "", "tidy", trace.Server)
		err := d.Tidy(tidying, time.Hour)
		span.End()
		stop()
		<-sent
		if err != nil {
			t.Fatal(err)
		}
		wanted := []string{"UPDATE SET views =", "DELETE FROM site_counts", "DELETE FROM site_errors", "DELETE FROM site_revisions", "DELETE FROM site_previews", "DELETE FROM idempotency"}
		for len(spans) > 0 {
			for _, a := range (<-spans).Attributes {
				query := a.Value.Text
				if a.Key != "db.query.text" {
					continue
				}
				wanted = slices.DeleteFunc(wanted, func(part string) bool { return strings.Contains(query, part) })
				plan := planOf(t, d.DB, query)
				if step := readsGrowing.FindString(plan); step != "" {
					t.Errorf("%s\n%s\n%s", step, query, plan)
				}
			}
		}
		if len(wanted) > 0 {
			t.Errorf("no statement has %q", wanted)
		}
	})
}

// fillSite fills the tables of the only site that otherwise only time and traffic fill.
func fillSite(t *testing.T, d *db.DB) {
	t.Helper()
	now := d.Now()
	hour := now.Add(-72*time.Hour).Truncate(time.Hour).Unix() / 60
	dbtest.Exec(t, d, `INSERT INTO site_counts (app_id, site_id, organization_id, version, minute, bucket, views)
		SELECT 1, id, organization_id, 1, CAST($1 AS BIGINT), 1, 1 FROM sites`, hour+1)
	dbtest.Exec(t, d, `INSERT INTO site_revisions (site_id, revision, created_at, user_id, request_id, versions, apps, placements)
		SELECT id, 2, created_at, 0, '', '', '', '' FROM sites`)
	dbtest.Exec(t, d, `UPDATE sites SET revision = 300`)
}

// However many rows have expired, no transaction that removes them is long.
func TestTidyInShortTransactions(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		d := inHundredDays(t, database)
		const old, fewest = 1100, 3
		dbtest.Exec(t, d.DB, `INSERT INTO users (uuid, distinct_id, email, first_name, last_name, is_email_verified, created_at) VALUES ('a', 'a', 'a', '', '', FALSE, $1)`, d.DB.Now())
		for _, c := range []struct {
			table, columns, values string
			tidy                   func(context.Context) error
		}{
			{"signin_states", "hash, expires_at", "i, old", d.SignIn.Tidy},
			{"signin_requests", "id, email, created_at", "i, '', old", d.SignIn.Tidy},
			{"signin_links", "hash, user_id, email, mailed, expires_at", "i, 1, '', TRUE, old", d.SignIn.Tidy},
			{"address_changes", "id, user_id, old_email, new_email, session_id, created_at", "i, 1, '', '', 0, old", d.Addresses.Tidy},
			{"keys", "hash, user_id, scopes, created_at, expires_at", "i, 1, '', old, old", d.Keys.Tidy},
			{"contents", "sha256, content", "i, ''", d.Plugins.Tidy},
			{"sessions", "hash, user_id, method, address, user_agent, created_at, last_used_at", "i, 1, '', '', '', old, old", d.Keys.Tidy},
		} {
			statements := func() int64 {
				before := dbtest.Statements(d.DB)
				if err := c.tidy(t.Context()); err != nil {
					t.Fatal(c.table, err)
				}
				return dbtest.Statements(d.DB) - before
			}
			idle := statements()
			dbtest.Exec(t, d.DB, `INSERT INTO `+c.table+` (`+c.columns+`) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
				SELECT `+c.values+` FROM (SELECT CAST(i AS TEXT) AS i, CAST($1 AS TIMESTAMPTZ) AS old FROM n) AS made`, d.DB.Now().Add(-90*24*time.Hour), old)
			more := statements() - idle
			left := must(db.One[int](t.Context(), d.DB, nil, `SELECT COUNT(*) FROM `+c.table))(t)
			if left > 0 || more < fewest {
				t.Errorf("%s: %d left, %d statements more than when there is nothing to remove", c.table, left, more)
			}
		}
	})
}
