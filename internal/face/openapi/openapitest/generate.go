package openapitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/face/openapi"
)

// Generator makes values for a document's schemas: most of them fit, some do not quite.
type Generator struct {
	Rand  *rand.Rand
	Known map[string][]any // values to take for a field or a parameter, by its name
	Wrong bool             // adds names to objects that their schemas do not know

	Names []string // the wrong names of the last value with their paths: a.0.b

	document map[string]any
}

// NewGenerator reads a YAML document. The values depend on the seed, on Known and, for dates, on the clock.
func NewGenerator(tb testing.TB, document []byte, seed uint64) *Generator {
	tb.Helper()
	text, err := openapi.JSON(document)
	if err != nil {
		tb.Fatal(err)
	}
	g := &Generator{Rand: rand.New(rand.NewPCG(seed, 0)), Known: map[string][]any{}}
	if err := json.Unmarshal(text, &g.document); err != nil {
		tb.Fatal(err)
	}
	return g
}

// Chance is true once in n times.
func (g *Generator) Chance(n int) bool { return g.Rand.IntN(n) == 0 }

// Pick returns one of several.
func Pick[T any](g *Generator, all []T) T { return all[g.Rand.IntN(len(all))] }

// At returns the part of the document at a JSON pointer, such as #/components/schemas/App.
func (g *Generator) At(pointer string) any {
	var found any = g.document
	for _, name := range strings.Split(pointer, "/")[1:] {
		object, _ := found.(map[string]any)
		found = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return g.resolve(found)
}

// Parameter is a parameter of an operation.
type Parameter struct {
	Name, In string
	Schema   any
}

// Parameters returns the parameters of an operation and of its path.
func (g *Generator) Parameters(o Operation) (all []Parameter) {
	item := g.At("#/paths/" + strings.ReplaceAll(o.Path, "/", "~1")).(map[string]any)
	op := item[strings.ToLower(o.Method)].(map[string]any)
	ofPath, _ := item["parameters"].([]any)
	ofOperation, _ := op["parameters"].([]any)
	for _, p := range slices.Concat(ofPath, ofOperation) {
		p := g.resolve(p).(map[string]any)
		all = append(all, Parameter{Name: p["name"].(string), In: p["in"].(string), Schema: p["schema"]})
	}
	return all
}

// Body returns the schema of an operation's request body or, if answered is set, of its answer; nil: none.
func (g *Generator) Body(o Operation, answered bool) any {
	op := g.At("#/paths/" + strings.ReplaceAll(o.Path, "/", "~1")).(map[string]any)[strings.ToLower(o.Method)].(map[string]any)
	described := op["requestBody"]
	if answered {
		described = op["responses"].(map[string]any)["200"]
	}
	body, _ := g.resolve(described).(map[string]any)
	content, _ := body["content"].(map[string]any)
	media, _ := content["application/json"].(map[string]any)
	return media["schema"]
}

// Value makes a value for a schema.
func (g *Generator) Value(schema any) any {
	g.Names = nil
	return g.value("", "", schema)
}

// resolve follows references.
func (g *Generator) resolve(v any) any {
	if object, ok := v.(map[string]any); ok {
		if ref, ok := object["$ref"].(string); ok {
			return g.At(ref)
		}
	}
	return v
}

func (g *Generator) value(path, name string, schema any) any {
	s, _ := g.resolve(schema).(map[string]any)
	if known := g.Known[name]; len(known) > 0 && !g.Chance(4) {
		return Pick(g, known)
	}
	if path != "" && g.Chance(40) {
		return g.odd()
	}
	if all, ok := s["enum"].([]any); ok {
		return Pick(g, all)
	}
	if one, ok := s["oneOf"].([]any); ok {
		return g.value(path, "", Pick(g, one))
	}
	if _, ok := s["allOf"]; ok || s["properties"] != nil {
		return g.object(path, s)
	}
	types, ok := s["type"].([]any)
	if !ok {
		types = []any{s["type"]}
	}
	switch Pick(g, types) {
	case "string":
		return g.text(s)
	case "integer", "number":
		return g.number(s)
	case "boolean":
		return g.Chance(2)
	case "array":
		return g.array(path, s)
	case "object":
		return g.free(path, s)
	default:
		return nil
	}
}

// object makes an object with the fields of its schema, and of the schemas that this combines.
func (g *Generator) object(path string, s map[string]any) map[string]any {
	made, open := map[string]any{}, s["additionalProperties"] != nil && s["additionalProperties"] != false
	g.properties(made, path, s)
	if g.Wrong && !open && g.Chance(2) {
		name := "wrong" + strconv.FormatUint(uint64(g.Rand.Uint32()), 36)
		made[name] = g.odd()
		g.Names = append(g.Names, path+name)
	}
	return made
}

// properties makes the fields of a schema and of the schemas in its allOf, each once: a second value would replace the
// first, and its wrong names would not be sent.
func (g *Generator) properties(made map[string]any, path string, s map[string]any) {
	for _, part := range list(s["allOf"]) {
		inner, _ := g.resolve(part).(map[string]any)
		g.properties(made, path, inner)
	}
	properties, _ := s["properties"].(map[string]any)
	required := list(s["required"])
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if _, twice := made[name]; twice {
			continue
		}
		if slices.Contains(required, any(name)) && !g.Chance(20) || g.Chance(3) {
			before := len(g.Names)
			made[name] = g.value(path+name+".", name, properties[name])
			_, isObject := made[name].(map[string]any)
			_, isArray := made[name].([]any)
			if !isObject && !isArray { // a known or odd value replaced the object
				g.Names = g.Names[:before]
			}
		}
	}
}

