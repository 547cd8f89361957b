package openapitest_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"foyer/internal/face/openapi/openapitest"
)

const pets = `
openapi: 3.1.0
paths:
  /pets:
    get:
      operationId: listPets
      security: [{apiKey: ['pet:read']}]
      responses:
        '200': {$ref: '#/components/responses/Pet'}
        '429': {$ref: '#/components/responses/Throttled'}
    post:
      operationId: createPet
      security: [{apiKey: ['pet:write']}]
      responses:
        '204': {$ref: '#/components/responses/Nothing'}
  /pets/{id}:
    parameters: [{name: id, in: path}]
    delete:
      operationId: deletePet
      responses:
        '204': {$ref: '#/components/responses/Nothing'}
  /pets/count:
    get:
      operationId: countPets
      responses:
        '200': {$ref: '#/components/responses/Text'}
components:
  headers:
    Retry-After: {required: true, schema: {type: integer, minimum: 1}}
    RateLimit: {schema: {type: string, pattern: '^r='}}
  responses:
    Pet: &pet
      headers:
        RateLimit: {$ref: '#/components/headers/RateLimit'}
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Pet'}
    Throttled:
      headers:
        Retry-After: {$ref: '#/components/headers/Retry-After'}
      content:
        application/json:
          schema: {type: object}
    Nothing: {description: Nothing.}
    Text:
      content:
        text/plain:
          schema: {type: string}
    NotFound: *pet
    MethodNotAllowed: *pet
  schemas:
    Pet:
      type: object
      required: [id, born]
      properties:
        id: {type: string, format: uuid}
        born: {type: [string, 'null'], format: date-time}
      additionalProperties: false
`

const (
	rex       = `{"id":"01981f10-02aa-7c1d-8b53-9d6f4f0f7e20","born":null}`
	jsonType  = "application/json"
	plainType = "text/plain; charset=utf-8"
)

// recorder is a test that records failures instead of reporting them.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, _ ...any) { r.failures = append(r.failures, format) }

func TestCheck(t *testing.T) {
	t.Parallel()
	checker, err := openapitest.NewChecker([]byte(pets))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		method, path string
		status       int
		header       http.Header
		body         string
		fits         bool
	}{
		"described":            {"GET", "/pets", 200, header(jsonType), rex, true},
		"trailing slash":       {"GET", "/pets/", 200, header(jsonType), rex, true},
		"query":                {"GET", "/pets?limit=1", 200, header(jsonType), rex, true},
		"head":                 {"HEAD", "/pets", 200, header(jsonType), "", true},
		"path parameter":       {"DELETE", "/pets/7", 204, header(""), "", true},
		"plain text":           {"GET", "/pets/count", 200, header(plainType), "3", true},
		"unknown path":         {"GET", "/dogs", 404, header(jsonType), rex, true},
		"unknown method":       {"PUT", "/pets", 405, header(jsonType), rex, true},
		"retry":                {"GET", "/pets", 429, header(jsonType, "Retry-After", "3"), `{}`, true},
		"optional header":      {"GET", "/pets", 200, header(jsonType, "RateLimit", "r=1"), rex, true},
		"undescribed status":   {"GET", "/pets", 201, header(jsonType), rex, false},
		"404 on a known path":  {"GET", "/pets", 404, header(jsonType), rex, false},
		"405 on an operation":  {"GET", "/pets", 405, header(jsonType), rex, false},
		"success elsewhere":    {"GET", "/dogs", 200, header(jsonType), rex, false},
		"literal beats {id}":   {"DELETE", "/pets/count", 204, header(""), "", false},
		"empty parameter":      {"DELETE", "/pets//", 204, header(""), "", false},
		"missing field":        {"GET", "/pets", 200, header(jsonType), `{"born":null}`, false},
		"extra field":          {"GET", "/pets", 200, header(jsonType), strings.Replace(rex, "{", `{"x":1,`, 1), false},
		"null":                 {"GET", "/pets", 200, header(jsonType), `{"id":null,"born":null}`, false},
		"wrong format":         {"GET", "/pets", 200, header(jsonType), `{"id":"7","born":null}`, false},
		"wrong date":           {"GET", "/pets", 200, header(jsonType), strings.Replace(rex, "null", `"today"`, 1), false},
		"two values":           {"GET", "/pets", 200, header(jsonType), rex + rex, false},
		"not JSON":             {"GET", "/pets", 200, header(jsonType), `<p>`, false},
		"wrong media type":     {"GET", "/pets", 200, header(plainType), rex, false},
		"no media type":        {"GET", "/pets", 200, header(""), rex, false},
		"body on 204":          {"DELETE", "/pets/7", 204, header(""), "gone", false},
		"body on HEAD":         {"HEAD", "/pets", 200, header(jsonType), rex, false},
		"missing header":       {"GET", "/pets", 429, header(jsonType), `{}`, false},
		"wrong header":         {"GET", "/pets", 429, header(jsonType, "Retry-After", "soon"), `{}`, false},
		"header out of bounds": {"GET", "/pets", 429, header(jsonType, "Retry-After", "0"), `{}`, false},
		"undescribed header":   {"GET", "/pets", 200, header(jsonType, "Retry-After", "3"), rex, false},
		"wrong text header":    {"GET", "/pets", 200, header(jsonType, "RateLimit", "1"), rex, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			checker.Check(r, test.method, test.path, test.status, test.header, []byte(test.body))
			if fits := len(r.failures) == 0; fits != test.fits {
				t.Errorf("fits: %v, want %v", fits, test.fits)
			}
		})
	}
}

func header(contentType string, more ...string) http.Header {
	h := http.Header{}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	for i := 0; i < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

func TestDocumentReachesNothingOutside(t *testing.T) {
	t.Parallel()
	outside := strings.Replace(pets, "'#/components/schemas/Pet'", "'file:///etc/hostname'", 1)
	checker, err := openapitest.NewChecker([]byte(outside))
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{TB: t}
	checker.Check(r, "GET", "/pets", 200, header(jsonType), []byte(rex))
	if len(r.failures) != 1 {
		t.Errorf("%d failures, want 1", len(r.failures))
	}
}

func TestOperations(t *testing.T) {
	t.Parallel()
	got := openapitest.Operations(t, []byte(pets))
	want := []openapitest.Operation{
		{ID: "listPets", Method: "GET", Path: "/pets", Scope: "pet:read"},
		{ID: "createPet", Method: "POST", Path: "/pets", Scope: "pet:write"},
		{ID: "countPets", Method: "GET", Path: "/pets/count"},
		{ID: "deletePet", Method: "DELETE", Path: "/pets/{id}"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
