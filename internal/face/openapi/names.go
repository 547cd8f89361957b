package openapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Names says of each operation of a document, by method and path, which parameters of the query
// and which fields it knows: those of its body, and of what it answers, which may be sent back.
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
			if all[strings.ToUpper(method)+" "+path], err = d.known(text); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(all)
}

// known is the names that an operation knows.
type known struct {
	Fields []string `json:"fields"`
	Query  []string `json:"query"`
}

func (d described) known(operation json.RawMessage) (known, error) {
	var o struct {
		Parameters  []reference          `json:"parameters"`
		RequestBody reference            `json:"requestBody"`
		Responses   map[string]reference `json:"responses"`
	}
	if err := json.Unmarshal(operation, &o); err != nil {
		return known{}, err
	}
	query, fields := map[string]bool{}, map[string]bool{}
	for _, p := range o.Parameters {
		if p = d.find(p); p.In == "query" {
			query[p.Name] = true
		}
	}
	d.addFields(fields, d.find(o.RequestBody))
	for _, status := range []string{"200", "201"} {
		d.addFields(fields, d.find(o.Responses[status]))
	}
	return known{Fields: slices.Sorted(maps.Keys(fields)), Query: slices.Sorted(maps.Keys(query))}, nil
}

// described is what Names needs of a document.
type described struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components map[string]map[string]reference       `json:"components"`
}

// reference is a parameter, body, response or schema, or where it is.
type reference struct {
	Ref        string                     `json:"$ref"`
	Name       string                     `json:"name"`
	In         string                     `json:"in"`
	Content    map[string]typed           `json:"content"`
	Properties map[string]json.RawMessage `json:"properties"`
	Items      *reference                 `json:"items"`
	AllOf      []reference                `json:"allOf"`
	OneOf      []reference                `json:"oneOf"`
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
func (d described) addFields(names map[string]bool, r reference) {
	r = d.find(r)
	for name := range r.Properties {
		names[name] = true
	}
	for _, content := range r.Content {
		d.addFields(names, content.Schema)
	}
	if r.Items != nil {
		d.addFields(names, *r.Items)
	}
	for _, part := range slices.Concat(r.AllOf, r.OneOf) {
		d.addFields(names, part)
	}
}
