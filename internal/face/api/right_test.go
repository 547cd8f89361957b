package api_test

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A request with a valid key, or without one but with a valid token, does not count against its address.
func TestRightIsNotCounted(t *testing.T) {
	each(t, func(r *rig) {
		now := r.db.Now()
		r.db.Now = func() time.Time { return now }
		token := r.token(r.invite("ada@example.com"))
		r.wantStatus(r.key, "GET", apps+"0", "", 404)
		for _, c := range []struct {
			token string
			left  string
		}{{token, "r=600;"}, {token, "r=600;"}, {"wrong", "r=599;"}, {token, "r=599;"}} {
			if got := r.send("", "GET", "/api/signup/"+c.token, ""); !strings.Contains(got.header.Get("RateLimit"), c.left) {
				r.t.Errorf("%s: %s, want %s", c.token, got.header.Get("RateLimit"), c.left)
			}
		}
		for range 599 {
			r.send("", "GET", "/api/signup/wrong", "")
		}
		r.wantStatus("", "GET", "/api/signup/"+token, "", 429) // after 600 wrong ones
	})
}

// An untrusted proxy is logged once.
func TestUntrustedProxyIsTold(t *testing.T) {
	each(t, func(r *rig) {
		var log bytes.Buffer
		url := r.serveLogged(&log)
		for range 3 {
			r.sendTo(url, "", "GET", "/pipeline_frontend_apps", "", "X-Forwarded-For", "192.0.2.1")
		}
		if n := strings.Count(log.String(), "FOYER_TRUSTED_PROXIES"); n != 1 || !strings.Contains(log.String(), "peer=127.0.0.1") {
			r.t.Errorf("told %d times: %s", n, log.String())
		}
	})
}
