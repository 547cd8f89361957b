// Package site keeps the sites that an organization's apps run on: where each app is placed, with which values, and
// what pages should run now.
package site

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/base/origin"
	"foyer/internal/base/patch"
	"foyer/internal/domain/access"
	"foyer/internal/domain/activity"
)

// Site is a website, or one environment of it.
type Site struct {
	ID             int64
	OrganizationID string
	Name           string
	Token          string // in the urls in its pages
	Enabled        bool
	Demo           bool     // made by the first start
	Origins        []string // whose beacons and previews are accepted; none: all
	Revision       int64    // counted up by each change of the manifest
	AppsCount      int      // number of placements
	CreatedAt      time.Time
	UpdatedAt      time.Time

	stamp  int64            // grows by a random number with each change of apps, see cache.VersionStep
	apps   string           // the entries of the manifest
	access access.AppAccess // of its organization
}

// Draft holds the fields that a caller may set when they create or change a site.
type Draft struct {
	Name    patch.Field[string]
	Enabled patch.Field[bool]
	Origins patch.Field[[]string]
	Reason  patch.Field[string] // why it is switched off; only for changes
	Demo    bool                // made by the first start, with a try page for everybody; only Create reads it
}

const (
	maxSites   = 1000 // of an organization
	maxName    = 200  // characters
	maxOrigins = 50
	maxOrigin  = 300 // characters
)

func (d *Draft) check() error {
	d.Name.Value = strings.TrimSpace(d.Name.Value)
	var faults fault.List
	faults.Add(patch.RequiredText("name", d.Name, maxName))
	faults.Add(d.Enabled.Check("enabled"))
	faults.Add(checkOrigins(d.Origins))
	faults.Add(checkReason(&d.Reason, d.Enabled))
	return faults.Err()
}

// checkReason checks the reason for switching something off, if it is given.
func checkReason(reason *patch.Field[string], enabled patch.Field[bool]) (err error) {
	switch {
	case !reason.Set || reason.Null:
		return nil
	case enabled.Or(true):
		return fault.Field(fault.Invalid, "reason", "A reason is given with `enabled: false`, which it explains: leave it out of any other change.")
	}
	reason.Value, err = activity.CheckReason(*reason)
	return err
}

// apply sets the fields that the draft names.
func (d *Draft) apply(s *Site) {
	d.Name.Apply(&s.Name)
	d.Enabled.Apply(&s.Enabled)
	d.Origins.Apply(&s.Origins)
}

func checkOrigins(f patch.Field[[]string]) error {
	if err := f.Check("origins"); err != nil {
		return err
	}
	if n := len(f.Value); n > maxOrigins {
		return fault.Field(fault.TooLong, "origins", "At most %d origins fit, not %d.", maxOrigins, n)
	}
	for _, origin := range f.Value {
		if !isOrigin(origin) {
			return fault.Field(fault.Invalid, "origins",
				"%.100q is not an origin as browsers send it, like https://shop.example.com: https:// or http://, the host without wildcards, in lower case and in ASCII (xn--bcher-kva.example for bücher.example), or an IP address like 127.0.0.1 or, in hex and as short as it can be, [2001:db8::1], a port unless it is the usual one, and nothing after it, not even a slash.", origin)
		}
	}
	return nil
}

// isOrigin reports whether a text is an origin in the form that browsers send (RFC 6454 section 6.2).
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxOrigin || u.Scheme != "http" && u.Scheme != "https" || origin.Of(u) != text || u.Hostname() == "" || !isHost(u) {
		return false
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>"'\|^{}*`, r) }) {
		return false
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return u.Port() == "" || err == nil && strconv.FormatUint(n, 10) == u.Port()
}

var endsInNumber = regexp.MustCompile(`(^|\.)([0-9]+|0x[0-9a-f]*)\.?$`)

// isHost reports whether browsers keep the host of a url unchanged: they have one form for each IP address, and parse
// any name that ends in a number as one (URL standard, sections 3.5 and 3.6).
func isHost(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return !endsInNumber.MatchString(u.Hostname())
	}
	written := ip.String()
	if b := ip.As16(); ip.Is4In6() {
		written = fmt.Sprintf("::ffff:%x:%x", int(b[12])<<8|int(b[13]), int(b[14])<<8|int(b[15]))
	}
	if ip.Is6() {
		written = "[" + written + "]"
	}
	return strings.TrimSuffix(u.Host, ":"+u.Port()) == written
}

// takes reports whether the site accepts an origin; "" and "null" are not origins.
func (s *Site) takes(origin string) bool {
	return len(s.Origins) == 0 || slices.Contains(s.Origins, origin)
}

// encode writes JSON without the escapes that encoding/json adds for HTML.
func encode(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // values made by this package can always be encoded
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// list returns texts in stored form; no texts are [].
func list(all []string) string {
	if len(all) == 0 {
		return "[]"
	}
	return encode(all)
}
