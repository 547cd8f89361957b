package console

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"foyer/client"
	"foyer/internal/domain/configschema"
	"foyer/internal/domain/site"
	"foyer/internal/face/wire"
)

// schemaField is a field of a config_schema that pages get, or, without a key, a heading.
type schemaField struct {
	configschema.Field
	Given string // as the form has it; "": the default
	given json.RawMessage
}

// Title is the label of the field.
func (s schemaField) Title() string { return cmp.Or(line(s.Name()), s.Key) }

// Otherwise is the default, for display.
func (s schemaField) Otherwise() string { return asTyped(json.RawMessage(s.Default)) }

// Shown is the given value, for display; "": the default.
func (s schemaField) Shown() string { return asTyped(s.given) }

// Lines reports whether a text may have several lines.
func (s schemaField) Lines() bool {
	return s.Type == "textarea" || strings.ContainsAny(s.Given+s.Otherwise(), "\r\n")
}

// Options returns the choices, as the form sends them and as they are shown.
func (s schemaField) Options() []option {
	all := make([]option, len(s.Choices))
	for i, choice := range s.Choices {
		all[i] = option{choice, asTyped(json.RawMessage(choice))}
	}
	return all
}

// Lost is the form's value, for display, if it is no option: the field had others before; "": it is an option.
func (s schemaField) Lost(given string) string {
	options := s.Choices
	if s.Type == "boolean" {
		options = []string{"true", "false"}
	}
	if slices.Contains(options, given) {
		return ""
	}
	return cmp.Or(asTyped(json.RawMessage(given)), given)
}

type option struct{ Value, Text string }

// asTyped returns a JSON value as a form has it: a string without its quotes.
func asTyped(value json.RawMessage) string {
	var text string
	if len(value) == 0 || json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// mustBe says what is typed into a field that takes JSON, by its type. The other types take text.
var mustBe = map[string]string{
	"number": "a number such as 1.5", "boolean": "yes or no", "json": "JSON, with no name twice in an object", "choice": "one of the choices",
}

// schemaFields returns the fields of a schema whose values a page gets, and those others whose values are unwanted and to be
// removed.
func schemaFields(schema, config json.RawMessage, unwanted map[string]bool) []schemaField {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(config, &given) // without values there are none
	fields, asked := configschema.Fields(string(schema)), map[string]configschema.Field{}
	for _, f := range fields {
		if unwanted[f.Key] && given[f.Key] != nil {
			asked[f.Key] = f
		}
	}
	for _, f := range site.Fields(string(schema)) {
		asked[f.Key] = f
	}
	var all []schemaField
	for _, f := range fields {
		first, ok := asked[f.Key]
		switch {
		case f.Key == "" && f.Heading() != "":
			all = append(all, schemaField{Field: f})
		case ok && mustBe[first.Type] == "":
			all = append(all, schemaField{first, asTyped(given[f.Key]), given[f.Key]})
		case ok:
			all = append(all, schemaField{first, string(given[f.Key]), given[f.Key]})
		}
		delete(asked, f.Key)
	}
	return all
}

// read returns the form's value of a field: null for its default. A value that was not edited stays as it was, which may
// be more than a form can express.
func (s schemaField) read(typed string, refused *faults) json.RawMessage {
	switch {
	case s.given != nil && typed == lineEnds.Replace(s.Given):
		return s.given
	case strings.TrimSpace(typed) == "":
		return client.Null()
	}
	must := mustBe[s.Type]
	if must == "" {
		text, _ := json.Marshal(typed) // it is a string
		return text
	}
	if !wire.IsValue([]byte(typed)) {
		refused.add("config."+s.Key, "Must be "+must+".")
	}
	return json.RawMessage(typed)
}
