// Package address knows what a plain e-mail address is, and brings each into the
// one form that foyer stores, compares and puts on a mail.
package address

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxLength is the longest address that fits SMTP's path of 256 characters
// (RFC 5321 section 4.5.3.1.3), less the angle brackets.
const MaxLength = 254

var errAddress = errors.New("not an e-mail address of the form name@host.example")

// ErrTooLong says that an address is longer than MaxLength, its domain in ASCII.
var ErrTooLong = fmt.Errorf("longer than %d characters", MaxLength)

// localhost is the one host without a dot that mail is sent to and from.
const localhost = "localhost"

// Parse reads a plain address: trimmed, lower-cased, the domain in ASCII (IDNA).
// No display name, no quotes, no comments, no address literal.
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

// In reports whether a text has an address, as Parse returns it, that is not a part of another one.
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

// domainNames are names that DNS can hold (RFC 1035 section 2.3.4, RFC 5891).
var domainNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// maxDomain is how many bytes a name is sure not to have: in ASCII it has 253 characters at most. For many different letters,
// ToASCII takes squared time.
const maxDomain = 4 * 253

var errDomain = errors.New("not a domain like example.com")

// Domain reads the name of an internet domain: lower-cased, in ASCII (IDNA).
func Domain(s string) (string, error) {
	if len(s) > maxDomain {
		return "", errDomain
	}
	ascii, err := domainNames.ToASCII(strings.ToLower(s))
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

// publicName reports whether an ASCII name is that of a host below another domain, made
// of letters, digits and hyphens (RFC 952, RFC 1123 section 2.1). Its last part begins
// with a letter: else it is an IP address.
func publicName(s string) bool {
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, notHostText) {
			return false
		}
	}
	return len(labels) > 1 && labels[len(labels)-1][0] >= 'a'
}

func notHostText(r rune) bool { return !letterOrDigit(r) && r != '-' }

func letterOrDigit(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

// DomainOf is what follows the @ of an address.
func DomainOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }
