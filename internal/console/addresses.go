package console

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	// named is an address in angle brackets, with the name before it.
	named = regexp.MustCompile(`[^<>,;\t]*<([^<>@\s]*@[^<>\s]*)>`)
	// mailto is what mail programs put before an address that is copied.
	mailto = regexp.MustCompile(`(?i)^mailto:([^?]*).*`)
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

// addressesIn are the words of a line that are addresses, or may have been meant to be.
func addressesIn(line string) []string {
	var found []string
	beside := false // an address
	for _, word := range strings.FieldsFunc(named.ReplaceAllString(line, " $1 "), separates) {
		word = mailto.ReplaceAllString(strings.Trim(word, `"'<>()[]*•·:.`), "$1")
		beside = beside || strings.Contains(word, "@")
		if strings.ContainsAny(word, "@.") {
			found = append(found, word)
		}
	}
	if !beside {
		return nil
	}
	return found
}

func separates(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' }

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
