package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// isObject reports whether a schema has a table of fields on the page. Parts of objects (…Fields) are shown in the
// objects that contain them.
func (d *document) isObject(name string) bool {
	s, err := d.Components.Schemas.named(name)
	return err == nil && (len(s.Properties) > 0 || len(s.AllOf) > 0) && !strings.HasSuffix(name, "Fields")
}

// resolve follows a reference. A description beside the reference wins.
func (d *document) resolve(s schema) (schema, error) {
	if s.Ref == "" {
		return s, nil
	}
	found, err := d.Components.Schemas.named(s.Ref)
	if s.Description != "" {
		found.Description = s.Description
	}
	return found, err
}

// fields lists the properties of an object, inherited ones first. For a choice, it lists those of the first choice.
func (d *document) fields(s schema) ([]fieldView, error) {
	s, err := d.resolve(s)
	if err != nil {
		return nil, err
	}
	if len(s.OneOf) > 0 {
		return d.fields(s.OneOf[0])
	}
	var all []fieldView
	for _, part := range s.AllOf {
		fields, err := d.fields(part)
		if err != nil {
			return nil, err
		}
		all = append(all, fields...)
	}
	for _, p := range s.Properties {
		described, err := d.describe(p.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Key, err)
		}
		resolved, err := d.resolve(p.Value)
		if err != nil {
			return nil, err
		}
		all = append(all, fieldView{
			Name: p.Key, Type: described, Description: resolved.Description, Required: slices.Contains(s.Required, p.Key),
		})
	}
	return all, nil
}

// describe says in words what values fit s.
func (d *document) describe(s schema) (typeView, error) {
	name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	if d.isObject(name) {
		return typeView{Object: name}, nil
	}
	s, err := d.resolve(s)
	if err != nil {
		return typeView{}, err
	}
	switch {
	case len(s.OneOf) > 0:
		return d.describeChoice(s.OneOf)
	case s.Items != nil:
		item, err := d.describe(*s.Items)
		if item.Before == anyJSON {
			return typeView{Before: "list"}, err
		}
		item.Before = "list of " + item.Before
		return item, err
	default:
		return typeView{Before: s.words()}, nil
	}
}

// describeChoice joins the descriptions of the choices. If all are enums, their values become one list.
func (d *document) describeChoice(choices []schema) (typeView, error) {
	listed, err := d.listed(choices)
	if err != nil || len(listed) > 0 {
		return typeView{Before: schema{Enum: listed}.words()}, err
	}
	all, err := d.describe(choices[0])
	if err != nil {
		return all, err
	}
	for i, choice := range choices[1:] {
		next, err := d.describe(choice)
		if err != nil {
			return all, err
		}
		joint := ", "
		if i == len(choices)-2 {
			joint = " or "
		}
		all.After += joint + next.Before + next.Object + next.After
	}
	return all, nil
}

// listed returns the values of the choices' enums, or nothing if one is not an enum.
func (d *document) listed(choices []schema) ([]yaml.Node, error) {
	var all []yaml.Node
	for _, choice := range choices {
		choice, err := d.resolve(choice)
		if err != nil || len(choice.Enum) == 0 {
			return nil, err
		}
		all = append(all, choice.Enum...)
	}
	return all, nil
}

// anyJSON describes an empty schema.
const anyJSON = "any JSON"

// words describes a plain value: its type or choices, its form and its bounds.
func (s schema) words() string {
	kind := strings.Join(s.Type, " or ")
	if len(s.Enum) > 0 {
		kind = "one of " + strings.Join(s.choices(), ", ")
	}
	words := []string{cmp.Or(kind, anyJSON)}
	if s.Const != "" {
		words[0] = "always " + s.Const
	}
	if s.Format != "" && s.Format != "int64" {
		words = append(words, s.Format)
	}
	if s.Minimum != nil {
		words = append(words, fmt.Sprintf("from %d", *s.Minimum))
	}
	if s.MaxLength != nil {
		words = append(words, fmt.Sprintf("up to %d characters", *s.MaxLength))
	}
	if !s.Default.IsZero() {
		words = append(words, "default "+s.Default.Value)
	}
	return strings.Join(words, ", ")
}

// choices lists the values of an enum without the empty text and null.
func (s schema) choices() []string {
	var all []string
	for _, c := range s.Enum {
		if c.Value != "" && c.Tag != "!!null" && !slices.Contains(all, c.Value) {
			all = append(all, c.Value)
		}
	}
	return all
}
