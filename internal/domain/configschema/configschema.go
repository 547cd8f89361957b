// Package configschema reads the config_schema of an app: the fields of its values, their defaults, and which of them
// are hidden.
package configschema

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Mask is shown in place of the default of a hidden field.
const Mask = "********"

// Default is the default of one field of a config schema, as JSON text.
type Default struct{ Key, Value string }

// Field is a field of a config_schema, as far as it matters to foyer.
type Field struct {
	Key      string // "": a heading
	Type     string
	Default  string   // JSON; "": none
	Choices  []string // each JSON
	Secret   bool
	Hidden   bool // it or another field with its key is secret or a file: its default is never shown, and pages get no value of it
	Site     bool // pages get it
	Required bool

	text   string // the field, as in the schema
	offset int    // of text, in the schema
}

// membersOf reads the members of a field by lower-case name: names match in any case, as in encoding/json. It returns
// nil if the field is not an object.
func membersOf(raw json.RawMessage) map[string]json.RawMessage {
	var named map[string]json.RawMessage
	if json.Unmarshal(raw, &named) != nil || named == nil {
		return nil
	}
	members := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(named)) { // of two spellings, the one in lower case counts
		members[strings.ToLower(name)] = named[name]
	}
	return members
}

// textOf reads a JSON string; other JSON gives "".
func textOf(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

// Needed reports whether pages need a value for the field, because it has no default.
func (f Field) Needed() bool { return f.Site && !f.Hidden && f.Required && f.Default == "" }

// Name is the field's name for people; it may be "".
func (f Field) Name() string { return f.member("name") }

// Heading is the text that a field without a key shows above the fields after it; it may be "".
func (f Field) Heading() string { return cmp.Or(f.Name(), f.member("markdown")) }

// Hint is the field's help text; it may be "".
func (f Field) Hint() string { return f.member("hint") }

// member is the text of a member that readField does not read.
func (f Field) member(name string) string { return textOf(membersOf(json.RawMessage(f.text))[name]) }

// readField reads what it can of a field, since members of public apps have many shapes. ok is false if the field
// is not an object.
func readField(raw json.RawMessage) (f Field, ok bool) {
	members := membersOf(raw)
	if members == nil {
		return Field{}, false
	}
	is := func(name string) bool {
		switch value := string(members[name]); value {
		case "", "false", "null", `""`, "0":
			return false
		default:
			return true
		}
	}
	f = Field{Key: textOf(members["key"]), Type: textOf(members["type"]), Secret: is("secret"), Site: is("site"), Required: is("required")}
	if value := string(members["default"]); value != "null" {
		f.Default = value
	}
	f.Choices = readChoices(members["choices"])
	return f, true
}

func readChoices(raw json.RawMessage) []string {
	var items []json.RawMessage
	_ = json.Unmarshal(raw, &items) // JSON of another shape has no choices
	choices := make([]string, len(items))
	for i, item := range items {
		choices[i] = string(item)
	}
	return choices
}

// Defaults lists the defaults in a config schema, in its order, with the hidden ones masked. If a key has several
// defaults, the first counts.
func Defaults(configSchema string) []Default {
	seen := map[string]bool{}
	var all []Default
	for _, f := range Fields(configSchema) {
		if f.Key == "" || seen[f.Key] || f.Default == "" {
			continue
		}
		seen[f.Key] = true
		value := f.Default
		if f.Hidden {
			value = `"` + Mask + `"`
		}
		all = append(all, Default{f.Key, value})
	}
	return all
}

// Masked returns a config schema with its hidden defaults masked and the rest unchanged.
func Masked(configSchema string) string {
	var out strings.Builder
	done := 0
	for _, f := range Fields(configSchema) {
		if !f.Hidden {
			continue
		}
		for _, at := range defaultsIn(f.text) {
			out.WriteString(configSchema[done : f.offset+at.start])
			out.WriteString(`"` + Mask + `"`)
			done = f.offset + at.end
		}
	}
	return out.String() + configSchema[done:]
}

// span is a part of a text.
type span struct{ start, end int }

// defaultsIn finds the "default" members of a schema's field, in any case, as encoding/json does.
func defaultsIn(field string) []span {
	d := json.NewDecoder(strings.NewReader(field))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var found []span
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return nil
		}
		if text, ok := name.(string); ok && strings.EqualFold(text, "default") && string(raw) != "null" {
			end := int(d.InputOffset())
			found = append(found, span{end - len(raw), end})
		}
	}
	return found
}

// Fields lists the fields of a config schema, in its order. A schema is a list of fields, each with a key, or an object of
// fields by key; any other schema has none.
func Fields(configSchema string) []Field {
	d := json.NewDecoder(strings.NewReader(configSchema))
	open, err := d.Token()
	if err != nil {
		return nil
	}
	var fields []Field
	hidden := map[string]bool{}
	for d.More() {
		key := ""
		if open == json.Delim('{') {
			name, err := d.Token()
			if err != nil {
				return nil
			}
			key, _ = name.(string)
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return nil
		}
		f, ok := readField(raw)
		if !ok {
			continue // a field of another shape
		}
		if key != "" {
			f.Key = key
		}
		f.text, f.offset = string(raw), int(d.InputOffset())-len(raw)
		hidden[f.Key] = hidden[f.Key] || f.Secret || f.Type == "attachment"
		fields = append(fields, f)
	}
	for i := range fields {
		fields[i].Hidden = hidden[fields[i].Key]
	}
	return fields
}
