//go:build drill

package drill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// verdict is what a client knows about its request.
type verdict int

const (
	unknown verdict = iota // the connection broke, or a 500: it may have happened
	done                   // acknowledged
	refused                // a 503, or too late: it has certainly not happened
)

// request is one change that a client asked for.
type request struct {
	n       int    // of its client
	id      string // X-Request-Id
	kind    kind
	item    string // the id of the changed item; of a new one, once it is known
	text    string // name, description or address
	verdict verdict
	status  int
	ended   time.Time
}

// load has clients that change what they have made, until they are told to stop.
type load struct {
	key   string
	url   func(n int) string // of the server for a client's n-th request
	pause time.Duration      // of a client, between requests

	mu       sync.Mutex
	requests []*request
	images   []func() []string // report faults of copies of the database, after the load
	wrong    []string          // what clients have seen
	ended    [3]atomic.Int64   // requests by verdict
	replayed atomic.Int64      // answers that were sent again
	stop     chan struct{}
}

const clients = 8

// load returns a load on all servers.
func (f *fleet) load() *load {
	return &load{key: f.key, url: f.balanced, pause: 5 * time.Millisecond}
}

// start has clients change things until end is called. end waits for them.
func (l *load) start() (end func()) {
	l.stop = make(chan struct{})
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c := l.client(fmt.Sprintf("drill-%d", i))
			defer c.http.CloseIdleConnections()
			for {
				select {
				case <-l.stop:
					return
				case <-time.After(l.pause):
					c.step(c.any())
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(l.stop)
		all.Wait()
	})
}

// asOf returns what clients knew about their requests at a time.
func (l *load) asOf(at time.Time) (then []*request) {
	for _, r := range l.requests {
		copied := *r
		if copied.verdict == done && copied.ended.After(at) {
			copied.verdict = unknown
		}
		then = append(then, &copied)
	}
	return then
}

// await waits until n more requests have ended with a verdict.
func (l *load) await(t *testing.T, v verdict, n int64) {
	t.Helper()
	n += l.ended[v].Load()
	eventually(t, fmt.Sprintf("%d requests with verdict %d", n, v), func() bool { return l.ended[v].Load() >= n })
}

// client changes what it has made itself.
type client struct {
	*load
	name string
	n    int
	http *http.Client
	has  map[string][]string // ids by kind
}

func (l *load) client(name string) *client {
	return &client{
		load: l, name: name, has: map[string][]string{},
		http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 10}},
	}
}

// kind is a change that clients ask for.
type kind struct {
	verb  string // create, change, delete, accept
	what  string // app, invite, key
	often int
}

var (
	createInvite = kind{"create", "invite", 24}
	deleteInvite = kind{"delete", "invite", 12}
	kinds        = []kind{
		{"create", "app", 36},
		{"change", "app", 36},
		{"delete", "app", 12},
		createInvite, deleteInvite,
		{"accept", "invite", 1},
		{"create", "key", 6},
		{"delete", "key", 3},
	}
	paths = map[string]string{
		"app": "/api/organizations/@current/pipeline_frontend_apps/", "invite": "/api/organizations/@current/invites/", "key": "/api/users/@me/keys/",
	}
	scopes = map[string]string{"app": "Plugin", "invite": "OrganizationInvite", "member": "OrganizationMembership", "key": "Key"}
)

// may reports whether a client can ask for a change.
func (c *client) may(k kind) bool {
	has := len(c.has[k.what])
	if k.verb != "create" {
		return has > 0
	}
	return k.what != "key" || has < 10 // a user has a hundred at most
}

// any picks a kind of change at random, weighted by often.
func (c *client) any() kind {
	var all []kind
	for _, k := range kinds {
		if c.may(k) {
			all = append(all, slices.Repeat([]kind{k}, k.often)...)
		}
	}
	return all[rand.N(len(all))]
}

// step makes a change, and reads the result from the next server.
func (c *client) step(k kind) *request {
	r := c.request(k)
	if k.verb != "create" {
		r.item = c.has[k.what][rand.N(len(c.has[k.what]))]
	}
	switch k.verb {
	case "create":
		r.text = r.id
		if k.what == "invite" {
			r.text += "@drill.example"
		}
		c.send(r, "POST", paths[k.what], map[string]string{
			"app": fmt.Sprintf(`{"name":%q}`, r.text), "invite": fmt.Sprintf(`{"target_email":%q}`, r.text),
			"key": fmt.Sprintf(`{"name":%q,"scopes":["plugin:read"]}`, r.text),
		}[k.what])
		if r.verdict == done {
			c.has[k.what] = append(c.has[k.what], r.item)
		}
	case "change":
		r.text = r.id
		c.send(r, "PATCH", paths[k.what]+r.item, fmt.Sprintf(`{"description":%q}`, r.text))
		if r.verdict == done {
			c.read(r)
		}
	case "delete":
		c.send(r, "DELETE", paths[k.what]+r.item, "")
	case "accept":
		c.accept(r)
	}
	if k.verb == "accept" || k.verb == "delete" && r.verdict != refused {
		c.has[k.what] = slices.DeleteFunc(c.has[k.what], func(item string) bool { return item == r.item })
	}
	return r
}

