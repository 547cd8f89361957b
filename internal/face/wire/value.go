package wire

import (
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// value is JSON text that is known to be valid, without white space around it. It
// shares the memory of the body that it was cut out of.
type value string

// kind is the character that a value begins with; '0' stands for all numbers.
func (v value) kind() byte {
	if c := v[0]; c != '-' && (c < '0' || c > '9') {
		return c
	}
	return '0'
}

// kindWord is the word for a value in the text of an error.
func (v value) kindWord() string {
	switch v.kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '0':
		return "a number"
	case '"':
		return "a string"
	case '[':
		return "an array"
	default:
		return "an object"
	}
}

// name decodes a string. Without escapes, the result shares the memory of the value.
func (v value) name() string {
	if plain, ok := v.plain(); ok {
		return plain
	}
	return v.text()
}

// text decodes a string into its own memory: it may be kept for long, and must not keep the body.
func (v value) text() string {
	if plain, ok := v.plain(); ok {
		return strings.Clone(plain)
	}
	text, _ := jsontext.AppendUnquote(nil, v) // fails only on invalid JSON
	return string(text)
}

// plain returns the text between the quotes of a string if it has no escapes.
func (v value) plain() (text string, ok bool) {
	return string(v[1 : len(v)-1]), strings.IndexByte(string(v), '\\') < 0
}

const (
	space      = " \t\r\n"
	separators = space + ",:"
)

// items yields the values in an array with their indices.
func (v value) items() iter.Seq2[int, value] {
	return func(yield func(int, value) bool) {
		rest := v.inside()
		for i := 0; rest != ""; i++ {
			var item value
			if item, rest = rest.next(); !yield(i, item) {
				return
			}
		}
	}
}

// inside returns the content of an array or object, for next to split.
func (v value) inside() value { return v[1 : len(v)-1].trimStart() }

// next cuts off the first of several values; the rest is empty if it was the last.
func (v value) next() (first, rest value) {
	end := v.end()
	return v[:end], v[end:].trimStart()
}

// trimStart drops the separators before the first value in v.
func (v value) trimStart() value {
	for i := range len(v) {
		if strings.IndexByte(separators, v[i]) < 0 {
			return v[i:]
		}
	}
	return ""
}

// end is the index after the first value in v.
func (v value) end() int {
	switch v[0] {
	case '"':
		return v.stringEnd(0)
	case '{', '[':
		return v.nestedEnd()
	}
	if i := strings.IndexAny(string(v), separators); i >= 0 {
		return i
	}
	return len(v)
}

// nestedEnd is the index after the array or object that v begins with.
func (v value) nestedEnd() int {
	level := 0
	for i := 0; ; i++ {
		switch v[i] {
		case '{', '[':
			level++
		case '}', ']':
			if level--; level == 0 {
				return i + 1
			}
		case '"':
			i = v.stringEnd(i) - 1
		}
	}
}

// stringEnd is the index after the string that starts at i.
func (v value) stringEnd(i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// compact returns a copy without the white space between tokens, and its nesting depth.
func (v value) compact() (text string, depth int) {
	var out strings.Builder
	level, done := 0, 0 // v[:done] has been dealt with
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case ' ', '\t', '\r', '\n':
			if done == 0 {
				out.Grow(len(v))
			}
			out.WriteString(string(v[done:i]))
			done = i + 1
		case '{', '[':
			level++
			depth = max(depth, level)
		case '}', ']':
			level--
		case '"':
			i = v.stringEnd(i) - 1
		}
	}
	if done == 0 {
		return strings.Clone(string(v)), depth
	}
	out.WriteString(string(v[done:]))
	return strings.Clone(out.String()), depth // without room for the white space
}

// hasNUL looks for the escape of U+0000 in all strings of a value; the same letters after an escaped backslash do not
// count. JSON has no other way to write NUL.
func (v value) hasNUL() bool {
	for s := string(v); ; {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return false
		}
		if strings.HasPrefix(s[i:], `\u0000`) {
			return true
		}
		s = s[i+2:]
	}
}
