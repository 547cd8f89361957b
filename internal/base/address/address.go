// Package address checks plain e-mail addresses and brings them into the one form that foyer stores, compares and writes
// in mail headers.
package address

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"foyer/internal/base/origin"
)

// MaxLength is the longest address that fits SMTP's path of 256 characters
// (RFC 5321 section 4.5.3.1.3), less the angle brackets.
const MaxLength = 254

var errAddress = errors.New("not an e-mail address of the form name@host.example")

// ErrTooLong says that an address, with its domain in ASCII, is longer than MaxLength.
var ErrTooLong = fmt.Errorf("longer than %d characters", MaxLength)

// localhost is the only host without a dot that can send and receive mail.
const localhost = "localhost"

// Parse reads a plain address and returns it trimmed, in lower case, with the domain in ASCII (IDNA). It refuses display
// names, quotes, comments and address literals.
func Parse(s string) (string, error) {
	local, domain, _ := strings.Cut(strings.TrimSpace(s), "@")
	if !dotAtom(local) || len(local) > 64 {
		return "", errAddress
	}
	if domain != localhost {
		var err error
		if domain, err = Domain(domain); err != nil {
			return "", errAddress
		}
	}
	if len(local)+1+len(domain) > MaxLength {
		return "", ErrTooLong
	}
	return strings.ToLower(local) + "@" + domain, nil
}

// In reports whether text contains the address plain, in the form Parse returns, and not just as part of a longer address.
func In(text, plain string) bool {
	text = strings.ToLower(text)
	for from := 0; ; {
		at := strings.Index(text[from:], plain)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after := text[at+len(plain):]
		if strings.HasPrefix(after, ".") || strings.HasPrefix(after, "-") {
			after = after[1:] // at the end of a sentence
		}
		next, _ := utf8.DecodeRuneInString(after)
		if !letterOrDigit(before) && !strings.ContainsRune("._%+-", before) && !letterOrDigit(next) {
			return true
		}
		from = at + 1
	}
}

// domainNames accepts names that DNS can hold (RFC 1035 section 2.3.4, RFC 5891), made of letters, digits and hyphens
// (RFC 952, RFC 1123 section 2.1).
var domainNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// maxDomain is more bytes than a valid name can have: in ASCII, a name has at most 253 characters. Longer names are
// refused early because ToASCII takes quadratic time for text with many different letters.
const maxDomain = 4 * 253

var errDomain = errors.New("not a domain like example.com")

// Domain reads an internet domain name and returns it in lower case, in ASCII (IDNA).
func Domain(s string) (string, error) {
	if len(s) > maxDomain {
		return "", errDomain
	}
	ascii, err := domainNames.ToASCII(origin.Lower(s))
	if err != nil || !publicName(ascii) {
		return "", errDomain
	}
	return ascii, nil
}

// dotAtom reports whether a local part needs no quotes (RFC 5322 section 3.2.3).
func dotAtom(s string) bool {
	return !slices.ContainsFunc(strings.Split(s, "."), func(atom string) bool { return atom == "" || strings.ContainsFunc(atom, notAtomText) })
}

func notAtomText(r rune) bool {
	return !letterOrDigit(r) && (r < 'A' || r > 'Z') && !strings.ContainsRune("!#$%&'*+/=?^_`{|}~-", r)
}

// publicName reports whether a name that domainNames accepts is a host below another domain. The last label must begin
// with a letter: otherwise the name is an IP address, or ends in a dot.
func publicName(s string) bool {
	labels := strings.Split(s, ".")
	last := labels[len(labels)-1]
	return len(labels) > 1 && last != "" && last[0] >= 'a'
}

func letterOrDigit(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

// DomainOf returns the part of an address after the @.
func DomainOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }
