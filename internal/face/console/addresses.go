package console

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	// mailto is what mail programs put before an address that is copied.
	mailto = regexp.MustCompile(`(?i)^mailto:([^?]+).*`)
	// domain is how an address ends that lacks its @, unlike initials.
	domain = regexp.MustCompile(`\.\pL{2,}$`)
)

// addresses are those in a list that may come from a mail or a table. Names and bullets beside
// an address are left out, and so is the heading of a column. What else has no address comes as
// it is, to be told as wrong.
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

// addressesIn are the words of a line that are addresses, or end like one. There are none unless
// one is an address.
func addressesIn(line string) []string {
	if !strings.Contains(line, "@") {
		return nil
	}
	var all []string
	for entry := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(",;\t", r) }) {
		found := map[string]bool{}
		words := strings.FieldsFunc(entry, func(r rune) bool { return unicode.IsSpace(r) || r == '<' || r == '>' })
		for _, word := range words {
			word = mailto.ReplaceAllString(strings.Trim(word, `"'“”„‘’()[]*•·:.`), "$1")
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

// heading reports whether the first line only says what follows, such as Name and E-mail.
func heading(line string) bool {
	return strings.Contains(strings.ToLower(line), "mail") && !strings.ContainsAny(line, "@.")
}
