package plugin

import (
	"encoding/json"
	"slices"
	"strings"
)

// exports reports whether a plugin would stop with a paid export plan: it has
// capabilities, unless it is a global one that processes events.
func exports(p Plugin) bool {
	switch p.Capabilities {
	case "", "{}", "[]":
		return false
	}
	return !p.IsGlobal || !slices.Contains(methods(p.Capabilities), "processEvent")
}

// methods reads the names of methods among capabilities, which may have any shape.
func methods(capabilities string) []string {
	var shape struct {
		Methods []any `json:"methods"`
	}
	if json.Unmarshal([]byte(capabilities), &shape) != nil {
		return nil
	}
	var names []string
	for _, m := range shape.Methods {
		if name, ok := m.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// Mask stands for the default of a secret field.
const Mask = "********"

// Default is the default of one field of a config schema, as JSON text.
type Default struct{ Key, Value string }

// schemaField is the part of a config schema's field that matters here.
type schemaField struct {
	Key     string          `json:"key"`
	Default json.RawMessage `json:"default"`
	Secret  bool            `json:"secret"`
}

// Defaults lists the defaults that a config schema gives, in its order, secret
// ones masked. A schema is a list of fields, each with a key, or an object of
// fields by key; what fits neither has none. Of several defaults of one key the
// first counts, and is secret if any field of that key is.
func Defaults(configSchema string) []Default {
	fields := schemaFields(configSchema)
	secret, told := map[string]bool{}, map[string]bool{}
	for _, f := range fields {
		secret[f.Key] = secret[f.Key] || f.Secret
	}
	var all []Default
	for _, f := range fields {
		if f.Key == "" || told[f.Key] || len(f.Default) == 0 || string(f.Default) == "null" {
			continue
		}
		told[f.Key] = true
		value := string(f.Default)
		if secret[f.Key] {
			value = `"` + Mask + `"`
		}
		all = append(all, Default{f.Key, value})
	}
	return all
}

// sizeWithDefaults is about how many bytes a plugin takes with its defaults beside it.
func sizeWithDefaults(p Plugin) int {
	total := p.size()
	for _, d := range Defaults(p.ConfigSchema) {
		total += len(d.Key) + len(d.Value)
	}
	return total
}

func schemaFields(configSchema string) []schemaField {
	d := json.NewDecoder(strings.NewReader(configSchema))
	open, err := d.Token()
	if err != nil {
		return nil
	}
	var fields []schemaField
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
		var f schemaField
		if json.Unmarshal(raw, &f) != nil {
			continue // a field of another shape
		}
		if key != "" {
			f.Key = key
		}
		fields = append(fields, f)
	}
	return fields
}
