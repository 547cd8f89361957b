package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Names lists, for each operation of a document by method and path, the query parameters and body fields it knows:
// those of its request, and those of its answer, which clients may send back. A field with an object, or an array of
// objects, has their fields.
func Names(document []byte) ([]byte, error) {
	text, err := JSON(document)
	if err != nil {
		return nil, err
	}
	var d described
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	all := map[string]known{}
	for path, item := range d.Paths {
		for method, text := range item {
			if method == "parameters" {
				continue
			}
			k, err := d.known(text)
			if err != nil {
				return nil, err
			}
			if method == "get" { // a GET has no body
				k.Fields = nil
			}
			all[strings.ToUpper(method)+" "+path] = k
		}
	}
	return json.Marshal(all)
}

// known has the names that an operation knows.
type known struct {
	Fields fields   `json:"fields"`
	Query  []string `json:"query"`
}

// fields are names, each with the names in its nested objects; * stands for any name.
type fields map[string]fields

func (d described) known(operation json.RawMessage) (known, error) {
	var o struct {
		Parameters  []reference          `json:"parameters"`
		RequestBody reference            `json:"requestBody"`
		Responses   map[string]reference `json:"responses"`
	}
	if err := json.Unmarshal(operation, &o); err != nil {
		return known{}, err
	}
	query, taken := map[string]bool{}, fields{}
	for _, p := range o.Parameters {
		if p = d.find(p); p.In == "query" {
			query[p.Name] = true
		}
	}
	d.addFields(taken, o.RequestBody)
	for _, status := range []string{"200", "201"} {
		d.addFields(taken, o.Responses[status])
	}
	return known{Fields: taken, Query: slices.Sorted(maps.Keys(query))}, nil
}

// described has the parts of a document that Names needs.
type described struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components map[string]map[string]reference       `json:"components"`
}

// reference is a parameter, body, response or schema, or a $ref to one.
type reference struct {
	Ref        string               `json:"$ref"`
	Name       string               `json:"name"`
	In         string               `json:"in"`
	Content    map[string]typed     `json:"content"`
	Properties map[string]reference `json:"properties"`
	Items      *reference           `json:"items"`
	AllOf      []reference          `json:"allOf"`
	OneOf      []reference          `json:"oneOf"`
	Additional json.RawMessage      `json:"additionalProperties"` // a schema, or true or false
}

type typed struct {
	Schema reference `json:"schema"`
}

func (d described) find(r reference) reference {
	parts := strings.Split(r.Ref, "/") // #/components/KIND/NAME
	if len(parts) != 4 {
		return r
	}
	return d.Components[parts[2]][parts[3]]
}

// addFields adds the names of all members of the values that r describes.
func (d described) addFields(names fields, r reference) {
	r = d.find(r)
	for name, property := range r.Properties {
		if names[name] == nil {
			names[name] = fields{}
		}
		d.addFields(names[name], property)
	}
	for _, content := range r.Content {
		d.addFields(names, content.Schema)
	}
	if r.Items != nil {
		d.addFields(names, *r.Items)
	}
	var each reference
	if inside := (fields{}); json.Unmarshal(r.Additional, &each) == nil {
		if d.addFields(inside, each); len(inside) > 0 {
			names["*"] = inside
		}
	}
	for _, part := range slices.Concat(r.AllOf, r.OneOf) {
		d.addFields(names, part)
	}
}
