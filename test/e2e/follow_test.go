package e2e

import (
	"bufio"
	"net/url"
	"strings"
	"testing"

	"foyer/internal/infra/db/dbtest"
)

// After an outage of the server, following the activity goes on. The outage is reported once, and each entry comes once.
func TestFollowAfterAnOutage(t *testing.T) {
	t.Parallel()
	s := newSettings(t, "sqlite", "")
	i := launch(t, s)
	server, err := url.Parse(i.url)
	check(t, err)
	relay := dbtest.StartRelay(t, "tcp", server.Host)
	cmd := command(t, "http://"+relay.Address, s["BOOTSTRAP_KEY"], "activity", "--follow", "--scope=Plugin")
	shown, err := cmd.StdoutPipe()
	check(t, err)
	notes, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	next := func(lines *bufio.Scanner, want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("%q (%v), want %s", lines.Text(), lines.Err(), want)
		}
	}
	create := func(name string) {
		i.call(s["BOOTSTRAP_KEY"], "POST", "/pipeline_frontend_apps", `{"name":"`+name+`"}`, 201)
	}
	entries := bufio.NewScanner(shown)
	create("Before")
	for entries.Scan() && !strings.HasSuffix(entries.Text(), "  Before") { // after those of the demo
	}
	relay.Cut()
	next(bufio.NewScanner(notes), "it is asked again until it answers.")
	create("Meanwhile")
	relay.Mend()
	next(entries, "  Meanwhile")
	create("Afterwards")
	next(entries, "  Afterwards")
}