func (g *Generator) array(path string, s map[string]any) []any {
	made := []any{}
	n := g.Rand.IntN(4)
	if most, ok := s["maxItems"].(float64); ok && g.Chance(40) {
		n = int(most) + 1
	}
	for i := range n {
		made = append(made, g.value(path+strconv.Itoa(i)+".", "", s["items"]))
	}
	return made
}

// free makes an object with arbitrary names.
func (g *Generator) free(path string, s map[string]any) map[string]any {
	made := map[string]any{}
	for range g.Rand.IntN(3) {
		name := Pick(g, []string{"site.ts", "plugin.json", "a/b.css", "color", "frontend.tsx", "web.js", "ü", "../x", ""})
		if _, twice := made[name]; twice {
			continue
		}
		made[name] = g.value(path+name+".", "", s["additionalProperties"])
	}
	return made
}

func (g *Generator) text(s map[string]any) string {
	switch s["format"] {
	case "uuid":
		return fmt.Sprintf("%08x-0000-7000-8000-%012x", g.Rand.Uint32(), g.Rand.Uint32())
	case "email":
		return fmt.Sprintf("someone%d@acme.example", g.Rand.IntN(1000))
	case "date-time":
		return time.Now().Add(time.Duration(g.Rand.IntN(200)-100) * time.Hour).UTC().Format(time.RFC3339)
	}
	least, _ := s["minLength"].(float64)
	most, limited := s["maxLength"].(float64)
	if limited && g.Chance(40) {
		return strings.Repeat("ü", int(most)+g.Rand.IntN(2))
	}
	text := Pick(g, []string{
		"", "a", "banner", "Consent Banner", "1", "v1.2.0", "ﬁne ÄÖ", "\u202e\u200b", "x\x00y", "'; DROP TABLE plugins; --", "<b>", "%00", "a@x.example",
		"https://git.invalid/a/b", "https://shop.example.com", "/shop/**", "export function inject() {}\n", "const = ;", `{"name":"x"}`, "2026-11-22T09:30:00Z", "\U0001f600",
	})
	return text + strings.Repeat("x", max(0, int(least)-len([]rune(text))))
}

func (g *Generator) number(s map[string]any) any {
	least, _ := s["minimum"].(float64)
	most, limited := s["maximum"].(float64)
	switch g.Rand.IntN(10) {
	case 0:
		return Pick(g, []any{-1, 0, json.Number("9223372036854775807"), json.Number("9223372036854775808"), 1.5, json.Number("1e3"), json.Number("1e999")})
	case 1:
		return least
	case 2:
		if limited {
			return most + float64(g.Rand.IntN(2))
		}
	}
	return int(least) + g.Rand.IntN(5)
}

// odd returns a value that rarely fits.
func (g *Generator) odd() any {
	return Pick(g, []any{nil, true, 0, -1.5, "", "x", []any{}, []any{nil, []any{}}, map[string]any{}, map[string]any{"a": map[string]any{"b": nil}}})
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}
