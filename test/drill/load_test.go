//go:build drill

package drill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// verdict is what a client knows of its request.
type verdict int

const (
	unknown verdict = iota // the connection broke, or a 500: it may have happened
	done                   // acknowledged
	refused                // a 503: it surely has not happened
)

// request is one change that a client asked for.
type request struct {
	id      string // X-Request-Id
	kind    string // create, describe, delete, invite, withdraw
	item    string // the app's or invite's id; of what is made, once it is known
	text    string // name, description or address
	verdict verdict
	status  int
}

// load is clients that change what they have made, until told to stop.
type load struct {
	t   *testing.T
	key string
	url func(n int) string // of the server for a client's n-th request

	tolerant bool // of refusals, which a wrong program gives

	mu       sync.Mutex
	requests []*request
	refused  int
}

// run has clients change things until stop is closed.
func (l *load) run(clients int, stop <-chan struct{}) {
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c := actor{load: l, name: i, http: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 2}}}
			defer c.http.CloseIdleConnections()
			for {
				select {
				case <-stop:
					return
				default:
					c.step()
				}
			}
		})
	}
	all.Wait()
}

// actor is a client that changes what it has made itself.
type actor struct {
	*load
	name, n       int
	http          *http.Client
	apps, invites []string
}

func (c *actor) step() {
	c.n++
	r := &request{id: fmt.Sprintf("drill-%d-%d", c.name, c.n)}
	pick := func(from []string) string { return from[rand.N(len(from))] }
	const apps, invites = "/pipeline_frontend_apps/", "/invites/"
	switch what := rand.N(10); {
	case what < 3 || len(c.apps) == 0:
		r.kind, r.text = "create", r.id
		c.send(r, "POST", apps, fmt.Sprintf(`{"name":%q}`, r.text))
		c.apps = c.keep(c.apps, r)
	case what < 6:
		r.kind, r.item, r.text = "describe", pick(c.apps), r.id
		c.send(r, "PATCH", apps+r.item, fmt.Sprintf(`{"description":%q}`, r.text))
	case what < 7:
		r.kind, r.item = "delete", pick(c.apps)
		c.send(r, "DELETE", apps+r.item, "")
		c.apps = drop(c.apps, r)
	case what < 9 || len(c.invites) == 0:
		r.kind, r.text = "invite", r.id+"@drill.example"
		c.send(r, "POST", invites, fmt.Sprintf(`{"target_email":%q}`, r.text))
		c.invites = c.keep(c.invites, r)
	default:
		r.kind, r.item = "withdraw", pick(c.invites)
		c.send(r, "DELETE", invites+r.item, "")
		c.invites = drop(c.invites, r)
	}
}

func (c *actor) keep(items []string, r *request) []string {
	if r.verdict == done {
		items = append(items, r.item)
	}
	return items
}

// drop forgets what was removed, or may have been.
func drop(items []string, r *request) []string {
	if r.verdict == refused {
		return items
	}
	var left []string
	for _, item := range items {
		if item != r.item {
			left = append(left, item)
		}
	}
	return left
}

// send makes a request, and waits a little where it is told to.
func (c *actor) send(r *request, method, path, body string) {
	c.mu.Lock()
	c.requests = append(c.requests, r)
	c.mu.Unlock()
	req, err := http.NewRequest(method, c.url(c.n)+"/api/organizations/@current"+path, strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return
	}
	req.Header = http.Header{"Authorization": {"Bearer " + c.key}, "X-Request-Id": {r.id}}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		time.Sleep(20 * time.Millisecond) // the server is being started
		return
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	r.status = res.StatusCode
	switch {
	case res.StatusCode < 300 && err == nil:
		r.verdict = done
		var made struct {
			ID json.RawMessage `json:"id"`
		}
		if r.item == "" && json.Unmarshal(text, &made) == nil {
			r.item = string(bytes.Trim(made.ID, `"`))
		}
	case res.StatusCode == http.StatusServiceUnavailable:
		if res.Header.Get("Retry-After") == "" {
			c.t.Errorf("%s: 503 without Retry-After", r.id)
		}
		r.verdict = refused
		c.mu.Lock()
		c.refused++
		c.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
	case res.StatusCode < 500:
		r.verdict = refused
		if !c.tolerant {
			c.t.Errorf("%s %s: %d %s", r.id, r.kind, res.StatusCode, text)
		}
	}
}
