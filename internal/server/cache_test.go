package server_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"foyer/client"
	"foyer/internal/config"
)

// documentedNginx returns the configuration of nginx in a guide that begins with the given word.
func documentedNginx(t *testing.T, guide, begin string) string {
	t.Helper()
	text := must(os.ReadFile("../../docs/" + guide))(t)
	block := regexp.MustCompile("(?s)```nginx\n(" + begin + " .*?)```").FindStringSubmatch(string(text))
	if block == nil {
		t.Fatalf("nothing that begins with %s is documented", begin)
	}
	return block[1]
}

// startNginx starts an nginx with a configuration, in which ADDRESS is the address that it listens on and SOCKET is the
// socket of the server behind it. It returns the url, the socket and the folder of nginx.
func startNginx(t *testing.T, text string) (url, socket, dir string) {
	t.Helper()
	ln := must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	address := ln.Addr().String()
	ln.Close()
	socket, dir = socketPath(t), t.TempDir()
	text = `daemon off; master_process off; pid nginx.pid; error_log error.log; events {}
		http {
			access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
			` + strings.NewReplacer("ADDRESS", address, "SOCKET", "unix:"+socket).Replace(text) + "\n}"
	check(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(text), 0o600))
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx" // Debian does not have it in the PATH of users
	}
	cmd := exec.Command(program, "-p", dir, "-c", "nginx.conf")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: make setup", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	until(t, func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "http://" + address, socket, dir
}

