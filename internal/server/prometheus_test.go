package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
)

// Prometheus accepts the metrics and the rules of deploy/, and answers each query of the dashboard after some load.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	s := start(t, config.Config{MetricsListen: "127.0.0.1:0"})
	metrics := s.address(t, "metrics")
	promtool(t, browse(t, "GET", "http://"+metrics+"/metrics", nil).body, "check", "metrics")
	promtool(t, "", "check", "rules", "../../deploy/prometheus-rules.yml")
	p := startPrometheus(t, metrics)
	for title, query := range dashboard(t) {
		for p.query(t, query) == 0 { // until two scrapes, with some load between them
			must(s.CreateApp(t.Context(), client.AppDraft{PluginType: client.PluginSource, Name: "x"}))(t)
			if _, err := s.GetApp(t.Context(), 1<<40); err == nil { // with a key, since there is a limit without one
				t.Fatal("an app that is not there")
			}
			if t.Context().Err() != nil {
				t.Fatalf("%s: nothing for %s", title, query)
			}
		}
	}
}

// A request that waits for events takes as long as it asked for and does not count as slow; other requests do.
func TestWaitingIsNotSlow(t *testing.T) {
	t.Parallel()
	const bucket = `foyer_http_request_duration_seconds_bucket{instance="a",route="/api/organizations/{organization_id}/%s",le="%s"}`
	for route, fires := range map[string]bool{"events": false, "sites": true} {
		alert(t, "FoyerSlow", fires, map[string]string{
			fmt.Sprintf(bucket, route, "1"): "0+0x30", fmt.Sprintf(bucket, route, "5"): "0+2x30", fmt.Sprintf(bucket, route, "+Inf"): "0+2x30",
		})
	}
}

// Health checks, of which a proxy makes many, do not count as successful requests. Another alert fires when they fail.
func TestHealthChecksHideNoErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ready, unready, failed     string
		serverErrors, readyzErrors bool
	}{
		{"0+240x30", "0x30", "0x30", false, false},
		{"0+240x30", "0x30", "0+1x30", true, false},
		{"0+240x26 6240x4", "0x26 0+240x4", "0x30", false, true},
		{"0+240x30", "0x28 4 4", "0x30", false, false}, // while it stops
	} {
		const requests = `foyer_http_request_duration_seconds_count{instance="a",route="%s",status="%s"}`
		series := map[string]string{
			fmt.Sprintf(requests, "/readyz", "200"): c.ready, fmt.Sprintf(requests, "/readyz", "503"): c.unready,
			fmt.Sprintf(requests, "/healthz", "200"): "0+240x30", fmt.Sprintf(requests, "/api/users/@me", "500"): c.failed,
		}
		alert(t, "FoyerServerErrors", c.serverErrors, series)
		alert(t, "FoyerNotReady", c.readyzErrors, series)
	}
}

// An alert fires if pages do not get their manifests, however many other requests succeed.
func TestPagesWithoutAListAlert(t *testing.T) {
	t.Parallel()
	const requests = `foyer_http_request_duration_seconds_count{instance="a",route="%s",status="%s"}`
	const list = "/sites/{token}/manifest.json"
	for refused, fires := range map[string]bool{"0x30": false, "0+1x30": false, "0+20x30": true} {
		alert(t, "FoyerPagesRefused", fires, map[string]string{
			fmt.Sprintf(requests, list, "304"): "0+80x30", fmt.Sprintf(requests, list, "200"): "0+20x30", fmt.Sprintf(requests, list, "404"): refused,
			fmt.Sprintf(requests, "/api/users/@me", "200"): "0+10000x30", fmt.Sprintf(requests, "/api/users/@me", "404"): "0+10000x30",
		})
	}
}

