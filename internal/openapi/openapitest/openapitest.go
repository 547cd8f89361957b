// Package openapitest holds what a server answers against its OpenAPI
// document, so that tests notice when one of them moves without the other.
package openapitest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"foyer/internal/openapi"
)

// Operation is one method on one path of the document.
type Operation struct {
	ID     string
	Method string
	Path   string // with {parameters}, without a trailing slash
	Scope  string // what the key needs; empty: no key
}

// Operations lists the operations of a YAML document by path, then method.
func Operations(t testing.TB, document []byte) []Operation {
	t.Helper()
	var all []Operation
	for path, item := range parse(t, document).Paths {
		for method, op := range item {
			all = append(all, Operation{ID: op.OperationID, Method: strings.ToUpper(method), Path: path, Scope: op.scope()})
		}
	}
	slices.SortFunc(all, func(a, b Operation) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
	return all
}

// description is what the checks need of a document. It is read as JSON, since
// schemas are compiled from that.
type description struct {
	Paths      map[string]pathItem
	Components struct {
		Headers   map[string]header
		Responses map[string]response
	}
}

// A pathItem holds the operations of a path by their methods, and under
// parameters something that is none.
type pathItem map[string]operation

type operation struct {
	OperationID string
	Security    []map[string][]string
	Responses   map[string]response
}

type response struct {
	Ref     string `json:"$ref"`
	Headers map[string]header
	Content map[string]struct{}
}

type header struct {
	Ref      string `json:"$ref"`
	Required bool
	Schema   struct{ Type string }
}

// UnmarshalJSON reads the operations of a path and leaves the rest.
func (p *pathItem) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	*p = pathItem{}
	for name, member := range members {
		if name == "parameters" {
			continue
		}
		var op operation
		if err := json.Unmarshal(member, &op); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		(*p)[name] = op
	}
	return nil
}

func (o operation) scope() string {
	for _, requirement := range o.Security {
		for _, scopes := range requirement {
			return strings.Join(scopes, " ")
		}
	}
	return ""
}

func parse(t testing.TB, document []byte) description {
	t.Helper()
	text, err := openapi.JSON(document)
	if err != nil {
		t.Fatal(err)
	}
	var d description
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatalf("read the document: %v", err)
	}
	return d
}
