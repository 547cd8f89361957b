package loader

import (
	"slices"
	"strconv"
	"strings"
)

var readable = strings.NewReplacer("%5E", "^", "%5e", "^", "%7C", "|", "%7c", "|")

// Globs are a glob as location.pathname may have it, which the script compares: Chromium encodes ^ and |, Firefox and
// WebKit ^ alone, older browsers neither. The percent codes are in capitals, as browsers write them, and in small letters,
// as in the links that WordPress makes.
func Globs(glob string) []string {
	glob = readable.Replace(glob)
	var all []string
	for _, also := range []string{"", "^", "^|"} {
		all = append(all, encoded(glob, also, "0123456789ABCDEF"), encoded(glob, also, "0123456789abcdef"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// encoded is a glob with the percent codes of what all browsers encode, and of some other characters, by their hexadecimal
// digits.
func encoded(glob, also, digits string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		c, isCode := code(glob[i:])
		switch {
		case isCode:
			i += len("FF")
		case c > ' ' && c <= '~' && strings.IndexByte("\"#<>?`{}"+also, c) < 0:
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}

// code is the byte that a text begins with the percent code of, or begins with.
func code(text string) (c byte, isCode bool) {
	if text[0] == '%' && len(text) > len("FF") {
		if value, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
			return byte(value), true
		}
	}
	return text[0], false
}
