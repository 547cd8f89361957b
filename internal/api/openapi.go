package api

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"net/http"
	"sync"

	"foyer/internal/openapi"
	"foyer/internal/wire"
)

//go:embed openapi.yaml
var openAPI []byte

// OpenAPI returns the public contract of the API, as YAML. It must not be
// changed.
func OpenAPI() []byte { return openAPI }

// OpenAPIYAML serves the contract as it is kept.
func OpenAPIYAML() http.Handler {
	return document{contentType: "application/yaml", body: func() ([]byte, error) { return openAPI, nil }}
}

// OpenAPIJSON serves the contract as JSON.
func OpenAPIJSON() http.Handler {
	return document{contentType: "application/json", body: sync.OnceValues(func() ([]byte, error) { return openapi.JSON(openAPI) })}
}

// Docs serves the contract as a page for people, with commands for the server at baseURL.
func Docs(baseURL string) http.Handler {
	return document{
		contentType: "text/html; charset=utf-8",
		policy:      openapi.PagePolicy(),
		body:        sync.OnceValues(func() ([]byte, error) { return openapi.Page(openAPI, baseURL) }),
	}
}

// document is a form of the contract. Its body is made when first asked for, so
// that it costs nothing at start.
type document struct {
	contentType string
	policy      string // Content-Security-Policy, if any
	body        func() ([]byte, error)
}

// ServeHTTP answers GET and HEAD.
func (d document) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := d.body()
	if err != nil { // never: the document is part of the program, and a test reads it
		http.Error(w, "Something went wrong on our side.", http.StatusInternalServerError)
		return
	}
	if d.policy != "" {
		w.Header().Set("Content-Security-Policy", d.policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
	}
	c := content{body: body, tag: fmt.Sprintf("%x", sha256.Sum256(body)), mediaType: d.contentType, cacheControl: "no-cache"}
	if err := c.write(w, r); err != nil {
		_ = wire.WriteError(w, err)
	}
}
