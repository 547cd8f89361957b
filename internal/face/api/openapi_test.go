package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"foyer/internal/base/compress"
	"foyer/internal/face/api"
	"foyer/internal/face/openapi"
	"foyer/internal/face/openapi/openapitest"
)

func getDocument(t *testing.T, h http.Handler, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// decodeDocument reads the parts of the document that v has.
func decodeDocument(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(getDocument(t, api.OpenAPIJSON(), http.Header{}).Body.Bytes(), v); err != nil {
		t.Fatal(err)
	}
}

func TestDocumentIsServed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler           http.Handler
		contentType, says string
	}{
		"yaml": {api.OpenAPIYAML(), "application/yaml", "openapi: 3.1.0"},
		"json": {api.OpenAPIJSON(), "application/json", `"openapi": "3.1.0"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := getDocument(t, test.handler, http.Header{})
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != test.contentType {
				t.Errorf("answered %d %q", w.Code, w.Header().Get("Content-Type"))
			}
			if !strings.Contains(w.Body.String(), test.says) {
				t.Errorf("does not say %q", test.says)
			}
			again := getDocument(t, test.handler, http.Header{"If-None-Match": {w.Header().Get("Etag")}})
			if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
				t.Errorf("asked again: answered %d with %d bytes", again.Code, again.Body.Len())
			}
			if whole := getDocument(t, test.handler, http.Header{"Range": {"bytes=99999999-"}}); whole.Code != http.StatusOK || whole.Body.Len() != w.Body.Len() {
				t.Errorf("a range: answered %d with %d bytes", whole.Code, whole.Body.Len())
			}
			other := getDocument(t, test.handler, http.Header{"If-Match": {`"x"`}})
			if other.Code != http.StatusPreconditionFailed || !strings.Contains(other.Body.String(), `"code":"precondition_failed"`) {
				t.Errorf("another one: answered %d %s", other.Code, other.Body)
			}
		})
	}
}

// Each anchor of the document has a unique name: some YAML parsers refuse duplicates.
func TestAnchorsAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^[^#']*: &(\w+)`).FindAllStringSubmatch(getDocument(t, api.OpenAPIYAML(), http.Header{}).Body.String(), -1) {
		if seen[m[1]] {
			t.Errorf("&%s is there twice", m[1])
		}
		seen[m[1]] = true
	}
	if len(seen) == 0 {
		t.Error("no anchors")
	}
}

// The embedded forms are up to date with the document.
func TestGenerated(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	compressed := func(form func([]byte) ([]byte, error)) func([]byte) ([]byte, error) {
		return func(document []byte) ([]byte, error) {
			made, err := form(document)
			return compress.Gzip(made), err
		}
	}
	asItIs := func(document []byte) ([]byte, error) { return document, nil }
	for name, form := range map[string]func([]byte) ([]byte, error){
		"openapi.yaml.gz": compressed(asItIs), "openapi.json.gz": compressed(openapi.JSON), "openapi.html.gz": compressed(openapi.Page),
		"openapi.names.json": openapi.Names,
	} {
		want, err := form(document)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not up to date (%v): run go generate ./internal/face/api", name, err)
		}
	}
}

func TestPageShowsEveryOperation(t *testing.T) {
	t.Parallel()
	page := string(api.OpenAPIPage().Plain())
	for _, o := range openapitest.Operations(t, api.OpenAPI()) {
		if !strings.Contains(page, `<article class="operation" id="`+o.ID+`">`) {
			t.Errorf("the page does not show %s", o.ID)
		}
	}
}

