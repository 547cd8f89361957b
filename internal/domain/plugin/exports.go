package plugin

import (
	"encoding/json"
	"slices"

	"foyer/internal/domain/configschema"
)

// exports reports whether a plugin would stop with a paid export plan: it has capabilities, and it is not a global one
// that processes events.
func exports(p Plugin) bool {
	switch p.Capabilities {
	case "", "{}", "[]":
		return false
	}
	return !p.IsGlobal || !slices.Contains(methods(p.Capabilities), "processEvent")
}

// methods reads the names of methods among capabilities, which may have any shape.
func methods(capabilities string) []string {
	var shape map[string]json.RawMessage // so that METHODS is another name
	var methods []any
	if json.Unmarshal([]byte(capabilities), &shape) != nil || json.Unmarshal(shape["methods"], &methods) != nil {
		return nil
	}
	var names []string
	for _, m := range methods {
		if name, ok := m.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

// sizeWithDefaults is about how many bytes a plugin takes together with its defaults.
func sizeWithDefaults(p Plugin) int {
	total := p.size()
	for _, d := range configschema.Defaults(p.ConfigSchema) {
		total += len(d.Key) + len(d.Value)
	}
	return total
}