// An unknown address is no failure of the mail server.
func TestOneWrongAddressIsNoAlert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sent, deferred, failed string
		fires                  bool
	}{
		{"40x30", "0x30", "0x10 1x20", false},
		{"40x30", "0x30", "0x10 1 2 3x18", false},
		{"40x30", "0x30", "0x10 1 2 3 4x17", true},
		{"40x30", "0x10 1x20", "0x30", true},
		{"40x10 41x20", "0x10 1x20", "0x10 9x20", false},
	} {
		alert(t, "FoyerMailsRefused", c.fires, map[string]string{
			`foyer_mails_total{result="sent"}`: c.sent, `foyer_mails_total{result="deferred"}`: c.deferred, `foyer_mails_total{result="failed"}`: c.failed,
		})
	}
}

// alert checks whether an alert of deploy/ is firing after half an hour of series.
func alert(t *testing.T, name string, fires bool, series map[string]string) {
	t.Helper()
	type object map[string]any
	var input []object
	for s, values := range series {
		input = append(input, object{"series": s, "values": values})
	}
	firing := []object{}
	if fires {
		firing = append(firing, object{"labels": "{}", "value": 1})
	}
	text := must(json.Marshal(object{
		"rule_files": []string{must(filepath.Abs("../../deploy/prometheus-rules.yml"))(t)},
		"tests": []object{{"interval": "1m", "input_series": input, "promql_expr_test": []object{{
			"eval_time": "30m", "expr": fmt.Sprintf("count(ALERTS{alertname=%q,alertstate=%q})", name, "firing"), "exp_samples": firing,
		}}}},
	}))(t)
	test := filepath.Join(t.TempDir(), "test.yml")
	check(t, os.WriteFile(test, text, 0o600))
	promtool(t, "", "test", "rules", test)
}

func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// dashboard returns the queries of the dashboard's panels, by title.
func dashboard(t *testing.T) map[string]string {
	t.Helper()
	text := must(os.ReadFile("../../deploy/grafana-dashboard.json"))(t)
	var board struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				RefID string `json:"refId"`
				Expr  string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	check(t, json.Unmarshal(text, &board))
	queries := map[string]string{}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			queries[panel.Title+" "+target.RefID] = strings.ReplaceAll(target.Expr, "$__rate_interval", "10s")
		}
	}
	if len(queries) == 0 {
		t.Fatal("no queries")
	}
	return queries
}

type scraper struct{ url string }

// startPrometheus starts a Prometheus that scrapes a server every 2 s, which is also the timeout of a scrape.
func startPrometheus(t *testing.T, target string) scraper {
	t.Helper()
	dir := t.TempDir()
	settings := fmt.Sprintf("global: {scrape_interval: 2s}\nscrape_configs: [{job_name: foyer, static_configs: [{targets: [%q]}]}]\n", target)
	check(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(settings), 0o600))
	log := newLockedBuffer()
	cmd := exec.CommandContext(t.Context(), "prometheus", "--config.file", filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", "127.0.0.1:0", "--log.format", "json")
	cmd.Stderr = log
	check(t, cmd.Start())
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-exited
	})
	listens := regexp.MustCompile(`"address":"(127\.0\.0\.1:\d+)"[^\n]*"msg":"Listening on"|"msg":"Listening on"[^\n]*"address":"(127\.0\.0\.1:\d+)"`)
	for {
		if m := listens.FindStringSubmatch(log.String()); m != nil {
			p := scraper{"http://" + m[1] + m[2]}
			for browse(t, "GET", p.url+"/-/ready", nil).status != http.StatusOK {
			}
			return p
		}
		select {
		case err := <-exited:
			t.Fatalf("%v: %s", err, log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// query returns the number of series in the result of a query.
func (p scraper) query(t *testing.T, query string) int {
	t.Helper()
	got := browse(t, "GET", p.url+"/api/v1/query?query="+url.QueryEscape(query), nil)
	var answer struct {
		Status string `json:"status"`
		Data   struct {
			Result []json.RawMessage `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v, %s", query, err, got.body)
	}
	return len(answer.Data.Result)
}
