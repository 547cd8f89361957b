package mail

import (
	"net/url"
	"regexp"
	"strings"

	"foyer/internal/base/plaintext"
)

const (
	// maxText is how many characters of a mail server's response are kept.
	maxText = 300
	// maxLooked is how many bytes of it are checked: each level of escapes takes a pass over them.
	maxLooked = 4 << 10
	// revealing is how many consecutive characters of a secret give it away.
	revealing = 16

	hidden = "[hidden]"
	unfit  = "the mail server's answer repeats a part of the mail that is kept secret, so it is not shown"
)

var (
	// linked matches links like those that foyer mails, whoever they are for.
	linked = regexp.MustCompile(`(?i)((?:/|%2f)invite(?:/|%2f))[^\s]+`)
	// between matches text that cannot be part of a secret.
	between = regexp.MustCompile(`[^0-9A-Za-z_-]+`)
)

// fit turns a mail server's response into one line for a log and a table, without the secrets of the mail: some servers
// repeat a link that they reject.
func fit(said string, secrets []string) string {
	said = said[:min(len(said), maxLooked)]
	text := plaintext.Line(said, len(said)*2+maxText) // cuts nothing off yet
	text = linked.ReplaceAllString(text, "${1}"+hidden)
	for _, secret := range secrets {
		text = regexp.MustCompile(`(?i)`+regexp.QuoteMeta(secret)).ReplaceAllString(text, hidden)
	}
	if reveals(text, secrets) {
		return unfit
	}
	return plaintext.Line(text, maxText)
}

// reveals reports whether a text contains a revealing part of a secret, even with line breaks, percent signs or
// anything else in between.
func reveals(text string, secrets []string) bool {
	squeezed := squeeze(text)
	for _, secret := range secrets {
		whole := squeeze(secret)
		for at := 0; at+revealing <= len(whole); at++ {
			if strings.Contains(squeezed, whole[at:at+revealing]) {
				return true
			}
		}
	}
	return false
}

// squeeze returns a text in lower case, decoded, without characters that cannot be part of a secret.
func squeeze(text string) string {
	return strings.ToLower(between.ReplaceAllString(decode(text), ""))
}

var escaped = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// decode undoes url escapes everywhere in a text, even nested ones.
func decode(text string) string {
	for {
		plain := escaped.ReplaceAllStringFunc(text, func(e string) string {
			decoded, _ := url.PathUnescape(e) // never fails on what escaped matches
			return decoded
		})
		if plain == text {
			return text
		}
		text = plain
	}
}
