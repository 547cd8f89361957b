package api_test

import (
	"slices"
	"strings"
	"testing"
)

// keywords are the fields that a schema of this document may have. An unquoted comma turns part of a sentence into
// another field, which no other test would notice.
var keywords = strings.Fields(`$ref type format enum const description title default examples example deprecated readOnly writeOnly nullable
	properties required additionalProperties unevaluatedProperties minProperties maxProperties propertyNames patternProperties
	items prefixItems minItems maxItems uniqueItems contains minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
	allOf anyOf oneOf not if then else contentMediaType contentEncoding discriminator`)

// objects are the fields that each kind of object in the document may have, by the field that contains it.
var objects = map[string][]string{
	"parameters":  strings.Fields(`$ref name in description required schema example examples style explode`),
	"responses":   strings.Fields(`$ref description headers content links`),
	"headers":     strings.Fields(`$ref description required schema example examples`),
	"requestBody": strings.Fields(`$ref description required content`),
}

func TestDocumentHasNoStrayKeys(t *testing.T) {
	t.Parallel()
	var document map[string]any
	decodeDocument(t, &document)
	schemas := 0
	walk(document, "#", "", func(path, key string, object map[string]any) {
		allowed, known := objects[key]
		if key == "schema" {
			allowed, known, schemas = keywords, true, schemas+1
		}
		for name := range object {
			if known && !slices.Contains(allowed, name) && !strings.HasPrefix(name, "x-") {
				t.Errorf("%s: %q is no field of its kind", path, name)
			}
		}
	})
	if schemas < 100 {
		t.Errorf("found only %d schemas", schemas)
	}
}

// Generators of Go name the type of a field with values of its own after its schema and itself, and the content of a
// response after the response. They stop if a schema has that name.
func TestDocumentNamesEachTypeOnce(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct {
			Responses map[string]struct {
				Content map[string]struct {
					Schema docReference `json:"schema"`
				} `json:"content"`
			} `json:"responses"`
			Schemas map[string]struct {
				Properties map[string]struct {
					Const any `json:"const"`
					Enum  any `json:"enum"`
				} `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	decodeDocument(t, &document)
	inline := map[string]string{} // the fields by the names of their types, in lower case
	for name, schema := range document.Components.Schemas {
		for field, value := range schema.Properties {
			if value.Const != nil || value.Enum != nil {
				inline[strings.ToLower(name+strings.ReplaceAll(field, "_", ""))] = name + "." + field
			}
		}
	}
	for name := range document.Components.Schemas {
		if field, taken := inline[strings.ToLower(name)]; taken {
			t.Errorf("%s has the name of the type of %s", name, field)
		}
		taken := false
		for _, content := range document.Components.Responses[name].Content {
			if taken = content.Schema.Ref != "#/components/schemas/"+name; !taken {
				break
			}
		}
		if taken {
			t.Errorf("%s is also the name of a response with another content", name)
		}
	}
}

// walk calls visit for each object below v with its kind: schema, or the field that contains it.
func walk(v any, path, kind string, visit func(path, kind string, object map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			walk(item, path, kind, visit)
		}
	case map[string]any:
		visit(path, kind, v)
		for name, inner := range v {
			walkField(inner, path+"/"+name, kind, name, visit)
		}
	}
}

// walkField walks the field of an object of some kind. The content of an example or an enum is not part of the
// document.
func walkField(inner any, path, kind, name string, visit func(path, kind string, object map[string]any)) {
	switch name {
	case "example", "examples", "enum", "const", "default", "security", "servers", "info", "tags":
	case "schema", "items", "not", "if", "then", "else", "additionalProperties", "unevaluatedProperties", "propertyNames", "contains":
		walk(inner, path, "schema", visit)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		walk(inner, path, "schema", visit)
	case "properties", "patternProperties", "schemas":
		walkNames(inner, path, "schema", visit)
	case "responses", "headers":
		walkNames(inner, path, name, visit)
	case "parameters", "requestBody":
		if kind == "components" {
			walkNames(inner, path, name, visit)
			return
		}
		walk(inner, path, name, visit)
	case "components":
		walk(inner, path, name, visit)
	default:
		walk(inner, path, "", visit)
	}
}

// walkNames walks a map from names to objects of one kind.
func walkNames(v any, path, kind string, visit func(path, kind string, object map[string]any)) {
	byName, _ := v.(map[string]any)
	for name, inner := range byName {
		walk(inner, path+"/"+name, kind, visit)
	}
}
