package plaintext_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"foyer/internal/base/plaintext"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Ada Lovelace", "Ada Lovelace"},
		{"spaces", "  Ada \t\u00a0 Lovelace ", "Ada Lovelace"},
		{"header", "Ada\r\nBcc: all@evil.example", "Ada Bcc: all@evil[.]example"},
		{"nul", "A\x00da\x1b[31m", "Ada[31m"},
		{"bidi", "\u202eadA\u202c \u2066x\u2069\u200f\u061c", "adA x"},
		{"zero width", "e\u200bvil.ex\u00adam\u2060ple\ufeff", "evil[.]example"},
		{"invisible letters", "A\u115fd\u3164a\u034f", "Ada"},
		{"bad utf-8", "A\xffda\xc3", "Ada"},
		{"tags", "Ada\U000e0041\U000e007f", "Ada"},
		{"separators", "a\u2028b\u2029c\u0085d", "a b c d"},
		{"umlauts", "Jürgen Müller-Lüdenscheid", "Jürgen Müller-Lüdenscheid"},
		{"towers", "Z" + strings.Repeat("\u0301", 100) + "a", "Z" + strings.Repeat("\u0301", 6) + "a"},
		{"emoji", "Ada 🎉 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈", "Ada 🎉 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈"},
		{"joiners", "می\u200cخواهم ශ්\u200dරී \u200c\u200da^\u200d¦\u200db\u200dc\u061c\u200dd\xff\u200de م\u200b\u200cا", "می\u200cخواهم ශ්\u200dරී a^¦bcde م\u200cا"},
		{"towers with joiners", "क" + strings.Repeat("्\u200d", 100) + "a", "क" + strings.Repeat("्\u200d", 6) + "a"},
		{"no tower", "क" + strings.Repeat("्", 6) + "\u200da", "क" + strings.Repeat("्", 6) + "\u200da"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := plaintext.Line(c.in, 100); got != c.want {
				t.Errorf("Line(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestLineIsCut(t *testing.T) {
	t.Parallel()
	if got := plaintext.Line(strings.Repeat("ä", 5000), 80); got != strings.Repeat("ä", 79)+"…" {
		t.Errorf("got %q", got)
	}
	if got := plaintext.Line(strings.Repeat("ä", 80), 80); got != strings.Repeat("ä", 80) {
		t.Errorf("got %q", got)
	}
	if got := plaintext.Line(strings.Repeat("a.bc", 20), 10); utf8.RuneCountInString(got) > 10 {
		t.Errorf("got %q", got)
	}
}

// A paragraph has one kind of line break and one kind of space.
func TestWhiteSpaceOfAParagraph(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a\r\nb\rc\u0085d\u2028e\u2029f\tg\u00a0h\u3000i", "a\nb\nc\nd\ne\nf g h i"} {
		if got := plaintext.Multiline(s); got != "a\nb\nc\nd\ne\nf g h i" {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}

// Line reads only the beginning of a long text, and marks the cut.
func TestLineOfALongText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("\u200b", 1<<20) + "end", "a" + strings.Repeat("\u0301", 1<<20), strings.Repeat("ü", 1<<20)} {
		if got := plaintext.Line(text, 20); utf8.RuneCountInString(got) > 20 || !strings.HasSuffix(got, "…") {
			t.Errorf("%q", got)
		}
	}
}

func TestNothingBecomesALink(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://evil.example/a.b?c=d":    "https[:]//evil[.]example/a[.]b?c=d",
		"HTTP://EVIL.EXAMPLE.":            "HTTP[:]//EVIL[.]EXAMPLE.",
		"ftp://localhost/x":               "ftp[:]//localhost/x",
		"see www.evil.example, ok":        "see www[.]evil[.]example, ok",
		"evil.example:8080/x":             "evil[.]example:8080/x",
		"ada@evil.example":                "ada@evil[.]example",
		"10.0.0.1/x":                      "10[.]0[.]0[.]1/x",
		"evil。example":                    "evil[.]example",
		"evil．example":                    "evil[.]example",
		"evil｡example":                    "evil[.]example",
		"evil․example":                    "evil[.]example",
		"еvіl.ехаmрlе":                    "еvіl[.]ехаmрlе",
		"例え.テスト":                          "例え[.]テスト",
		"💩.la":                            "💩[.]la",
		"👩\u200d\u200c.la":                "👩\u200d[.]la",
		"سایت\u200c.com":                  "سایت\u200c[.]com",
		"evil.م\u200c\u200cا":             "evil[.]م\u200cا",
		"م\u200c。example":                 "م\u200c[.]example",
		"evil.com_x":                      "evil[.]com_x",
		"http：／／evil.example":             "http[:]//evil[.]example",
		"mailto:root@localhost":           "mailto[:]root@localhost",
		"evil.xn--p1ai":                   "evil[.]xn--p1ai",
		"(evil.example)":                  "(evil[.]example)",
		"xn--e1afmkfd.xn--80akhbyknj4f/a": "xn--e1afmkfd[.]xn--80akhbyknj4f/a",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			if got := plaintext.Multiline(in); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"Hi Ada.\n\nThis took 3.5 hours, e.g. on Monday. Wait... what?\n- v1.2.3 (i.e. 2.5GB): done!",
		"Note: this/that, 10:30, ratio 4:3, 50 % & <3",
		"你好。我们在等你。", "ようこそ。お待ちしています。", "U.S.A., a.m. and p.m.",
	} {
		if got := plaintext.Multiline(s); got != s {
			t.Errorf("got %q, want %q", got, s)
		}
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"ada+x@example.com":           "ada+x@example.com",
		"r&d@example.com":             "r&d@example.com",
		"evil.example/x@example.com":  "evil[.]example/x@example[.]com",
		"\"a http://e.example\"@b.co": "\"a http[:]//e[.]example\"@b[.]co",
		"a\r\nb@example.com":          "a b@example[.]com",
	} {
		if got := plaintext.Address(in); got != want {
			t.Errorf("Address(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzMultiline(f *testing.F) {
	for _, s := range []string{"a.b", "http://e.example", "\u202e\r\n\x00", "evil。example...", "::///", "\xff", "a.\u0301bc.de", "م\u200c\u200d.क्क्\u200d"} {
		f.Add(s)
	}
	link := regexp.MustCompile(`://|[A-Za-z0-9]\.[A-Za-z]{2}`)
	f.Fuzz(func(t *testing.T, s string) {
		got := plaintext.Multiline(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		var before rune
		for _, r := range got {
			joiner := unicode.Is(unicode.Join_Control, r) && before > unicode.MaxLatin1 && !unicode.In(before, unicode.C, unicode.Latin)
			if r != '\n' && unicode.In(r, unicode.C) && !joiner {
				t.Fatalf("%U stayed in %q", r, got)
			}
			before = r
		}
		if link.MatchString(got) {
			t.Fatalf("a link stayed in %q", got)
		}
		if again := plaintext.Multiline(got); again != got {
			t.Fatalf("cleaned twice %q becomes %q", got, again)
		}
		if line := plaintext.Line(s, 20); strings.Contains(line, "\n") || utf8.RuneCountInString(line) > 20 {
			t.Fatalf("not one short line: %q", line)
		}
	})
}

func TestShell(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"", "a b", "it's", "''", `$HOME "\n" * {a,b}`, "a\nb"} {
		got, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+plaintext.Shell(want)).Output()
		if err != nil || string(got) != want {
			t.Errorf("%q became %q, %v", want, got, err)
		}
	}
}
