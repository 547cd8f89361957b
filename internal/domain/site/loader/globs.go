package loader

import (
	"slices"
	"strconv"
	"strings"
)

var readable = strings.NewReplacer("%5E", "^", "%5e", "^", "%7C", "|", "%7c", "|")

// Globs returns the forms in which location.pathname may have a glob, for the script to compare: Chromium encodes ^ and
// |, Firefox and WebKit only ^, older browsers neither. Percent codes have capital digits, as browsers write them, or
// small ones, as in links made by WordPress.
func Globs(glob string) []string {
	glob = readable.Replace(glob)
	var all []string
	for _, also := range []string{"", "^", "^|"} {
		all = append(all, encoded(glob, also, "0123456789ABCDEF"), encoded(glob, also, "0123456789abcdef"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// encoded returns a glob with percent codes for the characters that all browsers encode and for those in also; digits
// are the hexadecimal digits of the codes.
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

// code returns the byte of the percent code that a text begins with, or else its first byte.
func code(text string) (c byte, isCode bool) {
	if text[0] == '%' && len(text) > len("FF") {
		if value, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
			return byte(value), true
		}
	}
	return text[0], false
}
