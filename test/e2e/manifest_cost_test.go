package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"foyer/client"
)

var costs = flag.Bool("costs", false, "TestManifestCost measures what manifests cost the server")

const (
	measuredSites = 1000
	measuredApps  = 20 // on each
	connections   = 16
	rounds        = 5
	asked         = 40_000 // requests of a kind in a round
)

// TestManifestCost compares the server's CPU time for a manifest with that for an app (W1 of docs/performance.md): a
// manifest may cost 1.3 times as much.
func TestManifestCost(t *testing.T) { // not parallel: it measures
	if !*costs {
		t.Skip("ask for it with -costs")
	}
	s := newSettings(t, "sqlite", "")
	i := launch(t, s)
	kinds := i.measured(s["BOOTSTRAP_KEY"])
	times := make([][]float64, len(kinds))
	for range rounds {
		var first time.Duration
		for n, k := range kinds {
			before := i.cpuTime()
			i.load(k.requests, k.status)
			took := i.cpuTime() - before
			if n == 0 {
				first = took
			}
			times[n] = append(times[n], took.Seconds()/first.Seconds())
			t.Logf("%-24s %3d µs of the server's CPU time", k.name, took.Microseconds()/asked)
		}
	}
	for n, k := range kinds[1:] {
		slices.Sort(times[n+1])
		median := times[n+1][rounds/2]
		t.Logf("%-24s %.2f times an app", k.name, median)
		if median > 1.3 {
			t.Errorf("%s costs %.2f times an app", k.name, median)
		}
	}
}

// kind has requests whose cost is compared.
type kind struct {
	name     string
	requests []string // as they are sent
	status   string
}

// measured makes 1,000 apps, and 1,000 sites with 20 apps each, and returns the requests to measure.
func (i *instance) measured(key string) []kind {
	i.Helper()
	c, err := client.New(i.url, key)
	if err != nil {
		i.Fatal(err)
	}
	o := c.Organization(client.Current)
	inParallel(i.T, measuredSites, func(ctx context.Context, n int) error {
		draft := client.AppDraft{PluginType: "local", Name: fmt.Sprint("App ", n), Description: strings.Repeat("What visitors see. ", 20)}
		if n < measuredApps {
			draft = client.AppDraft{
				PluginType: "source", Name: fmt.Sprint("Banner ", n), Source: client.Files{"site.ts": fmt.Sprintf("export const n = %d", n)},
				ConfigSchema: json.RawMessage(`[{"key":"text","type":"string","site":true,"default":"Welcome to the shop"},{"key":"color","type":"string","site":true,"default":"#00aa33"}]`),
			}
		}
		_, err := o.CreateApp(ctx, draft)
		return err
	})
	var placed []int64
	for app, err := range o.AllApps(i.Context(), client.AppFilter{PluginType: "source"}) {
		if err != nil {
			i.Fatal(err)
		}
		placed = append(placed, app.ID)
	}
	all := []kind{{"an app", nil, "200"}, {"a manifest", nil, "200"}, {"a manifest, compressed", nil, "200"}, {"a manifest, unchanged", nil, "304"}}
	for n := range all {
		all[n].requests = make([]string, measuredSites)
	}
	inParallel(i.T, measuredSites, func(ctx context.Context, n int) error {
		name := fmt.Sprint("Shop ", n)
		site, err := o.CreateSite(ctx, client.SitePatch{Name: &name})
		if err != nil {
			return err
		}
		for _, id := range placed {
			if _, err := o.PlaceApp(ctx, site.ID, client.PlacementDraft{AppID: id}); err != nil {
				return err
			}
		}
		manifest := "/sites/" + site.Token + "/manifest.json"
		etag, err := i.etag(manifest)
		all[0].requests[n] = get(fmt.Sprintf("/api/organizations/@current/pipeline_frontend_apps/%d/", n+1), "Authorization: Bearer "+key)
		all[1].requests[n] = get(manifest, "Accept: */*")
		all[2].requests[n] = get(manifest, "Accept-Encoding: gzip")
		all[3].requests[n] = get(manifest, "If-None-Match: "+etag)
		return err
	})
	return all
}

// inParallel calls do n times, on as many connections as are measured.
func inParallel(t *testing.T, n int, do func(context.Context, int) error) {
	t.Helper()
	all, ctx := errgroup.WithContext(t.Context())
	all.SetLimit(connections)
	for i := range n {
		all.Go(func() error { return do(ctx, i) })
	}
	check(t, all.Wait())
}

func get(path, header string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: foyer.example\r\n" + header + "\r\n\r\n"
}

// etag returns the ETag of a path, uncompressed.
func (i *instance) etag(path string) (string, error) {
	r, err := http.NewRequestWithContext(i.Context(), http.MethodHead, i.url+path, http.NoBody)
	if err != nil {
		return "", err
	}
	r.Header.Set("Accept-Encoding", "identity")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	return answer.Header.Get("ETag"), answer.Body.Close()
}

// load sends requests repeatedly, one at a time on each connection.
func (i *instance) load(requests []string, status string) {
	i.Helper()
	inParallel(i.T, connections, func(_ context.Context, from int) error {
		c, err := net.Dial("tcp", strings.TrimPrefix(i.url, "http://"))
		if err != nil {
			return err
		}
		defer c.Close()
		answers := bufio.NewReaderSize(c, 64<<10)
		for n := range asked / connections {
			if _, err := io.WriteString(c, requests[(from+n*connections)%len(requests)]); err != nil {
				return err
			}
			if err := skipAnswer(answers, status); err != nil {
				return err
			}
		}
		return nil
	})
}

// skipAnswer reads an answer that must have a status. It parses only what it needs: the test takes CPU time from the
// server.
func skipAnswer(from *bufio.Reader, status string) error {
	first, err := from.ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(first, "HTTP/1.1 "+status) {
		return fmt.Errorf("answered %q", first)
	}
	length := 0
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			return err
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok && status == "200" {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		}
		if line == "\r\n" {
			_, err := from.Discard(length)
			return err
		}
	}
}

// cpuTime returns the CPU time that the server has used so far, including the kernel's on its behalf.
func (i *instance) cpuTime() time.Duration {
	i.Helper()
	const tick = 10 * time.Millisecond // proc(5), on all platforms that foyer is built for
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", i.cmd.Process.Pid))
	if err != nil {
		i.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		i.Fatal(err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		i.Fatal(err)
	}
	return time.Duration(user+system) * tick
}
