package server_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"foyer/internal/config"
	"foyer/internal/domain/access"
)

// The samples use the organization of the link in the console, or else the user's first one; for visitors who are not
// signed in they name none.
func TestDocsOfAnOrganization(t *testing.T) {
	t.Parallel()
	cfg := onDisk(t)
	s := start(t, cfg)
	d := openDomain(t, cfg)
	var ids []string
	for _, name := range []string{"First", "Second", "Closed"} {
		o := must(d.Organizations.Create(t.Context(), name))(t)
		if ids = append(ids, o.ID); name != "Closed" {
			must(d.Invites.AddMember(t.Context(), o.ID, "ada@x.example", access.Member))(t)
		}
	}
	key := makeKey(t, d, "ada@x.example")
	v, stranger := visit(t, s, key), visit(t, s, "")
	if help := "/docs?in=" + ids[1]; !strings.Contains(v.get("/console/"+ids[1]).body, `href="`+help+`"`) {
		t.Errorf("the console does not lead to %s", help)
	}
	second := "?in=" + ids[1]
	for path, links := range map[string][]string{
		"/docs/reference/apps" + second:         {`<input type="hidden" name="in" value="` + ids[1] + `">`, `href="/console` + second + `"`},
		"/docs/search" + second + "&q=withdraw": {"/docs/reference/apps" + second + "#", "/docs" + second + `"`},
	} {
		for _, link := range links {
			if got := v.get(path); !strings.Contains(got.body, link) {
				t.Errorf("%s has no %s", path, link)
			}
		}
	}
	for query, want := range map[string]string{"": ids[0], "?in=" + ids[1]: ids[1], "?in=" + ids[2]: ids[0], "?in=x": ids[0]} {
		path := "/docs/reference/sites" + query
		if got := v.get(path); got.status != http.StatusOK || !strings.Contains(got.body, s.URL+"/api/organizations/"+want+"/sites") || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, not for %s, or kept: %s", path, got.status, want, got.header.Get("Cache-Control"))
		}
		if got := stranger.get(path); got.status != http.StatusOK || !strings.Contains(got.body, s.URL+"/api/organizations/@current/sites") || strings.Contains(got.body, ids[1]) {
			t.Errorf("%s: %d for a stranger", path, got.status)
		}
	}
}

// Guessed sessions count as wrong keys do.
func TestDocsLimit(t *testing.T) {
	t.Parallel()
	v := visit(t, start(t, config.Config{}), "")
	const asked, tries = 20, 200 // without these, the console would have to be requested 600 times
	for range tries {
		var asking sync.WaitGroup // all at once: on a busy machine, fewer one after another than are allowed again meanwhile
		for range asked {
			asking.Go(func() {
				if got := v.send(http.MethodHead, "/docs", "", "Cookie", "foyer=guess"); got.status != http.StatusOK {
					t.Error(got.status)
				}
			})
		}
		asking.Wait()
		if v.get("/console").status == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("there is no limit")
}