// A request is accepted if and only if it fits the schema. These are cases where the two once disagreed.
func TestSchemasOfRequests(t *testing.T) {
	const (
		keys     = "/api/users/@me/keys"
		schemas  = "#/components/schemas/"
		activity = "#/paths/~1api~1organizations~1%7Borganization_id%7D~1pipeline_frontend_apps~1activity/get/parameters/"
	)
	files := func(n int) string { // members that delete n files
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"f%d.md":null`, i)
		}
		return b.String()[1:]
	}
	each(t, func(r *rig) {
		id := r.app(`{"name":"x"}`)
		for _, c := range []struct{ method, path, place, body string }{
			{"POST", keys, schemas + "KeyDraft", `{"scopes":[]}`},
			{"POST", keys, schemas + "KeyDraft", `{"scopes":["*"],"organization_id":null,"expires_at":null}`},
			{"POST", keys, schemas + "KeyDraft", `{"scopes":["*"],"expires_at":""}`},
			{"POST", invites, schemas + "InviteDraft", `{"target_email":"a@x.example","level":15.0}`},
			{"POST", invites, schemas + "InviteDraft", `{"target_email":"a@x.example","level":"15.0"}`},
			{"POST", invites, schemas + "InviteDraft", `{"target_email":"a@x.example","level":" 15"}`},
			{"POST", apps, schemas + "AppDraft", `{}`},
			{"POST", apps, schemas + "AppDraft", `{"name":"x"}`},
			{"POST", apps, schemas + "AppDraft", `{"plugin_type":"source","site.ts":""}`},
			{"POST", apps, schemas + "AppDraft", `{"plugin_type":null,"plugin.json":"{\"name\":\"x\"}"}`},
			{"POST", apps, schemas + "AppDraft", `{"plugin_type":"inline","source":{"plugin.json":"{\"name\":\"x\"}"}}`},
			{"POST", apps, schemas + "AppDraft", `{"plugin_type":"custom","name":"x"}`},
			{"POST", apps, schemas + "AppDraft", `{"plugin_type":"repository"}`},
			{"POST", apps + id + "/upgrade", schemas + "Upgrade", `{"version":null}`},
			{"POST", apps + id + "/upgrade", schemas + "Upgrade", `{"version":""}`},
			{"PATCH", apps + id + "/update_source", schemas + "SourcePatch", `{"source":{"a.md":"version 1"}}`},
			{"POST", apps + id + "/upgrade", schemas + "Upgrade", `{"version":1}`},
			{"POST", apps + id + "/upgrade", schemas + "Upgrade", `{"version":"1"}`},
			{"POST", apps + id + "/upgrade", schemas + "Upgrade", `{"version":"01"}`},
			{"PATCH", apps + id + "/update_source", schemas + "SourcePatch", `{"source":null}`},
			{"PATCH", apps + id + "/update_source", schemas + "SourcePatch", `{"source":[]}`},
			{"PATCH", apps + id + "/update_source", schemas + "SourcePatch", `{"source":{` + files(800) + `}}`},
			{"PATCH", apps + id + "/update_source", schemas + "SourcePatch", `{"source":{` + files(801) + `}}`},
			{"GET", apps + "activity?user=a@x.example", activity + "3/schema", `"a@x.example"`},
			{"GET", apps + "activity?user=a", activity + "3/schema", `"a"`},
		} {
			body := c.body
			if c.method == "GET" {
				body = ""
			}
			got, unfit := r.send(r.key, c.method, c.path, body), r.checker.Fits(c.place, []byte(c.body))
			if (got.status < 300) != (unfit == nil) {
				r.t.Errorf("%s %s %s: %d, and the schema says %v", c.method, c.path, c.body, got.status, unfit)
			}
		}
	})
}

// Client generators fail on some valid schemas, or generate unusable types for them.
func TestSchemasSuitGenerators(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	decodeDocument(t, &doc)
	checkSchemas(t, "#", doc)
}

func checkSchemas(t *testing.T, at string, node any) {
	t.Helper()
	if items, ok := node.([]any); ok {
		for i, item := range items {
			checkSchemas(t, fmt.Sprintf("%s/%d", at, i), item)
		}
	}
	members, _ := node.(map[string]any)
	properties, _ := members["properties"].(map[string]any)
	if members["patternProperties"] != nil {
		t.Errorf("%s: patternProperties, which clients hold against every field", at)
	}
	if members["default"] != nil && strings.HasPrefix(at, "#/components/schemas/") {
		t.Errorf("%s: a default, which clients take to be always sent; say it in the description", at)
	}
	required, _ := members["required"].([]any)
	conditional := strings.Contains(at, "/then/") || strings.Contains(at, "/else/") || strings.HasSuffix(at, "/then") || strings.HasSuffix(at, "/if")
	for _, name := range required { // generators ignore conditions
		if properties[name.(string)] == nil && !conditional {
			t.Errorf("%s: requires %s, which stays optional in another schema", at, name)
		}
	}
	if types, ok := members["type"].([]any); ok && (len(types) != 2 || types[1] != "null") {
		t.Errorf("%s: type %v; write oneOf, except for [X, 'null']", at, types)
	}
	if members["type"] == "array" && members["items"] == nil {
		t.Errorf("%s: an array without items", at)
	}
	if members["oneOf"] != nil && strings.HasPrefix(at, "#/components/requestBodies/") {
		t.Errorf("%s: a choice without a name; make it a schema of its own", at)
	}
	for name, member := range members {
		if name != "example" && name != "examples" {
			checkSchemas(t, at+"/"+name, member)
		}
	}
}

// Each documented error can happen: a 404 needs a parameter in the path, a 403 for a GET needs a scope or something
// personal, and a 400 about a body needs a body.
func TestAnswersHaveCauses(t *testing.T) {
	t.Parallel()
	doc := readDocument(t)
	for _, o := range openapitest.Operations(t, api.OpenAPI()) {
		answers := doc.operation(t, o).Responses
		if _, notFound := answers[404]; notFound != (strings.Contains(o.Path, "{") && o.ID != "sendBeacon") { // nobody reads the answer to a beacon
			t.Errorf("%s: 404 is %t", o.ID, notFound)
		}
		_, authenticated := answers[401]
		if _, stale := answers[412]; o.Method != "GET" && stale != authenticated { // an object without an ETag matches no If-Match
			t.Errorf("%s: 412 is %t", o.ID, stale)
		}
		signup := strings.HasSuffix(o.Path, "/{token}")
		personal := strings.Contains(o.Path, "/sessions")
		if _, refused := answers[403]; refused && o.Method == "GET" && o.Scope == "" && !signup && !personal {
			t.Errorf("%s: 403 without a cause", o.ID)
		}
		if o.Method == "GET" && strings.HasSuffix(answers[400].Ref, "/Invalid") {
			t.Errorf("%s: 400 about a body", o.ID)
		}
	}
}

// An operation has If-Match if its path leads to an object with an ETag.
func TestIfMatchInDocument(t *testing.T) {
	t.Parallel()
	doc := readDocument(t)
	for _, o := range openapitest.Operations(t, api.OpenAPI()) {
		if _, authenticated := doc.operation(t, o).Responses[401]; o.Method == "GET" || !authenticated {
			continue
		}
		_, below, _ := strings.Cut(o.Path, "{organization_id}")
		tagged := strings.Contains(below, "{") && !strings.HasPrefix(below, "/keys/")
		switch o.ID {
		case "updateOrganization", "updateSelf", "deleteSession":
			tagged = true
		}
		if got := strings.Contains(string(doc.Paths[o.Path][strings.ToLower(o.Method)]), "/parameters/IfMatch"); got != tagged {
			t.Errorf("%s: If-Match is %t", o.ID, got)
		}
	}
}

// Every operation below /api takes Prefer; paths that pages load do not.
func TestPreferInDocument(t *testing.T) {
	t.Parallel()
	doc := readDocument(t)
	for _, o := range openapitest.Operations(t, api.OpenAPI()) {
		if got := strings.Contains(string(doc.Paths[o.Path][strings.ToLower(o.Method)]), "/parameters/Prefer"); got != strings.HasPrefix(o.Path, "/api/") {
			t.Errorf("%s: Prefer is %t", o.ID, got)
		}
	}
}

// docJSON has the parts of the document that the tests need.
type docJSON struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Responses     map[string]docContent `json:"responses"`
		RequestBodies map[string]docContent `json:"requestBodies"`
	} `json:"components"`
}

type docContent struct {
	Content map[string]struct {
		Example  json.RawMessage       `json:"example"`
		Examples map[string]docExample `json:"examples"`
	} `json:"content"`
}

type docExample struct {
	Value json.RawMessage `json:"value"`
}

func readDocument(t *testing.T) docJSON {
	t.Helper()
	var doc docJSON
	decodeDocument(t, &doc)
	return doc
}

type docOperation struct {
	RequestBody docReference         `json:"requestBody"`
	Responses   map[int]docReference `json:"responses"`
}

type docReference struct {
	Ref string `json:"$ref"`
}

func (d docJSON) operation(t *testing.T, o openapitest.Operation) docOperation {
	t.Helper()
	var op docOperation
	if err := json.Unmarshal(d.Paths[o.Path][strings.ToLower(o.Method)], &op); err != nil {
		t.Fatal(err)
	}
	return op
}

// success returns the successful answer of an operation, and a reference to its request body, if any.
func (d docJSON) success(t *testing.T, o openapitest.Operation) (exampleAnswer, string) {
	t.Helper()
	op := d.operation(t, o)
	status := slices.Min(slices.Collect(maps.Keys(op.Responses)))
	name := strings.TrimPrefix(op.Responses[status].Ref, "#/components/responses/")
	return exampleAnswer{status, d.Components.Responses[name].Content["application/json"].Example}, op.RequestBody.Ref
}
