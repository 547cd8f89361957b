// Package plaintext makes text from strangers safe to show: without invisible or reordering characters, and without
// anything that a mail program would turn into a link. Escaping for HTML is left to html/template.
package plaintext

import (
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// pattern is a regular expression that is compiled on first use: one that names all letters takes a tenth of a
// millisecond, which every start of the program would pay, even that of a child process.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// Multiline returns s for a paragraph: line breaks stay, as \n.
func Multiline(s string) string { return defang(Visible(s)) }

// Visible returns s for a paragraph on a page, where nothing turns text into links.
func Visible(s string) string { return strings.TrimSpace(visible(s)) }

// Line returns s on one line of at most limit characters; a longer text ends in "…".
func Line(s string, limit int) string { return oneLine(s, limit, defang) }

// VisibleLine is like Line, for a page, where nothing turns text into links.
func VisibleLine(s string, limit int) string {
	return oneLine(s, limit, func(s string) string { return s })
}

func oneLine(s string, limit int, change func(string) string) string {
	long := len(s) > limit*lineBytes
	if long {
		s = s[:limit*lineBytes]
	}
	line := []rune(strings.Join(strings.Fields(change(visible(s))), " "))
	if !long && len(line) <= limit {
		return string(line)
	}
	return strings.TrimSpace(string(line[:min(len(line), limit-1)])) + "…"
}

// lineBytes is how many bytes of a text are read for each character of a line: showing the beginning of a megabyte would
// otherwise take tenths of a second.
const lineBytes = 64

var plainAddress = pattern(`^[A-Za-z0-9._%&+'-]+@[A-Za-z0-9.-]+$`)

// Minute formats a time for mails and pages.
func Minute(t time.Time) string { return t.UTC().Format("Monday, 2 January 2006, 15:04 UTC") }

// Address returns an e-mail address unchanged, so that people can reply to it; a text that does not look like an address
// becomes a Line.
func Address(s string) string {
	if plainAddress().MatchString(s) {
		return s
	}
	return Line(s, 254)
}

// visible drops invalid UTF-8 and every control, format (bidi, zero-width) and otherwise invisible character, except
// joiners that shape a word or an emoji. It keeps two kinds of white space: ' ' and \n.
func visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\u0085', unicode.In(r, unicode.Zl, unicode.Zp):
			return '\n'
		case r == '\t', unicode.Is(unicode.Zs, r):
			return ' '
		case r == utf8.RuneError, unicode.In(r, unicode.C, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, s)
	return stackedMarks().ReplaceAllString(s, "$1")
}

// joiners are the characters that join or separate the letters around them: without them, Persian words are misspelled,
// and a family is shown as its members.
const joiners = `\x{200C}\x{200D}`

// joined are the characters that joiners follow: letters of Arabic and Indic scripts, and the parts of emojis.
var joined = []*unicode.RangeTable{
	unicode.Arabic, unicode.Bengali, unicode.Devanagari, unicode.Gujarati, unicode.Gurmukhi, unicode.Kannada, unicode.Malayalam,
	unicode.Oriya, unicode.Sinhala, unicode.Tamil, unicode.Telugu, unicode.So, unicode.Sk, unicode.Variation_Selector,
}

// joins reports whether a joiner has a use after a character. Latin-1's symbols are part of no joined emoji.
func joins(r rune) bool {
	return r > unicode.MaxLatin1 && r != utf8.RuneError && unicode.In(r, joined...)
}

// Map is strings.Map, but keeps a joiner if it has a use after the character that is shown before it.
func Map(mapping func(rune) rune, s string) string {
	before := utf8.RuneError
	return strings.Map(func(r rune) rune {
		if !unicode.Is(unicode.Join_Control, r) || !joins(before) {
			r = mapping(r)
		}
		if r >= 0 {
			before = r
		}
		return r
	}, s)
}

// Shapeless reports whether a character has no shape of its own, such as U+3164 or a variation selector: a text may hide
// something in such characters.
func Shapeless(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// stackedMarks finds more accents on one letter than any script needs: they would cover the lines around them.
var stackedMarks = pattern(`((?:\pM[` + joiners + `]?){6})\pM[\pM` + joiners + `]*`)

// Dots that browsers read as the dot of a host name. The ideographic ones end sentences in Chinese and Japanese, so they
// count only next to Latin text.
const (
	dot         = `[.\x{2024}\x{FE52}\x{FF0E}]`
	ideographic = `[\x{3002}\x{FE12}\x{FF61}]`
)

var (
	word   = pattern(`[^ \n]+`)
	anyDot = pattern(dot + `|` + ideographic)

	// "evil.example", "1.2.3.4"; but not "3.5", "e.g.", "wait...what".
	hostLike = pattern(
		`[\pL\pM\pN\pS_` + joiners + `-]` + dot + `\pL[\pL\pM\pN` + joiners + `-]` +
			`|\pN` + dot + `\pN+` + dot + `\pN+` + dot + `\pN` +
			`|[\pL\pM\pN` + joiners + `]` + ideographic + `[0-9A-Za-z]` +
			`|[0-9A-Za-z]` + ideographic + `[\pL\pN]`)

	scheme     = pattern(`[:\x{FE13}\x{FE55}\x{FF1A}]([/\x{FF0F}]{2})`)
	bareScheme = pattern(`(?i)\b(mailto|tel|sms):`)
)

// defang breaks urls and host names: "http[:]//evil[.]example".
func defang(s string) string {
	s = scheme().ReplaceAllString(s, "[:]//")
	s = bareScheme().ReplaceAllString(s, "$1[:]")
	return word().ReplaceAllStringFunc(s, func(w string) string {
		if !hostLike().MatchString(w) {
			return w
		}
		host := strings.TrimRight(w, ".") // a dot at the end of a sentence
		return anyDot().ReplaceAllString(host, "[.]") + w[len(host):]
	})
}

var (
	// initials may stand before a name without a space, like J.R.Robert, unless the following text makes them a host in a
	// link, like T.Co/x.
	initials = pattern(`^(?:\p{Lu}\.)+(\p{Lu}\p{Ll}[\pL\pM]*(?:[-'’,]|$))`)
	// otherLink finds other texts that mail programs turn into links: x@y, mailto:x, //x.
	otherLink = pattern(`(?i)\S[@\x{FE6B}\x{FF20}]\S|[a-z][:\x{FE13}\x{FE55}\x{FF1A}]\S|[/\x{FF0F}]{2}|www` + dot)
)

// HasLink reports whether a mail program might turn part of a name into a link, whatever invisible characters it has.
func HasLink(name string) bool {
	if !strings.ContainsFunc(name, unplain) {
		return false
	}
	words := strings.Fields(visible(name))
	for i, w := range words {
		words[i] = initials().ReplaceAllString(w, "$1")
	}
	name = strings.Join(words, " ")
	return hostLike().MatchString(name) || otherLink().MatchString(name)
}

// unplain reports whether a character may be part of a link.
func unplain(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != ' ' && r != '-'
}

// Shell returns s quoted as one word of a shell command.
func Shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
