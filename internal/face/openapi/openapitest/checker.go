package openapitest

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Checker checks answers against one document. It is safe for concurrent use.
type Checker struct {
	doc      description
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	schemas  map[string]*jsonschema.Schema // by their JSON pointers in the document
}

// documentURL names the document within the schema compiler, which fetches nothing from it.
const documentURL = "openapi.json"

// NewChecker reads a YAML document.
func NewChecker(document []byte) (*Checker, error) {
	doc, text, err := parse(document)
	if err != nil {
		return nil, err
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(documentURL, tree); err != nil {
		return nil, err
	}
	return &Checker{doc: doc, compiler: compiler, schemas: map[string]*jsonschema.Schema{}}, nil
}

// noLoader keeps a document from reaching files and hosts: the compiler's own loader reads any file that a $ref names.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the document refers to %s, outside of itself", url)
}

// Check fails the test unless the document describes the answer: its status, headers, media type and body, which the
// caller has already read.
func (c *Checker) Check(tb testing.TB, method, path string, status int, header http.Header, body []byte) {
	tb.Helper()
	if err := c.check(method, path, status, header, body); err != nil {
		tb.Errorf("%s %s answered %d, which the document does not describe: %v\n%s", method, path, status, err, body)
	}
}

// CheckValue fails the test unless a JSON text fits the schema at a JSON pointer into the document, such as
// #/components/schemas/App.
func (c *Checker) CheckValue(tb testing.TB, pointer string, text []byte) {
	tb.Helper()
	if err := c.Fits(pointer, text); err != nil {
		tb.Errorf("%v\n%s", err, text)
	}
}

// Fits returns an error that says why a JSON text does not fit the schema at a JSON pointer into the document.
func (c *Checker) Fits(pointer string, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return c.validate(pointer, value)
}

func (c *Checker) check(method, path string, status int, header http.Header, body []byte) error {
	at, found, err := c.doc.find(method, path, status)
	if err != nil {
		return err
	}
	if err := c.checkHeaders(at, found, header); err != nil {
		return err
	}
	if method == http.MethodHead || len(found.Content) == 0 {
		if len(body) > 0 {
			return errors.New("it has a body")
		}
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("Content-Type: %w", err)
	}
	if _, ok := found.Content[mediaType]; !ok {
		return fmt.Errorf("Content-Type %s", mediaType)
	}
	if mediaType != "application/json" {
		return nil
	}
	return c.Fits(at+"/content/application~1json/schema", body)
}

// forBrowsers are headers that errors may have without describing them: only browsers use them.
var forBrowsers = []string{"Cache-Control", "Access-Control-Allow-Origin"}

func (c *Checker) checkHeaders(at string, found response, headers http.Header) error {
	for name, h := range found.Headers {
		pointer := at + "/headers/" + name
		if h.Ref != "" {
			pointer, h = h.Ref, c.doc.Components.Headers[lastPart(h.Ref)]
		}
		text := headers.Get(name)
		if text == "" && !h.Required {
			continue
		}
		if err := c.validate(pointer+"/schema", h.value(text)); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	for name := range c.doc.Components.Headers {
		if _, described := found.Headers[name]; !described && headers.Get(name) != "" && !slices.Contains(forBrowsers, name) {
			return fmt.Errorf("header %s is not described", name)
		}
	}
	return nil
}

// value converts a header's text to the type in its schema.
func (h header) value(text string) any {
	if number, err := strconv.Atoi(text); err == nil && h.Schema.Type == "integer" {
		return number
	}
	return text
}

// validate checks a value against the schema at a JSON pointer into the document.
func (c *Checker) validate(pointer string, value any) error {
	schema, err := c.schema(pointer)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (c *Checker) schema(pointer string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if schema, ok := c.schemas[pointer]; ok {
		return schema, nil
	}
	schema, err := c.compiler.Compile(documentURL + pointer)
	if err == nil {
		c.schemas[pointer] = schema
	}
	return schema, err
}

// find returns the described answer and the JSON pointer to it. Otherwise it allows only 404 on an unknown path and
// 405 on a known one.
func (d *description) find(method, path string, status int) (string, response, error) {
	item, known := d.item(path)
	described := item[strings.ToLower(strings.Replace(method, http.MethodHead, http.MethodGet, 1))]
	ref := described.Responses[strconv.Itoa(status)].Ref
	switch {
	case ref != "":
	case !known && status == http.StatusNotFound:
		ref = "#/components/responses/NotFound"
	case known && described.OperationID == "" && status == http.StatusMethodNotAllowed:
		ref = "#/components/responses/MethodNotAllowed"
	default:
		return "", response{}, errors.New("no operation has this status")
	}
	found, ok := d.Components.Responses[lastPart(ref)]
	if !ok {
		return "", response{}, fmt.Errorf("the document has no %s", ref)
	}
	return ref, found, nil
}

// item returns the document's item for a path, with or without a trailing slash. The template with the fewest
// parameters wins.
func (d *description) item(path string) (pathItem, bool) {
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimSuffix(path, "/")
	best, fewest := pathItem(nil), -1
	for template, item := range d.Paths {
		if parameters := strings.Count(template, "{"); matches(template, path) && (fewest < 0 || parameters < fewest) {
			best, fewest = item, parameters
		}
	}
	return best, best != nil
}

func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (got[i] == "" || !strings.HasPrefix(want[i], "{")) {
			return false
		}
	}
	return true
}

func lastPart(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }
