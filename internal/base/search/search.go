// Package search has texts compared alike: what is stored of them to be searched, and the patterns of SQL's LIKE.
package search

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold is s as searches compare it: NFKC, in lower case.
func Fold(s string) string { return strings.ToLower(norm.NFKC.String(s)) }

// Separator is between texts that are stored as one to be searched. No search has it, so that none
// finds the end of a text with the beginning of the next.
const Separator = "\x01"

// Searched is what is stored of texts to be searched.
func Searched(texts ...string) string { return Fold(strings.Join(texts, Separator)) }

// Like is the pattern of SQL's LIKE … ESCAPE '!' by which a search for s finds what is stored.
func Like(s string) string { return "%" + escapeLike(Fold(s)) + "%" }

func escapeLike(s string) string {
	return strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(s)
}

// LikeAnyCase makes SQL's LIKE … ESCAPE '!' find a text in upper and lower case alike, which databases know by their locale: any
// letter stands for each, so what it finds is to be looked at.
func LikeAnyCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return '_'
		}
		return r
	}, escapeLike(s))
}

// maxKey is how many bytes of a text an index is sure to take.
const maxKey = 2000

// Key is the beginning of Fold(s), for an index.
func Key(s string) string {
	folded := Fold(s)
	if len(folded) <= maxKey {
		return folded
	}
	return strings.ToValidUTF8(folded[:maxKey], "")
}
