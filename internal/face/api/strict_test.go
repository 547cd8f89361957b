package api_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"foyer/internal/face/api"
	"foyer/internal/face/openapi/openapitest"
)

// attrs lists the fields that an answer's faults name.
func attrs(tb testing.TB, got answer) (names []string) {
	tb.Helper()
	var body struct {
		Errors []struct {
			Attr string `json:"attr"`
		} `json:"errors"`
	}
	if err := json.Unmarshal([]byte(got.body), &body); err != nil {
		tb.Fatal(got.body, err)
	}
	for _, e := range body.Errors {
		names = append(names, e.Attr)
	}
	return names
}

func TestStrict(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x"}`)
		read := r.send(r.key, "GET", app, "").body
		for _, c := range []struct {
			method, path, body string
			attrs              []string // nil: accepted
		}{
			{"GET", apps + "?limit=1&offset=0", ``, nil},
			{"GET", apps + "?limit=1&nome=x&target_email=y", ``, []string{"nome", "target_email"}},
			{"GET", app + "?limit=1", ``, []string{"limit"}},
			{"PATCH", app, read, nil},
			{"PATCH", app, `{"nome":"y","description":"new","x":1}`, []string{"nome", "x"}},
			{"PATCH", app + "?a=1", `{"b":1}`, []string{"a", "b"}},
			{"PATCH", app + "?a=1", ``, []string{"a"}},
			{"PATCH", app, `{"site.ts":""}`, []string{"site.ts"}},
			{"PATCH", app + "/update_source", `{"site.ts":"","nome":""}`, []string{"nome"}},
			{"PATCH", app + "/update_source", `{"bundle":{"url":"","ulr":""},"source_files":[{"line":1},null,{"lien":1}]}`, []string{"bundle.ulr", "source_files.2.lien"}},
			{"PATCH", app + "/update_source", `{"disabled":{"by":{"email":"","mail":""}},"bundle":1,"source":{"site.ts":""}}`, []string{"disabled.by.mail"}},
			{"PATCH", app + "/update_source", `{"a.png":{"base64":"","bsae64":""},"source":{"b.png":{"base":1}}}`, []string{"a.png.bsae64", "source.b.png.base"}},
			{"PATCH", app, `{"config_schema":[{"key":"a","whatever":1}],"metrics":{"a":{"b":1}}}`, nil},
			{"POST", app + "/upgrade?dry_run=true", `{"tag":"2"}`, nil},
			{"POST", invites + "bulk", `[{"target_email":"a@x.example"},{"email":"b@x.example"}]`, []string{"1.email"}},
			{"PATCH", "/webhooks/" + r.webhook(`"app.*"`), `{"secret":"whsec_"}`, nil}, // the answer that created it has it
			{"DELETE", app + "?froce=1", ``, []string{"froce"}},
		} {
			got := r.send(r.key, c.method, c.path, c.body, "Prefer", "respond-async, handling=strict; wait=1")
			if got.header.Get("Preference-Applied") != "handling=strict" {
				r.t.Errorf("%s %s: Preference-Applied: %q", c.method, c.path, got.header.Get("Preference-Applied"))
			}
			if c.attrs == nil {
				if got.status > 299 {
					r.t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, got.status, got.body)
				}
				continue
			}
			if got.status != http.StatusBadRequest || !slices.Equal(attrs(r.t, got), c.attrs) {
				r.t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, got.status, got.body)
			}
		}
		if got := r.send(r.key, "PATCH", app+"?a=1", `{"b":1}`, "Prefer", "handling=lenient"); got.status != http.StatusOK || got.header.Get("Preference-Applied") != "" {
			r.t.Errorf("lenient: %d %s", got.status, got.body)
		}
	})
}

// The faults name each of several names that no operation knows.
func TestStrictNamesEachName(t *testing.T) {
	all := openapitest.Operations(t, api.OpenAPI())
	each(t, func(r *rig) {
		seed := rand.Uint64()
		r.t.Log("seed", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		fill := strings.NewReplacer("{organization_id}", r.org.ID, "{id}", "1", "{version}", "1", "{app_id}", "1", "{user_uuid}", r.owner.User.UUID)
		for _, o := range all {
			path := fill.Replace(o.Path)
			if !strings.HasPrefix(path, "/api/") || strings.Contains(path, "{") || strings.Contains(path, "signin") {
				continue
			}
			var names, query []string
			for range 1 + random.IntN(3) {
				names = append(names, fmt.Sprintf("x%d", random.Uint32()))
				query = append(query, names[len(names)-1]+"=1")
			}
			body := ""
			switch o.Method {
			case "DELETE": // some clients send a body with every request
				body = `{}`
			case "POST", "PATCH":
				names = append(names, fmt.Sprintf("y%d", random.Uint32()))
				body = `{"` + names[len(names)-1] + `":1}`
			}
			if got := r.send(r.key, o.Method, path+"?"+strings.Join(query, "&"), body, "Prefer", "handling=strict"); got.status != http.StatusBadRequest || !slices.Equal(attrs(r.t, got), names) {
				r.t.Errorf("%s %s %v: %d %s", o.Method, path, names, got.status, got.body)
			}
		}
	})
}

// The url of the next page has only parameters that the list knows.
func TestNextLeavesOutWhatIsUnknown(t *testing.T) {
	each(t, func(r *rig) {
		r.invite("a@x.example")
		r.invite("b@x.example")
		next := between(r.send(r.key, "GET", invites+"?limit=1&status=any&nothing=1&x=%41&dry=1", "").body, `"next":"`, `"`)
		if !strings.Contains(next, "status=any") || strings.Contains(next, "nothing") || strings.Contains(next, "x=") || strings.Contains(next, "dry") {
			r.t.Error(next)
		}
	})
}
