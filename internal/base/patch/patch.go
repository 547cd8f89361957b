// Package patch distinguishes the states of a field in a request body, checks texts and reads ids, so that every face
// refuses bad input with the same words.
package patch

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/base/plaintext"
)

// Field is absent (the zero Field), null, unusable, or has a Value.
type Field[T any] struct {
	Set   bool  // the body contains the field
	Null  bool  // the field is null
	Fault error // the field is not a T
	Value T
}

// Of returns a field that has a value.
func Of[T any](v T) Field[T] { return Field[T]{Set: true, Value: v} }

// Or returns the field's value, or fallback when there is none.
func (f Field[T]) Or(fallback T) T {
	if !f.Set || f.Null || f.Fault != nil {
		return fallback
	}
	return f.Value
}

// Apply sets *to to the field's value, if the body contains the field; null is the zero value.
func (f Field[T]) Apply(to *T) {
	if f.Set {
		*to = f.Value
	}
}

// Check returns what makes the field unusable for any purpose: a wrong type, or a null where null has no meaning.
func (f Field[T]) Check(name string) error {
	switch {
	case f.Fault != nil:
		return f.Fault
	case f.Null:
		return fault.Field(fault.Null, name, "Must not be null.")
	}
	return nil
}

// Text checks an optional text of at most limit characters; null means "".
func Text(name string, f Field[string], limit int) error {
	if f.Fault != nil {
		return f.Fault
	}
	if n := utf8.RuneCountInString(f.Value); n > limit {
		return fault.Field(fault.TooLong, name, "Must be at most %d characters long, not %d.", limit, n)
	}
	return nil
}

// RequiredText is Text for a field that, if present, must not be null or empty.
func RequiredText(name string, f Field[string], limit int) error {
	switch err := f.Check(name); {
	case err != nil:
		return err
	case f.Set && Blank(f.Value):
		return fault.Field(fault.Blank, name, "Must not be empty: give 1 to %d characters.", limit)
	}
	return Text(name, f, limit)
}

// Blank reports whether a text shows nothing: it is empty, or consists of spaces, invisible characters, and U+FFFD, which
// stands for invalid bytes and is not displayed.
func Blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		const brailleBlank = '\u2800'
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != brailleBlank && r != utf8.RuneError && !plaintext.Shapeless(r)
	})
}

// SameJSON reports whether two JSON texts without white space between tokens differ at most in the escapes of their
// strings: a client that sends back what it has read may escape other characters.
func SameJSON(a, b string) bool {
	for a != "" && b != "" {
		charA, sizeA := character(a)
		charB, sizeB := character(b)
		if charA != charB {
			return false
		}
		a, b = a[sizeA:], b[sizeB:]
	}
	return a == b
}

const quote rune = -1 // around a string; '"' is one in a string

// character returns the first character of a JSON text, and how many bytes it takes.
func character(text string) (char rune, size int) {
	switch {
	case text[0] == '"':
		return quote, 1
	case text[0] != '\\' || len(text) < 2:
		return utf8.DecodeRuneInString(text)
	case text[1] != 'u' || len(text) < 6:
		if i := strings.IndexByte("bfnrt", text[1]); i >= 0 {
			return rune("\b\f\n\r\t"[i]), 2
		}
		return rune(text[1]), 2
	}
	code, _ := strconv.ParseUint(text[2:6], 16, 16)
	if len(text) >= 12 && text[6:8] == `\u` {
		low, _ := strconv.ParseUint(text[8:12], 16, 16)
		if pair := utf16.DecodeRune(rune(code), rune(low)); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return rune(code), 6
}

// ID reads an id, from 1, in its canonical spelling; it returns 0 for anything else.
func ID(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return 0
	}
	return n
}
