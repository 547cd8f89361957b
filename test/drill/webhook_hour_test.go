//go:build drill

package drill

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// In an hour of real time, servers are killed twice. Each event arrives at least once at a receiver that is down for the
// first third, where it is retried after 5 seconds, 5 and 30 minutes, and at a slow one. A receiver that redirects to an
// internal address gets nothing there.
func TestWebhooksForAnHour(t *testing.T) {
	if os.Getenv("DRILL") != "hour" {
		t.Skip("takes an hour: DRILL=hour")
	}
	f, o := sending(t)
	inner := newReceiver(t, fine)
	lying := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusTemporaryRedirect))
	t.Cleanup(lying.Close)
	down, slow, gone := newReceiver(t, fine), newReceiver(t, slowAtTimes), newReceiver(t, func(string, int) int { return http.StatusGone })
	back := leave(t, down)
	for _, to := range []*receiver{gone, down, slow, {Server: lying}} {
		to.subscribe(t, o)
	}

	began := time.Now()
	l := f.load()
	l.pause = 4 * time.Second
	end := l.start()
	defer end()
	for _, at := range []struct {
		minute int
		do     func()
	}{
		{10, func() { f.kill(0); f.start(t, 0) }},
		{20, back},
		{40, func() { f.kill(1); f.start(t, 1) }},
		{50, end},
		{60, func() {}},
	} {
		<-time.After(time.Until(began.Add(time.Duration(at.minute) * time.Minute)))
		at.do()
		t.Logf("minute %d: %d changes; %d and %d events have come", at.minute, l.ended[done].Load(), down.came(), slow.came())
	}
	events := f.events(t, o)
	for name, to := range map[string]*receiver{"the one that was down": down, "the one that is slow": slow} {
		eventually(t, fmt.Sprintf("%d events come to %s", len(events), name), func() bool { return to.lacks(events) == 0 })
		for _, wrong := range to.wrong {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	if w, err := o.GetWebhook(t.Context(), 1); err != nil || w.Enabled || !strings.Contains(w.DisabledReason, "410") {
		t.Errorf("the one that is gone: %+v, %v", w, err)
	}
	if n := inner.came(); n > 0 || len(inner.wrong) > 0 {
		t.Errorf("%d events came to an address that a receiver sent on to: %v", n, inner.wrong)
	}
}

// slowAtTimes takes 10 seconds for about one event in sixteen.
func slowAtTimes(id string, _ int) int {
	if strings.HasSuffix(id, "a") {
		<-time.After(10 * time.Second)
	}
	return http.StatusOK
}

// leave closes a receiver's port; back makes it listen there again.
func leave(t *testing.T, to *receiver) (back func()) {
	t.Helper()
	address := to.Listener.Addr().String()
	to.Close()
	return func() {
		again := httptest.NewUnstartedServer(to)
		again.Listener.Close()
		var err error
		if again.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address); err != nil {
			t.Fatal(err)
		}
		again.Start()
		t.Cleanup(again.Close)
	}
}

// came returns how many events have arrived.
func (to *receiver) came() int {
	to.mu.Lock()
	defer to.mu.Unlock()
	return len(to.taken)
}
