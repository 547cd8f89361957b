// Package site keeps the sites that an organization's apps run on: where each app is placed, with
// which values, and what pages are to run now.
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
	Token          string // in the urls that its pages have
	Enabled        bool
	Demo           bool     // made by the first start
	Origins        []string // whose beacons and previews count; none: any
	Revision       int64    // counted up by each change of what the manifest says
	AppsCount      int      // how many placements it has
	CreatedAt      time.Time
	UpdatedAt      time.Time

	stamp  int64            // counted up by each change of apps, by a random number, see cache.VersionStep
	apps   string           // what the manifest lists, see entries
	before string           // what it listed in the revision before; only of one that has begun
	runs   string           // the versions among apps, as a revision has them; only of one that has begun
	access access.AppAccess // of its organization
}

// Draft holds the fields a caller may set, when making or changing a site.
type Draft struct {
	Name    patch.Field[string]
	Enabled patch.Field[bool]
	Origins patch.Field[[]string]
	Reason  patch.Field[string] // why it is switched off; only when changing one
	Demo    bool                // the site that the first start makes, whose try page is for everybody; only Create reads it
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

// checkReason reads why something is switched off, if that is told, by a change of enabled.
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

// reasonChange is how the activity tells why something was switched off; nil if it was not, or that is not told.
func reasonChange(field string, before, after bool, reason string) []activity.Change {
	if !before || after || reason == "" {
		return nil
	}
	return []activity.Change{activity.Reason(field, "", reason)}
}

// apply sets the fields that the draft names.
func (d *Draft) apply(s *Site) {
	if d.Name.Set {
		s.Name = d.Name.Value
	}
	if d.Enabled.Set {
		s.Enabled = d.Enabled.Value
	}
	if d.Origins.Set {
		s.Origins = d.Origins.Value
	}
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
				"%.100q is not an origin as browsers send it: https:// or http://, the host in lower case, an IP address like 127.0.0.1 or, in hex and as short as it can be, [2001:db8::1], a port unless it is the usual one, and nothing after it.", origin)
		}
	}
	return nil
}

// isOrigin reports whether a text is an origin as browsers write it (RFC 6454 section 6.2).
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

// isHost reports whether browsers leave the host of a url as it is: they write each IP address in one way, and take any
// name that ends in a number for one (URL standard, sections 3.5 and 3.6).
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

// takes reports whether what comes from an origin counts; "" and "null" are none.
func (s *Site) takes(origin string) bool {
	return len(s.Origins) == 0 || slices.Contains(s.Origins, origin)
}

// encode writes JSON without the escapes that encoding/json adds for HTML.
func encode(v any) string {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // of what this package makes itself, nothing fails
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// list is how texts are stored, none of them as [].
func list(all []string) string {
	if len(all) == 0 {
		return "[]"
	}
	return encode(all)
}
