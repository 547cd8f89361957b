//go:build drill

package drill

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	api "foyer/client"
)

// If a server is killed, each request is done once, or not at all: a client that repeats it with its Idempotency-Key gets
// the answer of what happened, or has it done now. The test goes on until enough requests were done and not answered.
func TestKilledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) *fleet{"SQLite": onSQLite, "PostgreSQL": onPostgres(2)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := begin(t)
			s := sentAgain{fleet: f}
			kills, wanted := 0, times(5, 100)
			for ; s.replayed < wanted && !t.Failed(); kills++ {
				s.round(t, kills)
			}
			eventually(t, "each request has an answer", func() bool {
				time.Sleep(time.Second) // a killed server's requests stay reserved for half a minute
				s.again(t, kills)
				return len(s.open) == 0
			})
			c, err := api.New(f.at(0), f.key)
			if err != nil {
				t.Fatal(err)
			}
			found, err := c.Organization(api.Current).ListApps(t.Context(), api.AppFilter{Search: "killed"}, api.Range{Limit: 1})
			if err != nil || found.Count != s.made {
				t.Errorf("%d apps of %d requests, %v", found.Count, s.made, err)
			}
			t.Logf("%d kills, %d requests, %d of them done and not answered", kills, s.made, s.replayed)
		})
	}
}

// sentAgain sends requests again until they are answered.
type sentAgain struct {
	*fleet
	open     []string // names of requests without an answer
	made     int      // apps, by the answers
	replayed int      // those that had been done before the server was killed
}

// round sends requests to a server that is killed meanwhile, and repeats those without an answer.
func (s *sentAgain) round(t *testing.T, n int) {
	t.Helper()
	answers := make([]answer, clients)
	names := make([]string, clients)
	var all sync.WaitGroup
	for i := range clients {
		names[i] = fmt.Sprintf("killed-%d-%d", n, i)
		all.Go(func() { answers[i] = s.ask(s.load(), n, names[i]) })
	}
	time.Sleep(rand.N(20 * time.Millisecond))
	s.kill(n % len(s.servers))
	all.Wait()
	for i, a := range answers {
		s.take(t, names[i], a)
	}
	s.start(t, n%len(s.servers))
	s.again(t, n+1)
}

// again repeats the requests without an answer.
func (s *sentAgain) again(t *testing.T, n int) {
	t.Helper()
	open, l := s.open, s.load()
	s.open = nil
	for _, name := range open {
		a := s.ask(l, n, name)
		if a.replayed {
			s.replayed++
		}
		s.take(t, name, a)
	}
}

func (s *sentAgain) ask(l *load, n int, name string) answer {
	c := l.client(name)
	defer c.http.CloseIdleConnections()
	return c.ask(n, name, "POST", paths["app"], fmt.Sprintf(`{"name":%q}`, name), "Idempotency-Key", name)
}

// take notes the result of a request. It stays open without an answer, or while the killed server may still be working on
// it.
func (s *sentAgain) take(t *testing.T, name string, a answer) {
	t.Helper()
	var app struct {
		Name string `json:"name"`
	}
	switch {
	case a.status == 0, a.status == http.StatusConflict, a.status == http.StatusServiceUnavailable:
		s.open = append(s.open, name)
	case a.status != http.StatusCreated || json.Unmarshal(a.body, &app) != nil || app.Name != name:
		t.Errorf("%s: %d %s", name, a.status, a.body)
	default:
		s.made++
	}
}
