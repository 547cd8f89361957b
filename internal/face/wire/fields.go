package wire

import (
	"math"
	"strconv"
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
)

// maxDepth is how many levels deep an object or array in a field may be nested.
const maxDepth = 64

// find returns the value of a member, or "" if there is none.
func (o Object) find(name string) value {
	for _, m := range o {
		if m.Name == name {
			return m.value
		}
	}
	return ""
}

// read tells apart what a field may be: absent, null, or a value, which do reads if it has one of the kinds (see
// value.kind). want is what the field must be, in words.
func read[T any](o Object, name, kinds, want string, do func(name string, v value) patch.Field[T]) patch.Field[T] {
	switch v := o.find(name); {
	case v == "":
		return patch.Field[T]{}
	case v.kind() == 'n':
		return patch.Field[T]{Set: true, Null: true}
	case strings.IndexByte(kinds, v.kind()) < 0:
		return wrong[T](name, want, v)
	default:
		return do(name, v)
	}
}

func wrong[T any](name, want string, v value) patch.Field[T] {
	return refused[T](name, "Must be "+want+", not "+v.kindWord()+".")
}

func refused[T any](name, detail string) patch.Field[T] {
	return patch.Field[T]{Set: true, Fault: fault.Field(fault.Invalid, name, "%s", detail)}
}

// Text reads a string.
func (o Object) Text(name string) patch.Field[string] {
	return read(o, name, `"`, "a string", unquoted)
}

// Choice reads a string, or a number as its text: some values have both a number and a name.
func (o Object) Choice(name string) patch.Field[string] {
	return read(o, name, `"0`, "a number or a string", func(name string, v value) patch.Field[string] {
		if v.kind() == '0' {
			return patch.Of(decimal(string(v)))
		}
		return unquoted(name, v)
	})
}

// decimal writes a whole number in digits only, even if it is spelled 8.0 or 8e0. Any other number stays as it is.
func decimal(number string) string {
	const exact = 1 << 53 // below, a float64 holds every whole number
	if strings.ContainsAny(number, ".eE") {
		if n, err := strconv.ParseFloat(number, 64); err == nil && n == math.Trunc(n) && math.Abs(n) < exact {
			return strconv.FormatInt(int64(n), 10)
		}
	}
	return strings.Clone(number)
}

func unquoted(name string, v value) patch.Field[string] {
	text := v.text()
	if strings.IndexByte(text, 0) >= 0 {
		return refused[string](name, "Must not contain the NUL character.")
	}
	return patch.Of(text)
}

// Bool reads a boolean.
func (o Object) Bool(name string) patch.Field[bool] {
	return read(o, name, "tf", "true or false", func(_ string, v value) patch.Field[bool] {
		return patch.Of(v.kind() == 't')
	})
}

// Texts reads an array of strings.
func (o Object) Texts(name string) patch.Field[[]string] {
	const want = "an array of strings"
	return read(o, name, "[", want, func(name string, v value) patch.Field[[]string] {
		texts := []string{}
		for _, item := range v.items() {
			if item.kind() != '"' {
				return wrong[[]string](name, want, item)
			}
			text := unquoted(name, item)
			if text.Fault != nil {
				return patch.Field[[]string]{Set: true, Fault: text.Fault}
			}
			texts = append(texts, text.Value)
		}
		return patch.Of(texts)
	})
}

// JSON reads an object or an array and returns its text as sent, without the white space between tokens.
func (o Object) JSON(name string) patch.Field[string] {
	return read(o, name, "{[", "an object, an array or null", func(name string, v value) patch.Field[string] {
		return Member{value: v}.Value(name)
	})
}

func tooDeep(field string) error {
	return fault.Field(fault.Invalid, field, "Must be nested at most %d levels deep.", maxDepth)
}

// Int reads a whole number.
func (o Object) Int(name string) patch.Field[int64] {
	const want = "a whole number"
	return read(o, name, "0", want, func(name string, v value) patch.Field[int64] {
		n, err := strconv.ParseInt(decimal(string(v)), 10, 64)
		if err != nil {
			return refused[int64](name, "Must be "+want+".")
		}
		return patch.Of(n)
	})
}

// Value reads a member of any type as JSON without white space between tokens. Its faults name the field name.
func (m Member) Value(name string) patch.Field[string] {
	switch text, depth := m.value.compact(); {
	case m.value.kind() == 'n':
		return patch.Field[string]{Set: true, Null: true}
	case depth > maxDepth:
		return patch.Field[string]{Set: true, Fault: tooDeep(name)}
	case m.value.hasNUL():
		return refused[string](name, "Must not contain the NUL character.")
	default:
		return patch.Of(text)
	}
}
