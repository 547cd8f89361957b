package loader

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var percentCodes = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// Globs are a glob as location.pathname may have it, which the script compares: with the percent codes of its characters
// in capitals, as browsers write them, and in small letters, as in the links that WordPress makes.
func Globs(glob string) []string {
	var b strings.Builder
	for _, c := range []byte(glob) {
		if c <= ' ' || c > '~' || strings.IndexByte("\"#<>?`{}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	capitals := percentCodes.ReplaceAllStringFunc(b.String(), strings.ToUpper)
	small := percentCodes.ReplaceAllStringFunc(capitals, strings.ToLower)
	return slices.Compact([]string{capitals, small})
}
