package wire

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"foyer/internal/fault"
	"foyer/internal/patch"
)

// MaxDepth is how many levels deep an object or array in a field may be nested.
const MaxDepth = 64

func (o Object) find(name string) jsontext.Value {
	for _, m := range o {
		if m.Name == name {
			return m.value
		}
	}
	return nil
}

// field finds what all kinds of fields have in common: absent, null, or a value.
func field[T any](o Object, name string) (patch.Field[T], jsontext.Value) {
	v := o.find(name)
	if v == nil {
		return patch.Field[T]{}, nil
	}
	if v.Kind() == 'n' {
		return patch.Field[T]{Set: true, Null: true}, nil
	}
	return patch.Field[T]{Set: true}, v
}

func wrong[T any](name, want string, v jsontext.Value) patch.Field[T] {
	return refused[T](fault.Invalid, name, "Must be "+want+", not "+kindWord(v)+".")
}

func refused[T any](k fault.Kind, name, detail string) patch.Field[T] {
	return patch.Field[T]{Set: true, Fault: &fault.Error{Kind: k, Field: name, Detail: detail}}
}

// Text reads a string.
func (o Object) Text(name string) patch.Field[string] {
	f, v := field[string](o, name)
	switch {
	case v == nil:
		return f
	case v.Kind() != '"':
		return wrong[string](name, "a string", v)
	}
	return unquoted(name, v)
}

// Choice reads a string, or a number as it is spelled: for values that have both
// a number and a name.
func (o Object) Choice(name string) patch.Field[string] {
	f, v := field[string](o, name)
	switch {
	case v == nil:
		return f
	case v.Kind() == '0':
		return patch.Of(string(v))
	case v.Kind() != '"':
		return wrong[string](name, "a number or a string", v)
	}
	return unquoted(name, v)
}

func unquoted(name string, v jsontext.Value) patch.Field[string] {
	text, err := jsontext.AppendUnquote(nil, v)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return refused[string](fault.Invalid, name, "Must not contain the NUL character.")
	}
	return patch.Of(string(text))
}

// Bool reads a boolean.
func (o Object) Bool(name string) patch.Field[bool] {
	f, v := field[bool](o, name)
	switch {
	case v == nil:
		return f
	case v.Kind() != 't' && v.Kind() != 'f':
		return wrong[bool](name, "true or false", v)
	}
	return patch.Of(v.Kind() == 't')
}

// Texts reads an array of strings.
func (o Object) Texts(name string) patch.Field[[]string] {
	f, v := field[[]string](o, name)
	if v == nil {
		return f
	}
	const want = "an array of strings"
	if v.Kind() != '[' {
		return wrong[[]string](name, want, v)
	}
	texts := []string{}
	for _, item := range elements(v) {
		if item.Kind() != '"' {
			return wrong[[]string](name, want, item)
		}
		text := unquoted(name, item)
		if text.Fault != nil {
			return patch.Field[[]string]{Set: true, Fault: text.Fault}
		}
		texts = append(texts, text.Value)
	}
	return patch.Of(texts)
}

// elements splits an array that is valid JSON.
func elements(array jsontext.Value) []jsontext.Value {
	var all []jsontext.Value
	d := jsontext.NewDecoder(bytes.NewReader(array))
	for _, err := d.ReadToken(); err == nil && d.PeekKind() != ']'; {
		var v jsontext.Value
		if v, err = d.ReadValue(); err == nil {
			all = append(all, v.Clone())
		}
	}
	return all
}

// JSON reads an object or an array: its text as sent, without the white space
// between tokens.
func (o Object) JSON(name string) patch.Field[string] {
	f, v := field[string](o, name)
	switch {
	case v == nil:
		return f
	case v.Kind() != '{' && v.Kind() != '[':
		return wrong[string](name, "an object, an array or null", v)
	}
	text, depth, nul := compact(v)
	switch {
	case depth > MaxDepth:
		return patch.Field[string]{Set: true, Fault: tooDeep(name)}
	case nul:
		return refused[string](fault.Invalid, name, "Must not contain the NUL character.")
	}
	return patch.Of(text)
}

func tooDeep(field string) *fault.Error {
	return &fault.Error{Kind: fault.Invalid, Field: field, Detail: "Must be nested at most 64 levels deep."}
}

// compact drops the white space between the tokens of valid JSON, and reports how
// deep it is nested and whether a string has the NUL character.
func compact(v jsontext.Value) (text string, depth int, nul bool) {
	out := make([]byte, 0, len(v))
	level := 0
	for i := 0; i < len(v); i++ {
		switch c := v[i]; c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{', '[':
			level++
			depth = max(depth, level)
		case '}', ']':
			level--
		case '"':
			end := stringEnd(v, i)
			nul = nul || hasNUL(v[i:end])
			out = append(out, v[i:end]...)
			i = end - 1
			continue
		}
		out = append(out, v[i])
	}
	return string(out), depth, nul
}

// stringEnd is the index after the string that starts at i.
func stringEnd(v jsontext.Value, i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// hasNUL looks for the escape of U+0000, not for the same letters after an
// escaped backslash. JSON has no other way to write that character.
func hasNUL(s []byte) bool {
	const escape = `\u0000`
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return false
		}
		if bytes.HasPrefix(s[i:], []byte(escape)) {
			return true
		}
		s = s[i+2:]
	}
}
