package site

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/domain/configschema"
)

const (
	maxText   = 20_000   // characters in a string
	maxJSON   = 64 << 10 // bytes of any JSON
	maxFaults = 1000     // of the values of one placement
)

// schema is the fields with a key in a config_schema, each key once, in its order.
type schema []field

// field is a field of a schema.
type field struct {
	configschema.Field
	choices map[string]bool // in the form of plain
}

// newSchema reads a config_schema, once for all values that are checked against it.
func newSchema(configSchema string) schema {
	var s schema
	for _, f := range keyed(configSchema) {
		one := field{Field: f}
		if f.Type == "choice" {
			one.choices = make(map[string]bool, len(f.Choices))
			for _, choice := range f.Choices {
				one.choices[plain(choice)] = true
			}
		}
		s = append(s, one)
	}
	return s
}

// keyed lists the fields of a config_schema that have a key; of several with one key, the first.
func keyed(configSchema string) []configschema.Field {
	seen := map[string]bool{}
	return slices.DeleteFunc(configschema.Fields(configSchema), func(f configschema.Field) bool {
		again := seen[f.Key]
		seen[f.Key] = true
		return again || f.Key == ""
	})
}

// fills reports whether a page gets the value of a field.
func fills(f configschema.Field) bool { return f.Site && !f.Hidden }

// Fields lists the fields of a config_schema whose values pages get, in its order.
func Fields(configSchema string) []configschema.Field {
	return slices.DeleteFunc(keyed(configSchema), func(f configschema.Field) bool { return !fills(f) })
}

// unknown finds given keys that the schema does not have. Only the first fault names the keys that it has: a thousand
// faults with them would make an answer of a megabyte.
func (s schema) unknown(given []Value) (faults fault.List) {
	known := make(map[string]bool, len(s))
	for _, f := range s {
		known[f.Key] = true
	}
	keys := ": it has " + s.keys()
	for _, g := range given {
		if !g.JSON.Null && !known[g.Key] {
			faults.Add(fault.Field(fault.Invalid, "config."+g.Key, "The app has no such field%s.", keys))
			keys = ""
		}
	}
	return faults
}

// keys lists the fields that take a value.
func (s schema) keys() string {
	var all []string
	for _, f := range s {
		if !f.Hidden {
			all = append(all, f.Key)
		}
	}
	return fault.Enumerate(all)
}

// faults finds what is wrong with values; it ignores keys that the schema does not have. Missing values are faults only
// if required is set.
func (s schema) faults(v values, required bool) (faults fault.List) {
	for _, f := range s {
		raw, given := v[f.Key]
		switch {
		case len(faults) == maxFaults:
			return faults
		case given && f.Hidden:
			faults.Add(fault.Field(fault.Invalid, "config."+f.Key, "Takes no value: it is secret, or a file, and everybody can read what a page gets."))
		case given:
			faults.Add(wrong(f, raw))
		case required && f.Needed():
			faults.Add(fault.Field(fault.Required, "config."+f.Key, "Must be given: the app needs it."))
		}
	}
	return faults
}

// unfit returns why a page cannot run with values; others is how many bytes the other values on the site take.
func (s schema) unfit(v values, others int) fault.List {
	faults := s.faults(v, true)
	if n := len(s.shown(v)); others+n > maxConfigBytes { // the message must stay true when the other values change
		faults.Add(fault.Field(fault.TooLong, "config", "The values on a site take at most %d bytes together, with defaults, and there is no room for the %d bytes of these.", maxConfigBytes, n))
	}
	return faults
}

// tooManyBytes is the fault of values that are too large for a site.
func tooManyBytes(n int) error {
	return fault.Field(fault.TooLong, "config", "The values on a site take at most %d bytes together, with defaults, not %d.", maxConfigBytes, n)
}

// wrong returns what is wrong with one value.
func wrong(f field, raw json.RawMessage) error {
	must := func(what string) error {
		return fault.Field(fault.Invalid, "config."+f.Key, "Must be %s.", what)
	}
	kind := raw[0]
	switch f.Type {
	case "json", "choice":
		if len(raw) > maxJSON {
			return fault.Field(fault.TooLong, "config."+f.Key, "Must be at most %d bytes long, not %d.", maxJSON, len(raw))
		}
		if f.Type == "choice" {
			return wrongChoice(f, string(raw))
		}
	case "number":
		if _, err := strconv.ParseFloat(string(raw), 64); err != nil {
			return must("a number")
		}
	case "boolean":
		if kind != 't' && kind != 'f' {
			return must("true or false")
		}
	default:
		if kind != '"' {
			return must("a string")
		}
		if n := utf8.RuneCountInString(text(raw)); n > maxText {
			return fault.Field(fault.TooLong, "config."+f.Key, "Must be at most %d characters long, not %d.", maxText, n)
		}
	}
	return nil
}

func wrongChoice(f field, value string) error {
	switch {
	case len(f.choices) == 0:
		return fault.Field(fault.InvalidChoice, "config."+f.Key, "Takes no value: the app says that it is a choice, but has no choices for it.")
	case !f.choices[plain(value)]:
		return fault.Field(fault.InvalidChoice, "config."+f.Key, "Must be one of: %s.", fault.Enumerate(f.Choices))
	}
	return nil
}

// text returns the text of a JSON string.
func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // the caller has checked that it is a string
	return s
}

// plain returns a JSON value in a form for comparison, whatever its spelling: a text after a quote, which distinguishes
// it from a number, and a number in its shortest form. Other JSON stays as it is.
func plain(raw string) string {
	if raw[0] == '"' {
		return `"` + text(json.RawMessage(raw))
	}
	if x, err := strconv.ParseFloat(raw, 64); err == nil {
		if x == 0 {
			x = 0 // also for -0
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return raw
}

// shown returns what a page gets, as a JSON object in the schema's order: for each field for pages, the given value or
// else the default.
func (s schema) shown(v values) string {
	var out strings.Builder
	out.WriteByte('{')
	for _, f := range s {
		value := f.Default
		if given, ok := v[f.Key]; ok {
			value = string(given)
		}
		if !fills(f.Field) || value == "" {
			continue
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%s:%s", encode(f.Key), value)
	}
	out.WriteByte('}')
	return out.String()
}
