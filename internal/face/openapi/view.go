package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

func (d *document) operation(method, path string, shared []parameter, op *operation) (operationView, error) {
	v := operationView{ID: op.ID, Method: method, Path: path, Summary: op.Summary, Description: op.Description}
	for _, requirement := range op.Security {
		v.Scopes = append(v.Scopes, requirement["apiKey"]...)
	}
	query := url.Values{}
	for _, p := range slices.Concat(shared, op.Parameters) {
		p, err := d.resolveParameter(p)
		if err != nil {
			return v, err
		}
		described, err := d.describe(p.Schema)
		if err != nil {
			return v, err
		}
		v.Parameters = append(v.Parameters, fieldView{
			Name: p.Name, In: p.In, Description: p.Description, Required: p.Required, Type: described,
		})
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", p.pasted())
		case p.In == "query" && p.Required:
			query.Set(p.Name, p.pasted())
		}
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	for _, r := range op.Responses {
		if err := d.answer(&v, r.Key, r.Value); err != nil {
			return v, err
		}
	}
	return v, d.request(&v, path, op)
}

func (d *document) resolveParameter(p parameter) (parameter, error) {
	if p.Ref == "" {
		return p, nil
	}
	return d.Components.Parameters.named(p.Ref)
}

// pasted returns the value of p in a sample.
func (p parameter) pasted() string {
	if p.Name == "organization_id" {
		return organizationPath
	}
	return p.Example.Value
}

// request sets v's request body, and the samples of the whole request to path.
func (d *document) request(v *operationView, path string, op *operation) error {
	body := ""
	if op.RequestBody != nil {
		found, err := d.Components.RequestBodies.named(op.RequestBody.Ref)
		if err != nil {
			return err
		}
		media := found.Content[0].Value
		v.Body = &bodyView{}
		if v.Body.Type, err = d.describe(media.Schema); err != nil {
			return err
		}
		if v.Body.Fields, err = d.fields(media.Schema); err != nil {
			return err
		}
		example, err := indent(&media.Examples[0].Value.Value)
		if err != nil {
			return err
		}
		body = string(example)
	}
	if op.Samples.Go == "" && len(op.Security) > 0 {
		return errors.New("x-samples has no call in Go")
	}
	var err error
	v.Samples, err = call{samples: op.Samples, Method: v.Method, Path: path, Key: len(op.Security) > 0, Body: body, Answer: v.answers}.views()
	return err
}

// answer adds an answer to v. The first successful one with an example is v's example.
func (d *document) answer(v *operationView, status string, r content) error {
	found, err := d.Components.Responses.named(r.Ref)
	if err != nil {
		return err
	}
	a := answerView{Status: status, Description: found.Description}
	if v.answers == "" {
		v.answers = kindOf(found.Content)
	}
	for _, m := range found.Content {
		if a.Type, err = d.describe(m.Value.Schema); err != nil {
			return err
		}
		if v.Answer == "" && status < "300" && !m.Value.Example.IsZero() {
			example, err := indent(&m.Value.Example)
			if err != nil {
				return err
			}
			v.Answer = string(example)
		}
	}
	v.Answers = append(v.Answers, a)
	return nil
}

// kindOf says in a word what an answer with this content is.
func kindOf(content ordered[media]) string {
	switch {
	case len(content) == 0:
		return "nothing"
	case content[0].Key == "application/json":
		return "JSON"
	}
	return "text"
}

// objects returns every schema with fields. It drops which ones are required: the requests say that, and answers have
// all.
func (d *document) objects() ([]objectView, error) {
	var all []objectView
	for _, s := range d.Components.Schemas {
		if !d.isObject(s.Key) {
			continue
		}
		fields, err := d.fields(s.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Key, err)
		}
		for i := range fields {
			fields[i].Required = false
		}
		all = append(all, objectView{Name: s.Key, Description: s.Value.Description, Fields: fields})
	}
	return all, nil
}
