package report

import (
	"flag"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

var timed = flag.Bool("timed", false, "tests that measure fail if something takes too long, which it may on a busy machine")

func TestClean(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x is not a function":                                 "x is not a function",
		"reading 'a/b' of 3 and/or 4 (at 12:30, std::x) '/'":  "reading 'a/b' of 3 and/or 4 (at 12:30, std::x) '/'",
		"GET https://shop.example/me?mail=a@b.c failed":       "GET (address) failed",
		"GET /account/ada?token=1 failed for 203.0.113.9":     "GET (address) failed for (address)",
		"from 2001:db8::8a2e:370:7334, Mozilla/5.0 (X11; me)": "from (address), (address)",
		"from fe80::1 or 2001:db8::1":                         "from (address) or (address)",
		"'a::before' is not dd::after Face::decode":           "'a::before' is not dd::after Face::decode",
		"for <a@b.example>":                                   "for <(address)>",
		"jo-/a@b.example of u:p@h@i, a@h,https://x/y@z":       "(address) of (address)@i, (address)",
	} {
		if got := clean(text, 300); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Anybody may send an error, so a text of many short addresses must not take much longer than others.
func TestCleanTakesLinearTime(t *testing.T) { // not parallel: it measures
	fastest := func(text string) time.Duration {
		best := time.Hour
		for range 5 {
			began := time.Now()
			clean(text, 300)
			best = min(best, time.Since(began))
		}
		return best
	}
	usual := fastest(strings.Repeat("a word, ", 1000))
	for _, part := range []string{"1.1.1.1,", "a::,....", "1:2:3:4,", "-/a,....", "x@y@....", "ab://.@.", "Mozilla/"} {
		if took := fastest(strings.Repeat(part, 1000)); *timed && took > 20*usual {
			t.Errorf("1,000 times %q took %v, as many words %v", part, took, usual)
		}
	}
}

// Any text is stored without addresses and at most as long as allowed.
func FuzzClean(f *testing.F) {
	for _, text := range []string{"x is not a function", "GET https://shop.example/me failed", "a@b.example\x00\n", "\xff\xfe", "x://", "@@"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text, 300)
		if strings.ContainsFunc(got, unicode.IsControl) || !utf8.ValidString(got) || utf8.RuneCountInString(got) > 300 || strings.Contains(got, "http://") {
			t.Errorf("%q: %q", text, got)
		}
	})
}
