package loader

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	percentCodes = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	readable     = strings.NewReplacer("%5E", "^", "%5e", "^", "%7C", "|", "%7c", "|")
)

// Globs are a glob as location.pathname may have it, which the script compares: Chromium encodes ^ and |, Firefox and
// WebKit ^ alone, older browsers neither. The percent codes are in capitals, as browsers write them, and in small letters,
// as in the links that WordPress makes.
func Globs(glob string) []string {
	glob = readable.Replace(glob)
	var all []string
	for _, also := range []string{"", "^", "^|"} {
		capitals := percentCodes.ReplaceAllStringFunc(encoded(glob, also), strings.ToUpper)
		all = append(all, capitals, percentCodes.ReplaceAllStringFunc(capitals, strings.ToLower))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// encoded is a glob with the percent codes of what all browsers encode, and of some other characters.
func encoded(glob, also string) string {
	var b strings.Builder
	for _, c := range []byte(glob) {
		if c <= ' ' || c > '~' || strings.IndexByte("\"#<>?`{}"+also, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
