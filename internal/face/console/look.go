package console

import (
	"html/template"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// pictures matches the icons that a page can hold: the policy of pages allows no others, which would tell third parties
// who looks at them.
var pictures = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^data:image/(png|jpeg|gif|webp|svg\+xml)(;[\w=-]+)*,[\w.~!$&'()*+,;=:@/?%-]*$`)
})

// picture returns an icon of an app if a page can show it; "": there is none.
func picture(icon string) template.URL {
	if !pictures().MatchString(icon) {
		return ""
	}
	return template.URL(icon) // a picture, of letters that end no attribute
}

// initials stand for an app without an icon.
func initials(name string) string {
	var all []rune
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Join_Control) }) {
		first := []rune(word)[0]
		if !unicode.In(first, unicode.L, unicode.Nd) { // of an emoji
			continue
		}
		if all = append(all, unicode.ToUpper(first)); len(all) == 2 {
			break
		}
	}
	return string(all)
}

// hues is the number of colors for initials.
const hues = 6

// hue returns the color of an app's initials, derived from its name: it is the same in every list.
func hue(name string) int {
	sum := 0
	for _, letter := range name {
		sum += int(letter)
	}
	return sum % hues
}