// The logs of nginx with the documented configuration contain no token, not even while the server is down.
func TestProxyLogsNoTokens(t *testing.T) {
	t.Parallel()
	config := documentedNginx(t, "operating.md", "map")
	config = regexp.MustCompile(`(?m)^ *(ssl_|server_name).*$`).ReplaceAllString(config, "")
	config = regexp.MustCompile(`server 127\.0\.0\.1:8000;.*`).ReplaceAllString(config, "server SOCKET;")
	config = strings.NewReplacer("/var/log/nginx/foyer.log", "access.log", "listen 443 ssl", "listen ADDRESS").Replace(config)
	url, _, dir := startNginx(t, config)
	const token = "a-token-that-is-secret"
	for _, path := range []string{
		"/invite/" + token, "//invite/" + token, "/api/signup/" + token, "/signin/" + token, "/address/" + token,
		"/sites/X/manifest.json?preview=" + token, "/sites/X/try?t=" + token, "/sites/X/try?x=1&t=" + token,
	} {
		if got := browse(t, http.MethodGet, url+path, nil); got.status != http.StatusBadGateway {
			t.Errorf("%s: %d", path, got.status)
		}
	}
	until(t, func() bool { // nginx writes the log after the answer
		browse(t, http.MethodGet, url+"/the-end", nil)
		return strings.Contains(string(must(os.ReadFile(filepath.Join(dir, "access.log")))(t)), "/the-end")
	})
	for _, name := range []string{"access.log", "error.log"} {
		text := string(must(os.ReadFile(filepath.Join(dir, name)))(t))
		for line := range strings.Lines(text) {
			if strings.Contains(line, token) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

// manifest asks for the manifest of a site, through the cache.
func (s *shop) manifest(t *testing.T, header http.Header) answer {
	t.Helper()
	return browse(t, http.MethodGet, s.URL+"/sites/"+s.site.Token+"/manifest.json", header)
}

// With one shared cache and a browser that has cached everything, an app that is switched off stops within 20 seconds,
// even if there was no request meanwhile. An unchanged manifest is not sent again.
func TestSharedCache(t *testing.T) { //nolint:tparallel // what comes after is without the server
	t.Parallel()
	tab := newTab(t)
	outside, inside, _ := strings.Cut(documentedNginx(t, "guide-operators.md", "proxy_cache_path"), "# in server:")
	const server = `
		server {
			server_name %s;
			listen ADDRESS; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header X-Forwarded-For $remote_addr;
			add_header X-Cache $upstream_cache_status always;
			location / { proxy_pass http://foyer; }
			%s
		}`
	patient := regexp.MustCompile("proxy_read_timeout .*").ReplaceAllString(inside, "") // for a busy machine
	url, socket, _ := startNginx(t, strings.Replace(outside, "/var/cache/nginx/foyer", t.TempDir()+"/cache", 1)+`
		upstream foyer { server SOCKET max_fails=0; server SOCKET max_fails=0; keepalive 16; }`+
		fmt.Sprintf(server, "127.0.0.1", patient)+fmt.Sprintf(server, "localhost", inside))
	var still *shop
	t.Run("while the server runs", func(t *testing.T) {
		s := start(t, config.Config{Listen: "unix:" + socket, BaseURL: url})
		placement, disabled := open(tab, t, s), open(tab, t, s)
		still = open(tab, t, s)
		off, app := placement.app(t, logging("placement")), disabled.app(t, logging("app"))
		still.app(t, logging("still"))
		placement.sees(t, "", "ready: placement")
		disabled.sees(t, "", "ready: app")
		still.sees(t, "", "ready: still")
		kept := still.manifest(t, http.Header{"Accept-Encoding": {"gzip"}})
		if again := still.manifest(t, http.Header{"Accept-Encoding": {"gzip"}}); again.header.Get("X-Cache") != "HIT" {
			t.Errorf("the cache does not keep a manifest: %v", again.header)
		}

		for _, shop := range []*shop{placement, disabled} {
			if got := shop.manifest(t, nil); !strings.Contains(got.body, `"apps":[{`) {
				t.Errorf("before the change: %+v", got)
			}
		}
		must(s.UpdatePlacement(t.Context(), placement.site.ID, off.ID, client.PlacementPatch{Enabled: new(false)}))(t)
		must(s.DisableApp(t.Context(), app.ID, "broken"))(t)
		<-time.After(20 * time.Second) // the longest time that it may take, without requests meanwhile

		for _, shop := range []*shop{placement, disabled} {
			var all errgroup.Group
			for range 32 { // at once, so that some are answered while the cache asks the server
				all.Go(func() error {
					if got := shop.manifest(t, nil); !strings.Contains(got.body, `"apps":[]`) {
						return fmt.Errorf("still there: %s %v", got.body, got.header)
					}
					return nil
				})
			}
			if err := all.Wait(); err != nil {
				t.Error(err)
			}
			shop.sees(t, "", "ready: ")
		}
		unchanged := still.manifest(t, http.Header{"Accept-Encoding": {"gzip"}, "If-None-Match": {kept.header.Get("ETag")}})
		if unchanged.status != http.StatusNotModified || unchanged.header.Get("X-Cache") != "REVALIDATED" {
			t.Errorf("an unchanged manifest: %d %v", unchanged.status, unchanged.header)
		}
		still.sees(t, "", "ready: still")
	})
	until(t, func() bool {
		got := still.manifest(t, nil)
		if got.status != http.StatusOK || !strings.Contains(got.body, `"apps":[{`) {
			t.Fatalf("after the server has stopped: %+v", got)
		}
		return got.header.Get("X-Cache") == "STALE"
	})
	asked := hang(t, socket)
	still.URL = strings.Replace(url, "127.0.0.1", "localhost", 1)
	if got := still.manifest(t, http.Header{"X-Counted": {"yes"}}); got.header.Get("X-Cache") != "STALE" || asked.Load() != 1 {
		t.Errorf("%d servers that hang were waited for: %+v", asked.Load(), got)
	}
}

// hang listens on a socket without answering, and counts the requests with X-Counted.
func hang(t *testing.T, socket string) *atomic.Int32 {
	t.Helper()
	ln := must((&net.ListenConfig{}).Listen(t.Context(), "unix", socket))(t)
	var asked atomic.Int32
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Counted") != "" {
			asked.Add(1)
		}
		<-r.Context().Done()
	})}
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() { server.Close() })
	return &asked
}
