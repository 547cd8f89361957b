package openapi

import (
	"encoding/json"
	"net/http"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Names lists, for each operation of a document by path and method, the query parameters and body fields it knows:
// those of its request, and those of its answer, which clients may send back. A field with an object, or an array of
// objects, has their fields.
func Names(source []byte) ([]byte, error) {
	d, err := read(source)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]known{}
	for _, path := range d.Paths {
		all[path.Key] = map[string]known{}
		for _, m := range path.Value.methods() {
			if m.Value == nil {
				continue
			}
			if all[path.Key][m.Key], err = d.known(m.Key, m.Value); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(all)
}

// known has the names that an operation knows.
type known struct {
	Fields fields   `json:"fields"` // nil: a GET has no body
	Query  []string `json:"query"`
}

// fields are names, each with the names in its nested objects; * stands for any name.
type fields map[string]fields

func (d *document) known(method string, op *operation) (k known, err error) {
	for _, p := range op.Parameters {
		if p, err = d.resolveParameter(p); err != nil {
			return k, err
		}
		if p.In == "query" {
			k.Query = append(k.Query, p.Name)
		}
	}
	slices.Sort(k.Query)
	if method == http.MethodGet {
		return k, nil
	}
	k.Fields = fields{}
	if op.RequestBody != nil {
		body, err := d.Components.RequestBodies.named(op.RequestBody.Ref)
		if err != nil {
			return k, err
		}
		d.addContent(k.Fields, body)
	}
	for _, r := range op.Responses {
		answer, err := d.Components.Responses.named(r.Value.Ref)
		if err != nil {
			return k, err
		}
		if r.Key == "200" || r.Key == "201" {
			d.addContent(k.Fields, answer)
		}
	}
	return k, nil
}

func (d *document) addContent(names fields, c content) {
	for _, m := range c.Content {
		d.addFields(names, m.Value.Schema)
	}
}

// addFields adds the names of all members of the values that a schema describes.
func (d *document) addFields(names fields, s schema) {
	s, _ = d.resolve(s) // Page reports a schema that is missing
	for _, p := range s.Properties {
		if names[p.Key] == nil {
			names[p.Key] = fields{}
		}
		d.addFields(names[p.Key], p.Value)
	}
	if s.Items != nil {
		d.addFields(names, *s.Items)
	}
	var each schema
	if s.Additional.Kind == yaml.MappingNode && s.Additional.Decode(&each) == nil {
		inside := fields{}
		if d.addFields(inside, each); len(inside) > 0 {
			names["*"] = inside
		}
	}
	for _, part := range slices.Concat(s.AllOf, s.OneOf) {
		d.addFields(names, part)
	}
}
