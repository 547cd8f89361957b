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
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"foyer/client"
	"foyer/internal/config"
)

// documentedCache is nginx's configuration of a cache in docs/operating.md, cut where another block
// begins.
func documentedCache(t *testing.T) (outside, inside string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```nginx\n(proxy_cache_path .*?)# in server:\n(.*?)```").FindStringSubmatch(string(text))
	if block == nil {
		t.Fatal("no cache is documented")
	}
	return block[1], block[2]
}

// startCache starts an nginx that keeps what it may, and returns its url, and the socket on which it
// asks a server.
func startCache(t *testing.T) (url, socket string) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address, dir := ln.Addr().String(), t.TempDir()
	ln.Close()
	socket = socketPath(t)
	outside, inside := documentedCache(t)
	text := fmt.Sprintf(`
		daemon off; master_process off; pid nginx.pid; error_log error.log; events {}
		http {
			access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
			%s
			upstream foyer { server unix:%s; keepalive 16; }
			server {
				listen %s; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header X-Forwarded-For $remote_addr;
				add_header X-Cache $upstream_cache_status always;
				location / { proxy_pass http://foyer; }
				%s
			}
		}`, strings.Replace(outside, "/var/cache/nginx/foyer", filepath.Join(dir, "cache"), 1), socket, address, inside)
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("nginx")
	if err != nil {
		program = "/usr/sbin/nginx" // Debian keeps it out of the PATH of users
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
	return "http://" + address, socket
}

// manifest asks for the manifest of a site, through the cache.
func (s *shop) manifest(t *testing.T, header http.Header) answer {
	t.Helper()
	return browse(t, http.MethodGet, s.URL+"/sites/"+s.site.Token+"/manifest.json", header)
}

// Through one shared cache and a browser with all of it in its own, what is switched off is gone 20
// seconds later, also where nobody has asked meanwhile; what has not changed is not sent again.
func TestSharedCache(t *testing.T) { //nolint:tparallel // what comes after is without the server
	t.Parallel()
	tab := newTab(t)
	url, socket := startCache(t)
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
		must[client.Placement](t)(s.UpdatePlacement(t.Context(), placement.site.ID, off.ID, client.PlacementPatch{Enabled: new(false)}))
		must[client.App](t)(s.DisableApp(t.Context(), app.ID, "broken"))
		<-time.After(20 * time.Second) // this long it may take, and nobody looks meanwhile

		for _, shop := range []*shop{placement, disabled} {
			var all errgroup.Group
			for range 32 { // at once, so that some are answered while the cache asks
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
	until(t, time.Minute, func() bool {
		got := still.manifest(t, nil)
		if got.status != http.StatusOK || !strings.Contains(got.body, `"apps":[{`) {
			t.Fatalf("after the server has stopped: %+v", got)
		}
		return got.header.Get("X-Cache") == "STALE"
	})
}