// accept has nine clients accept an invite at the same time: only one may succeed.
func (c *client) accept(first *request) {
	first.verdict, first.kind.what = refused, "link" // it changes nothing
	link := c.ask(first.n, first.id, "POST", paths["invite"]+first.item+"/link", "")
	var found struct {
		URL string `json:"url"`
	}
	if link.status != http.StatusOK || json.Unmarshal(link.body, &found) != nil {
		return
	}
	token := found.URL[strings.LastIndex(found.URL, "/")+1:]
	requests := make([]*request, 9)
	var all sync.WaitGroup
	for i := range requests {
		r := c.request(kind{verb: "accept", what: "member"})
		r.text = first.item
		requests[i] = r
	}
	for _, r := range requests {
		all.Go(func() { c.send(r, "POST", "/api/signup/"+token, "{}") })
	}
	all.Wait()
	verdicts := [3]int{}
	for _, r := range requests {
		verdicts[r.verdict]++
	}
	if verdicts[done] > 1 {
		c.sees("%d have accepted an invite", verdicts[done])
	}
}

// sees records a fault.
func (l *load) sees(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// request returns the client's next request.
func (c *client) request(k kind) *request {
	c.n++
	r := &request{n: c.n, id: fmt.Sprintf("%s-%d", c.name, c.n), kind: k}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	return r
}

// read reports a fault if the next server does not know an acknowledged change.
func (c *client) read(r *request) {
	got := c.ask(r.n+1, "", "GET", paths[r.kind.what]+r.item, "")
	var app struct {
		Description string `json:"description"`
	}
	if got.status == http.StatusOK && (json.Unmarshal(got.body, &app) != nil || app.Description != r.text) {
		c.sees("%s was acknowledged, and then not there: %s", r.id, got.body)
	}
}

// replayFor is how long a client repeats a request to learn its result. If a server was killed before the change, others
// may take the request over after 30 seconds.
var replayFor = map[bool]time.Duration{false: 2 * time.Second, true: 40 * time.Second}[long]

// sendOnce sends a request with an Idempotency-Key until it learns the result: it happens once. The first try, too, may be
// told that the request is in progress: net/http repeats a request with such a key when its connection breaks.
func (c *client) sendOnce(r *request, method, path, body string) answer {
	deadline, unsure := time.Now().Add(replayFor), false
	for n := r.n; ; n++ {
		got := c.ask(n, r.id, method, path, body, "Idempotency-Key", r.id)
		if got.replayed {
			c.replayed.Add(1)
		}
		unsure = unsure || got.status == 0 || got.status == http.StatusInternalServerError || got.status == http.StatusConflict
		if !unsure || got.status > 0 && got.status < 500 && got.status != http.StatusConflict {
			return got
		}
		if time.Now().After(deadline) {
			return answer{} // it is refused now, but the first try may have happened
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// send makes a request, and waits a little if the server asks for it.
func (c *client) send(r *request, method, path, body string) {
	ask := func() answer { return c.ask(r.n, r.id, method, path, body) }
	if r.n%2 == 0 && method != "DELETE" && (r.kind.what == "app" || r.kind.what == "invite") { // answers without a secret
		ask = func() answer { return c.sendOnce(r, method, path, body) }
	}
	got := ask()
	r.status = got.status
	switch {
	case got.status == 0:
		time.Sleep(20 * time.Millisecond) // the server is starting
	case got.status < 300:
		r.verdict = done
		var made struct {
			ID   json.RawMessage `json:"id"`
			User struct {
				UUID string `json:"uuid"`
			} `json:"user"`
		}
		if r.item == "" && json.Unmarshal(got.body, &made) == nil {
			r.item = string(bytes.Trim(made.ID, `"`)) + made.User.UUID
		}
	case got.status == http.StatusServiceUnavailable:
		r.verdict = refused
		if got.retryAfter == "" {
			c.sees("%s: 503 without Retry-After", r.id)
		}
		time.Sleep(50 * time.Millisecond)
	case got.status < 500:
		r.verdict = refused
		if r.kind.verb != "accept" && !c.tooMany(r) {
			c.sees("%s %s %s: %d %s", r.id, r.kind.verb, r.kind.what, got.status, got.body)
		}
	}
	r.ended = time.Now()
	c.ended[r.verdict].Add(1)
}

// tooMany reports whether a refusal is correct: a user has a hundred keys at most, and keys with unknown results
// accumulate.
func (c *client) tooMany(r *request) bool {
	return r.kind.verb == "create" && r.kind.what == "key" && c.ended[unknown].Load() > 0
}

// answer is a server's answer; the status is 0 without one.
type answer struct {
	status     int
	body       []byte
	retryAfter string
	replayed   bool
}

// ask sends a request to the n-th server. Like a proxy, it tries another one if that cannot be reached.
func (c *client) ask(n int, id, method, path, body string, headers ...string) (a answer) {
	for again := range 3 {
		req, err := http.NewRequest(method, c.url(n+again)+path, strings.NewReader(body))
		if err != nil {
			c.sees("%v", err)
			return a
		}
		req.Header = http.Header{"Authorization": {"Bearer " + c.key}, "X-Request-Id": {id}}
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := c.http.Do(req)
		if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" {
			continue
		}
		if err != nil {
			return a
		}
		defer res.Body.Close()
		if a.body, err = io.ReadAll(res.Body); err == nil {
			a.status, a.retryAfter = res.StatusCode, res.Header.Get("Retry-After")
			a.replayed = res.Header.Get("Idempotent-Replayed") != ""
		}
		return a
	}
	return a
}
