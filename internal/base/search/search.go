// Package search makes texts comparable: it returns the form that is stored for searching, and a pattern for SQL's LIKE.
package search

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold returns s as searches compare it: NFKC, in lower case. Σ has two forms there, of which one depends on the letters
// around it, and some letters, such as ǰ, are composed only there.
func Fold(s string) string {
	return norm.NFKC.String(strings.ReplaceAll(strings.ToLower(norm.NFKC.String(s)), "ς", "σ"))
}

// Separator separates texts that are stored as one for searching. No search contains it, so none matches the end of one
// text together with the beginning of the next.
const Separator = "\x01"

// Searched returns the form of texts that is stored for searching.
func Searched(texts ...string) string { return Fold(strings.Join(texts, Separator)) }

// LikeAnyCase returns a pattern for SQL's LIKE … ESCAPE '!' that finds a text in any case. How databases fold case
// depends on their locale, so the pattern matches any character in place of a letter, and callers must check what it
// finds.
func LikeAnyCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return '_'
		}
		return r
	}, strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(s))
}

// maxKey is a number of bytes that fits into any index.
const maxKey = 2000

// Key returns the beginning of Fold(s), for an index.
func Key(s string) string {
	folded := Fold(s)
	if len(folded) <= maxKey {
		return folded
	}
	return strings.ToValidUTF8(folded[:maxKey], "")
}
