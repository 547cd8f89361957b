package console

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	// mailto matches what mail programs put before a copied address.
	mailto = regexp.MustCompile(`(?i)^mailto:([^?]+).*`)
	// domain matches the end of an address that lacks its @. Initials do not match.
	domain = regexp.MustCompile(`\.\pL{2,}$`)
)

// addresses returns the addresses in a list that may come from a mail or a table. It leaves out names and bullets beside
// an address, and the heading of a column. It returns other words without an address as they are, so that the page can
// report them as wrong.
func addresses(text string) []string {
	var all []string
	for line := range strings.Lines(strings.Map(unseen, text)) {
		found := addressesIn(line)
		line = strings.TrimSpace(line)
		switch {
		case len(found) > 0:
			all = append(all, found...)
		case line != "" && (len(all) > 0 || !heading(line)):
			all = append(all, line)
		}
	}
	return all
}

// commas are those of any keyboard.
const commas = ",;，；、،؛"

// addressesIn returns the words of a line that are addresses, or end like one; none if the line has no @.
func addressesIn(line string) []string {
	if !strings.Contains(line, "@") {
		return nil
	}
	var all []string
	for entry := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(commas+"\t", r) }) {
		found := map[string]bool{}
		words := strings.FieldsFunc(entry, func(r rune) bool { return unicode.IsSpace(r) || r == '<' || r == '>' })
		for _, word := range words {
			word = mailto.ReplaceAllString(strings.Trim(word, `"'“”„‘’()[]*•·:.。`), "$1")
			meant := strings.Contains(word, "@") || domain.MatchString(word)
			if meant && !found[word] { // a link has its address twice
				found[word] = true
				all = append(all, word)
			}
		}
	}
	return all
}

// unseen drops characters such as a zero width space.
func unseen(r rune) rune {
	if unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

// heading reports whether the first line only names the columns, such as Name and E-mail.
func heading(line string) bool {
	return strings.Contains(strings.ToLower(line), "mail") && !strings.ContainsAny(line, "@.")
}
