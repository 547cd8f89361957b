package server_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/trace"
)

// filtersOf lists the filters and orders of lists, by the end of the path.
var filtersOf = map[string][]string{
	"organizations/@current/pipeline_frontend_apps": {
		"search=a", "plugin_type=source", "is_global=true", "is_global=false", "update=available", "state=disabled", "state=broken", "state=edited", "state=failing",
		"site=SITE", "id=APP", "ordering=name", "ordering=-name", "ordering=created_at", "ordering=-created_at", "ordering=updated_at", "ordering=-updated_at",
	},
	"organizations/@current/pipeline_frontend_apps/APP/sites": nil, "organizations/@current/pipeline_frontend_apps/APP/health": nil, "organizations/@current/pipeline_frontend_apps/APP/versions": nil,
	"organizations/@current/pipeline_frontend_apps/activity": {"type=upgraded", "scope=Plugin", "item_id=APP", "user=grace@acme.example"}, "organizations/@current/pipeline_frontend_apps/unused": nil,
	"organizations/@current/pipeline_frontend_apps/exports_unsubscribe_configs": nil,
	"organizations/@current/sites": {
		"search=a", "ordering=name", "ordering=-name", "ordering=created_at", "ordering=-created_at", "ordering=updated_at", "ordering=-updated_at",
	},
	"organizations/@current/sites/SITE/health": nil, "organizations/@current/sites/SITE/history": nil, "organizations/@current/sites/SITE/apps": nil,
	"organizations/@current/invites": {
		"search=a", "level=admin", "status=any", "status=pending", "status=expired", "status=accepted", "delivery=none", "delivery=queued", "delivery=sent", "delivery=deferred",
		"delivery=failed", "id=01890000-0000-7000-8000-000000000001",
	},
	"organizations/@current/members":                  {"search=a", "level=admin"},
	"organizations/@current/activity":                 {"scope=Key", "activity=created", "item_id=APP", "key_id=1", "user=grace@acme.example", "after=1", "since=2026-01-02T03:04:05Z", "until=2126-01-02T03:04:05Z"},
	"organizations/@current/events":                   {"after=1"},
	"organizations/@current/keys":                     nil,
	"organizations/@current/webhooks":                 nil,
	"organizations/@current/webhooks/HOOK/deliveries": nil,
	"organizations/":                                  nil, "users/@me/keys": nil, "users/@me/invites": nil, "users/@me/sessions": nil,
}

// Each list, with each filter and in each order, is read by indexes: no statement scans a table that grows.
func TestListsReadIndexes(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		tracer, spans := collector(t, "")
		s := startTraced(t, config.Config{Database: database}, tracer)
		app := must(s.CreateApp(t.Context(), client.AppDraft{Name: "App"}))(t)
		site := must(s.CreateSite(t.Context(), client.SitePatch{Name: new("Site")}))(t)
		hook := must(s.CreateWebhook(t.Context(), client.WebhookPatch{URL: new("https://hooks.example.com/foyer"), Events: []string{"app.*"}}))(t)
		named := strings.NewReplacer("APP", itoa(app.ID), "SITE", itoa(site.ID), "HOOK", itoa(hook.ID))
		v := &visitor{T: t, url: s.URL}
		ask := func(path string) {
			t.Helper()
			if got := v.send("GET", path, "", "Authorization", "Bearer "+s.key); got.status != http.StatusOK {
				t.Errorf("%s: %d %s", path, got.status, got.body)
			}
		}
		until(t, func() bool { // until the entries have numbers: before, there is no event after 1
			return v.send("GET", "/api/organizations/@current/events?after=2", "", "Authorization", "Bearer "+s.key).status == http.StatusOK
		})
		for path, filters := range filtersOf {
			for _, filter := range append(filters, "") {
				ask("/api/" + named.Replace(path+"?"+filter))
			}
		}
		ask("/api/users/@me") // the last request
		d := dbtest.Open(t, database)
		for query, request := range readBy(t, spans, "GET /api/users/@me") {
			plan := planOf(t, d, query)
			if step := readsAll(query, plan); step != "" {
				t.Errorf("%s: %s\n%s\n%s", request, step, query, plan)
			}
		}
	})
}

// readBy returns the statements of GET requests, with the request of each, up to the last request.
func readBy(t *testing.T, spans chan span, last string) map[string]string {
	t.Helper()
	statements, requests := map[string]string{}, map[string]string{} // by trace
	for late := time.After(patience); ; {
		select {
		case got := <-spans:
			for _, a := range got.Attributes {
				if a.Key == "db.query.text" && got.Name == "SELECT" {
					statements[a.Value.Text] = got.TraceID
				}
			}
			if got.Kind != trace.Server {
				continue
			}
			if requests[got.TraceID] = got.Name; got.Name == last {
				for query, id := range statements {
					if statements[query] = requests[id]; !strings.HasPrefix(requests[id], "GET /api/") {
						delete(statements, query)
					}
				}
				return statements
			}
		case <-late:
			t.Fatal("the spans did not come")
		}
	}
}

// small lists the tables that may be scanned: one with a single row, the entries without a number yet, the shared apps.
var small = []string{"access_version", "activity_unnumbered", "plugins USING INDEX plugins_global"}

var (
	scan     = regexp.MustCompile(`(Seq Scan on|SCAN) ((\w+).*)`)
	subquery = regexp.MustCompile(`(CO-ROUTINE|MATERIALIZE) (\w+)|SCAN CONSTANT ROW`)
)

// readsAll returns the step of a plan that scans a growing table; "": none.
func readsAll(query, plan string) string {
	made := subquery.FindAllString(plan, -1)
	for _, m := range scan.FindAllStringSubmatch(plan, -1) {
		of := func(table string) bool {
			return strings.HasPrefix(m[2], table) || strings.Contains(query, "FROM "+table+" "+m[3]+" ")
		}
		isMade := slices.ContainsFunc(made, func(what string) bool { return strings.HasSuffix(what, " "+m[3]) || what == m[0] })
		if !isMade && !slices.ContainsFunc(small, of) {
			return m[0]
		}
	}
	return ""
}

var placeholder = regexp.MustCompile(`\$(\d+)`)

// planOf returns the engine's plan for a statement with any arguments, without scans if possible.
func planOf(t *testing.T, d *db.DB, query string) (plan string) {
	t.Helper()
	args := 0
	for _, m := range placeholder.FindAllStringSubmatch(query, -1) {
		n, _ := strconv.Atoi(m[1])
		args = max(args, n)
	}
	if dbtest.IsSQLite(t, d) {
		return strings.Join(dbtest.Explain(t, d, query, make([]any, args)...), "\n")
	}
	err := d.InTx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		for _, setting := range []string{"plan_cache_mode = force_generic_plan", "enable_seqscan = off"} {
			if err := db.Exec(ctx, tx, "SET LOCAL "+setting); err != nil {
				return err
			}
		}
		execute := "EXPLAIN EXECUTE asked"
		if args > 0 {
			execute += "(" + strings.Join(slices.Repeat([]string{"NULL"}, args), ", ") + ")"
		}
		if err := db.Exec(ctx, tx, "PREPARE asked AS "+query); err != nil {
			return err
		}
		steps, err := db.All[string](ctx, tx, nil, execute)
		plan = strings.Join(steps, "\n")
		return errors.Join(err, db.Exec(ctx, tx, "DEALLOCATE asked"))
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return plan
}
