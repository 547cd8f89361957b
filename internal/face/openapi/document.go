// Package openapi turns an OpenAPI document in YAML into three other forms: JSON for programs, HTML for people, and the
// names that each operation knows. It runs before the server is built.
package openapi

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document has the parts of an OpenAPI document that its other forms need.
type document struct {
	Info struct {
		Title, Version, Summary, Description string
	}
	Tags       []tag
	Paths      ordered[pathItem]
	Components components
}

func read(source []byte) (*document, error) {
	var d document
	if err := yaml.Unmarshal(source, &d); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	return &d, nil
}

type components struct {
	Parameters    ordered[parameter]
	RequestBodies ordered[content] `yaml:"requestBodies"`
	Responses     ordered[content]
	Schemas       ordered[schema]
}

type tag struct {
	Name, Description string
}

type pathItem struct {
	Parameters               []parameter
	Get, Post, Patch, Delete *operation
}

type operation struct {
	ID                   string `yaml:"operationId"`
	Tags                 []string
	Summary, Description string
	Security             []map[string][]string
	Parameters           []parameter
	RequestBody          *content `yaml:"requestBody"`
	Responses            ordered[content]
	Samples              samples `yaml:"x-samples"`
}

// samples are the parts of code samples that do not follow from the rest of an operation.
type samples struct {
	Foyer string // the command, without the program's name; "": none
	Go    string // the call of the client; "": none
}

type parameter struct {
	Ref         string `yaml:"$ref"`
	Name, In    string
	Required    bool
	Description string
	Schema      schema
	Example     yaml.Node
}

// content is a request body or an answer.
type content struct {
	Ref         string `yaml:"$ref"`
	Description string
	Content     ordered[media]
}

type media struct {
	Schema   schema
	Example  yaml.Node
	Examples ordered[example]
}

type example struct{ Value yaml.Node }

type schema struct {
	Ref         string `yaml:"$ref"`
	Type        oneOrMore
	Format      string
	Enum        []yaml.Node
	Const       string
	Default     yaml.Node
	Description string
	Minimum     *int
	MaxLength   *int `yaml:"maxLength"`
	Items       *schema
	AllOf       []schema `yaml:"allOf"`
	OneOf       []schema `yaml:"oneOf"`
	Required    []string
	Properties  ordered[schema]
	Additional  yaml.Node `yaml:"additionalProperties"` // a schema, or true or false
}

// oneOrMore is a text or a list of texts, as in type: string and type: [string, 'null'].
type oneOrMore []string

// UnmarshalYAML reads either form.
func (o *oneOrMore) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*o = oneOrMore{node.Value}
		return nil
	}
	return node.Decode((*[]string)(o))
}

// ordered is a YAML mapping that keeps the order it was written in.
type ordered[T any] []entry[T]

type entry[T any] struct {
	Key   string
	Value T
}

// UnmarshalYAML reads a mapping.
func (o *ordered[T]) UnmarshalYAML(node *yaml.Node) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		e := entry[T]{Key: node.Content[i].Value}
		if err := node.Content[i+1].Decode(&e.Value); err != nil {
			return err
		}
		*o = append(*o, e)
	}
	return nil
}

// named returns the value under the last part of ref, such as App in
// #/components/schemas/App.
func (o ordered[T]) named(ref string) (T, error) {
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	for _, e := range o {
		if e.Key == name {
			return e.Value, nil
		}
	}
	var none T
	return none, fmt.Errorf("the document has no %s", ref)
}
