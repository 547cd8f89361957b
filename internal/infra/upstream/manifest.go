package upstream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Manifest is the content of an app's plugin.json. Other keys are ignored.
type Manifest struct {
	Name        string
	Description string
	Icon        string
	Config      json.RawMessage // a list or an object, without white space between its tokens; nil if absent
	PublicJobs  json.RawMessage // the same
}

// maxManifestDepth is how deeply config and publicJobs may be nested.
const maxManifestDepth = 64

// ParseManifest reads the text of a plugin.json. Its errors begin with a verb, whose subject is the file.
func ParseManifest(text string) (Manifest, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	var fields map[string]json.RawMessage // a struct would accept keys in any case
	if err := json.Unmarshal([]byte(text), &fields); err != nil || fields == nil {
		return Manifest{}, fmt.Errorf("is not a JSON object%s", whereOf(text, err))
	}
	var m Manifest
	if err := cmp.Or(
		readText(fields, "name", &m.Name),
		readText(fields, "description", &m.Description),
		readText(fields, "icon", &m.Icon),
		readStructure(fields, "config", &m.Config),
		readStructure(fields, "publicJobs", &m.PublicJobs),
	); err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// whereOf returns where the text stops being JSON, if that is the error.
func whereOf(text string, err error) string {
	e, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return ""
	}
	before := text[:max(e.Offset-1, 0)]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf(": %v (line %d, column %d)", e, 1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(line))
}

func readText(fields map[string]json.RawMessage, key string, to *string) error {
	if raw, ok := fields[key]; ok && json.Unmarshal(raw, to) != nil {
		return fmt.Errorf("has a %q that is not text", key)
	}
	if strings.ContainsRune(*to, 0) {
		return fmt.Errorf("has a NUL character in %q", key)
	}
	return nil
}

func readStructure(fields map[string]json.RawMessage, key string, to *json.RawMessage) error {
	raw := jsontext.Value(fields[key])
	switch {
	case raw == nil || string(raw) == "null":
		return nil
	case raw[0] != '[' && raw[0] != '{':
		return fmt.Errorf("has a %q that is neither a list nor an object", key)
	case !raw.IsValid(): // encoding/json accepts more than is valid in requests
		return fmt.Errorf("has a %q with a name that appears twice in one object, or with text that is not Unicode", key)
	}
	switch depth, nul := measure(raw); {
	case depth > maxManifestDepth:
		return fmt.Errorf("has a %q nested deeper than %d levels", key, maxManifestDepth)
	case nul: // PostgreSQL refuses it
		return fmt.Errorf("has a NUL character in %q", key)
	}
	_ = raw.Compact() // it is valid
	*to = json.RawMessage(raw)
	return nil
}

// measure returns how deeply lists and objects are nested in valid JSON, and whether
// a string in it has the NUL character.
func measure(raw []byte) (depth int, nul bool) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return depth, nul // the end of the text, which is valid JSON
		}
		depth = max(depth, d.StackDepth())
		nul = nul || strings.ContainsRune(token.String(), 0)
	}
}
