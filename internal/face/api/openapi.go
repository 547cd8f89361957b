package api

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"net/http"
	"sync"

	"foyer/internal/base/compress"
	"foyer/internal/face/wire"
)

//go:generate go run ../openapi/generate openapi.yaml
//go:generate go generate ../console/guide

// The public contract of the API, and what go generate makes of it.
var (
	//go:embed openapi.yaml.gz
	packedYAML []byte
	//go:embed openapi.json.gz
	packedJSON []byte
	//go:embed openapi.html.gz
	packedPage []byte
)

var (
	openAPIYAML = compress.Embedded(packedYAML)
	openAPIJSON = compress.Embedded(packedJSON)
	openAPIPage = compress.Embedded(packedPage)
)

// OpenAPI returns the public contract of the API, as YAML. It must not be changed.
func OpenAPI() []byte { return openAPIYAML.Plain() }

// OpenAPIDocument returns the contract as JSON. It must not be changed.
func OpenAPIDocument() []byte { return openAPIJSON.Plain() }

// OpenAPIYAML serves the contract as it is kept.
func OpenAPIYAML() http.Handler { return newDocument("application/yaml", openAPIYAML) }

// OpenAPIJSON serves the contract as JSON.
func OpenAPIJSON() http.Handler { return newDocument("application/json", openAPIJSON) }

// OpenAPIPage is what a page for people shows of the contract, as HTML; see openapi.Page.
func OpenAPIPage() compress.Text { return openAPIPage }

// document is a form of the contract. What it needs is made when it is first asked for.
type document struct {
	contentType string
	text        compress.Text
	tag         func() string
}

func newDocument(contentType string, text compress.Text) document {
	tag := sync.OnceValue(func() string { return fmt.Sprintf("%x", sha256.Sum256(text.Plain())) })
	return document{contentType: contentType, text: text, tag: tag}
}

// ServeHTTP answers GET and HEAD.
func (d document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := content{body: d.text.Plain(), tag: d.tag(), mediaType: d.contentType, cacheControl: "no-cache"}
	w.Header().Set("Vary", "Accept-Encoding")
	if wire.AcceptsGzip(r) {
		c.body, c.tag, c.coding = d.text.Compressed(), c.tag+"-gzip", "gzip"
	}
	if err := c.write(w, r); err != nil {
		_ = wire.WriteError(w, err)
	}
}
