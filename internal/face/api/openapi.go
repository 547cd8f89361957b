package api

import (
	_ "embed"
	"net/http"

	"foyer/internal/base/compress"
	"foyer/internal/base/digest"
	"foyer/internal/face/wire"
)

//go:generate go run ../openapi/generate openapi.yaml
//go:generate go generate ../console/guide

// The public contract of the API, and the forms that go generate makes from it.
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

// OpenAPIDocument returns the contract as JSON.
func OpenAPIDocument() compress.Text { return openAPIJSON }

// OpenAPIYAML serves the contract as YAML.
func OpenAPIYAML() http.Handler { return document(openAPIYAML, "application/yaml") }

// OpenAPIJSON serves the contract as JSON.
func OpenAPIJSON() http.Handler { return document(openAPIJSON, "application/json") }

// OpenAPIPage returns the contract as HTML pages for people; see openapi.Page.
func OpenAPIPage() compress.Text { return openAPIPage }

func document(text compress.Text, mediaType string) wire.Kept {
	return wire.Kept{Text: text, Tag: digest.SHA256(text.Compressed()), MediaType: mediaType, CacheControl: "no-cache"}
}
