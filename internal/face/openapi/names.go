package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Names says of each operation of a document, by method and path, which parameters of the query
// and which fields of a body it knows: those that it takes, and those that it answers, which may be
// sent back; a field that is an object, or an array of them, with the fields of these.
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
			if method == "get" { // has no body
				k.Fields = nil
			}
			all[strings.ToUpper(method)+" "+path] = k
		}
	}
	return json.Marshal(all)
}

// known is the names that an operation knows.
type known struct {
	Fields fields   `json:"fields"`
	Query  []string `json:"query"`
}

// fields are names, each with those in it; * stands for whatever names there are.
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

// described is what Names needs of a document.
type described struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components map[string]map[string]reference       `json:"components"`
}

// reference is a parameter, body, response or schema, or where it is.
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

// addFields adds the names of all members that what r describes can have.
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
