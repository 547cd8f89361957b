package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/face/api"
	"foyer/internal/face/wire"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/sandbox"
)

// People learn from the examples in the document, so each must fit its schema, and no page may lack results.
func TestExamplesFitTheirSchemas(t *testing.T) {
	t.Parallel()
	checker := checker(t)
	doc := readDocument(t)
	for name, r := range doc.Components.Responses {
		for mediaType, c := range r.Content {
			if mediaType == "application/json" {
				checker.CheckValue(t, "#/components/responses/"+name+"/content/application~1json/schema", c.Example)
				if strings.Contains(compact(t, c.Example), `"results":[]`) {
					t.Errorf("the example of %s has no results", name)
				}
			}
		}
	}
	for name, b := range doc.Components.RequestBodies {
		for _, e := range b.Content["application/json"].Examples {
			checker.CheckValue(t, "#/components/requestBodies/"+name+"/content/application~1json/schema", e.Value)
		}
	}
}

// TestExamplesOfNames checks rules for the examples of keys and users that schemas do not express.
func TestExamplesOfNames(t *testing.T) {
	t.Parallel()
	text := getDocument(t, api.OpenAPIJSON(), http.Header{}).Body.String()
	for _, key := range regexp.MustCompile(`foy_\w{9,}`).FindAllString(text, -1) {
		if !access.WellFormed(key) {
			t.Errorf("the key %s cannot be one", key)
		}
	}
	for _, user := range regexp.MustCompile(`"uuid": "(\S+)",\s+"distinct_id": "(\S+)"`).FindAllStringSubmatch(text, -1) {
		if user[1] == user[2] {
			t.Errorf("the user %s has no distinct_id of its own", user[1])
		}
	}
}

// The examples of errors are real answers.
func TestExamplesOfErrors(t *testing.T) {
	doc := readDocument(t)
	each(t, func(r *rig) {
		id, token := r.app(`{"name":"x"}`), r.token(r.invite("a@x.example"))
		full := *r.api
		full.Plugins.Children = sandbox.New(0, 0, slog.New(slog.DiscardHandler))
		type refused struct {
			status int
			got    answer
		}
		all := map[string]refused{
			"InvalidPage":          {400, r.send(r.key, "GET", apps+"?limit=0", "")},
			"Invalid":              {400, r.send(r.key, "POST", apps, "")},
			"NotAuthenticated":     {401, r.send("", "GET", apps, "")},
			"InvalidQuery":         {400, r.send(r.key, "GET", apps+"?dry_run=true", "")},
			"Denied":               {403, r.send(r.newKey(r.owner, "plugin:read"), "POST", apps, "")},
			"NotFound":             {404, r.send(r.key, "GET", apps+"99", "")},
			"NoTryPage":            {404, r.send("", "GET", sites+strings.Repeat("A", 26)+"/try", "")},
			"MethodNotAllowed":     {405, r.send(r.key, "PUT", apps, "")},
			"Gone":                 {410, r.send("", "GET", r.gone(), "")},
			"PreconditionFailed":   {412, r.send("", "GET", r.bundle(), "", "If-Match", `"x"`)},
			"InProgress":           {409, r.shownOnce()},
			"OtherRequest":         {422, r.sentTwice()},
			"Stale":                {412, r.send(r.key, "PATCH", apps+id, "", "If-Match", `"x"`)},
			"TooLarge":             {413, r.send(r.key, "PATCH", apps+id, `"`+strings.Repeat("x", 1<<20)+`"`)},
			"UnsupportedMediaType": {415, r.send(r.key, "POST", apps, "name=x", "Content-Type", "application/x-www-form-urlencoded")},
			"Throttled":            {429, r.throttled()},
			"UpstreamUnavailable":  {502, r.send(r.key, "POST", apps, `{"plugin_type":"custom","url":"https://git.invalid/acme/banner"}`)},
			"Busy":                 {503, r.sendTo(r.serve(&full), r.key, "PATCH", apps+id+"/update_source", `{"site.ts":""}`)},
			"Unavailable":          {503, away(r.t)},
		}
		late := r.db.Now().Add(72 * time.Hour)
		r.db.Now = func() time.Time { return late }
		all["Expired"] = refused{410, r.send("", "GET", "/api/signup/"+token, "")}
		dbtest.Exec(r.t, r.db, `ALTER TABLE activity RENAME TO gone`)
		all["ServerError"] = refused{500, r.send(r.key, "GET", apps+"activity", "")}
		for name, response := range doc.Components.Responses {
			example := compact(r.t, response.Content["application/json"].Example)
			if strings.HasPrefix(example, `{"type":`) {
				r.compare(name, all[name].got, all[name].status, example)
			}
		}
	})
}

// shownOnce returns the answer to a repeated request whose first answer showed a secret.
func (r *rig) shownOnce() answer {
	r.t.Helper()
	r.once("secret", "POST", "/api/users/@me/keys", `{"scopes":["*"]}`)
	return r.once("secret", "POST", "/api/users/@me/keys", `{"scopes":["*"]}`)
}

// sentTwice returns the answer to another request with the same Idempotency-Key.
func (r *rig) sentTwice() answer {
	r.t.Helper()
	r.once("twice", "POST", "/sites", `{"name":"x"}`)
	return r.once("twice", "POST", "/sites", `{"name":"y"}`)
}

// throttled returns the answer to a key that has used up its requests.
func (r *rig) throttled() answer {
	r.t.Helper()
	limited := *r.api
	limited.RateLimit = 6000
	handler := limited.Handler(func(*wire.Mux) {})
	now := r.db.Now()
	r.db.Now = func() time.Time { return now }
	for range limited.RateLimit {
		handler.ServeHTTP(httptest.NewRecorder(), r.request("GET", "", ""))
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r.request("GET", "", ""))
	return answer{w.Code, strings.TrimSuffix(w.Body.String(), "\n"), w.Header()}
}

// The example of a source is the result of compiling its files, except for the bundle's url.
func TestExampleOfSource(t *testing.T) {
	place := regexp.MustCompile(`"https://[^/]+/apps/[A-Z2-7]{26}/`)
	doc := readDocument(t)
	each(t, func(r *rig) {
		_, example, _ := strings.Cut(compact(r.t, doc.Components.Responses["AppSource"].Content["application/json"].Example), `"source":`)
		files := `{"source":` + between(example, "", `,"source_files"`) + `}`
		got := r.send(r.key, "PATCH", apps+r.app(`{"name":"x"}`)+"/update_source", files)
		_, got.body, _ = strings.Cut(got.body, `"source":`)
		got.body = place.ReplaceAllString(got.body, `"`)
		r.compare("source", got, http.StatusOK, place.ReplaceAllString(example, `"`))
	})
}

func compact(tb testing.TB, text []byte) string {
	tb.Helper()
	var b bytes.Buffer
	if len(text) == 0 {
		return ""
	}
	if err := json.Compact(&b, text); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}
