// Package address knows what a plain e-mail address is, and brings each into the
// one form that foyer keeps, compares and writes on a mail.
package address

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

// MaxLength is the longest address that fits SMTP's path of 256 characters
// (RFC 5321 section 4.5.3.1.3), less the angle brackets.
const MaxLength = 254

var (
	errAddress = errors.New("not an e-mail address of the form name@host.example")

	localPart = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$")
	hostName  = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]([a-z0-9-]*[a-z0-9])?$`)
)

// localhost is the one host without a dot that mail is sent to and from.
const localhost = "localhost"

// Parse reads a plain address: trimmed, lower-cased, the domain in ASCII (IDNA).
// No display name, no quotes, no comments, no address literal.
func Parse(s string) (string, error) {
	local, domain, _ := strings.Cut(strings.TrimSpace(s), "@")
	if !localPart.MatchString(local) || len(local) > 64 {
		return "", errAddress
	}
	if domain != localhost {
		var err error
		if domain, err = Domain(domain); err != nil {
			return "", errAddress
		}
	}
	if len(local)+1+len(domain) > MaxLength {
		return "", fmt.Errorf("longer than %d characters", MaxLength)
	}
	return strings.ToLower(local) + "@" + domain, nil
}

// domainNames are names that DNS can hold (RFC 1035 section 2.3.4, RFC 5891).
var domainNames = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true), idna.VerifyDNSLength(true))

// Domain reads the name of an internet domain: lower-cased, in ASCII (IDNA).
func Domain(s string) (string, error) {
	ascii, err := domainNames.ToASCII(strings.ToLower(s))
	if err != nil || !hostName.MatchString(ascii) {
		return "", errors.New("not a domain like example.com")
	}
	return ascii, nil
}

// DomainOf is what follows the @ of an address.
func DomainOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }
