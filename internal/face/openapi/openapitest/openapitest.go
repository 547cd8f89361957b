// Package openapitest checks a server's answers against its OpenAPI document, so that tests notice when one changes
// without the other.
package openapitest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"foyer/internal/face/openapi"
)

// Operation is one method on one path of the document.
type Operation struct {
	ID     string
	Method string
	Path   string // with {parameters}, without a trailing slash
	Scope  string // that the key needs; empty: no key
}

// Operations lists the operations of a YAML document by path, then method.
func Operations(tb testing.TB, document []byte) []Operation {
	tb.Helper()
	doc, _, err := parse(document)
	if err != nil {
		tb.Fatal(err)
	}
	var all []Operation
	for path, item := range doc.Paths {
		for method, op := range item {
			all = append(all, Operation{ID: op.OperationID, Method: strings.ToUpper(method), Path: path, Scope: op.scope()})
		}
	}
	slices.SortFunc(all, func(a, b Operation) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
	return all
}

// description has the parts of a document that the checks need. It is read from JSON, which the schemas are compiled
// from too.
type description struct {
	Paths      map[string]pathItem `json:"paths"`
	Components struct {
		Headers   map[string]header   `json:"headers"`
		Responses map[string]response `json:"responses"`
	} `json:"components"`
}

// A pathItem holds the operations of a path by their methods.
type pathItem map[string]operation

type operation struct {
	OperationID string                `json:"operationId"`
	Security    []map[string][]string `json:"security"`
	Responses   map[string]response   `json:"responses"`
}

type response struct {
	Ref     string              `json:"$ref"`
	Headers map[string]header   `json:"headers"`
	Content map[string]struct{} `json:"content"`
}

type header struct {
	Ref      string `json:"$ref"`
	Required bool   `json:"required"`
	Schema   struct {
		Type string `json:"type"`
	} `json:"schema"`
}

// UnmarshalJSON reads the operations of a path and ignores the rest.
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

// parse reads a YAML document, and also returns it as JSON.
func parse(document []byte) (d description, text []byte, err error) {
	if text, err = openapi.JSON(document); err == nil {
		err = json.Unmarshal(text, &d)
	}
	return d, text, err
}
