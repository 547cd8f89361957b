package address_test

import (
	"strings"
	"testing"
	"unicode"

	"foyer/internal/base/address"
)

func TestParse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("b", 61)+".", 3)
	for in, want := range map[string]string{
		" Ada.Lovelace+x@Example.COM\n": "ada.lovelace+x@example.com",
		"ada@BÜCHER.example":            "ada@xn--bcher-kva.example",
		"ada@bücher。example":            "ada@xn--bcher-kva.example",
		"root@localhost":                "root@localhost",
		"o'neil!#$%&*/=?^_`{|}~-@x.co":  "o'neil!#$%&*/=?^_`{|}~-@x.co",
		"a@b.c":                         "a@b.c",
		"Zz09@b.aero":                   "zz09@b.aero",
		long + "ccc":                    long + "ccc",
	} {
		if got, err := address.Parse(in); err != nil || got != want {
			t.Errorf("Parse(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "@", "ada", "ada@", "@example.com", "ada@b", "a@@b.co", "a@b@c.co", "a b@c.co", "a@b .co", ".a@b.co", "a.@b.co", "a..b@c.co",
		"Ada <ada@example.com>", "<ada@example.com>", `"a b"@c.co`, "a@[127.0.0.1]", "a@127.0.0.1", "a@-b.co", "a@b-.co", "a@b..co", "a@b.co.",
		"ada@example.com, eve@example.com", "a@b.co\r\nBcc: x@y.co", "a\x00@b.co", "ada@exam\u202eple.com", "äda@example.com", "a@xn--\u00fc.co",
		strings.Repeat("a", 65) + "@b.co", long + "cccc", "\u212a@b.co", "a@x_y.example", "a@" + strings.Repeat("x", 64) + ".example",
	} {
		if got, err := address.Parse(in); err == nil {
			t.Errorf("Parse(%q) = %q, want an error", in, got)
		}
	}
}

// Domain refuses a name that is too long without converting it: that many different letters would take seconds.
func TestLongDomain(t *testing.T) { // not parallel: it counts what the process allocates
	var letters strings.Builder
	for r := 'a'; letters.Len() < 60_000; r++ {
		if unicode.IsLower(r) || unicode.Is(unicode.Han, r) {
			letters.WriteRune(r)
		}
	}
	name := letters.String() + ".example"
	allocated := testing.AllocsPerRun(1, func() {
		if got, err := address.Domain(name); err == nil {
			t.Errorf("%.20q is a domain", got)
		}
	})
	if allocated > 0 {
		t.Errorf("it allocates %v times", allocated)
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"ann@sub.example": true, "ask Ann@Sub.Example.": true, "<ann@sub.example>": true, "mail='ann@sub.example'": true, "éann@sub.example-": true,
		"joann@sub.example": false, "ann@sub.example.org": false, "ann@sub.example-org": false, "j.ann@sub.example": false, "ann@sub.examples": false, "ann@sub": false, "": false,
		"joann@sub.example, ann@sub.example": true,
	} {
		if got := address.In(text, "ann@sub.example"); got != want {
			t.Errorf("In(%q) = %t", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Ada@Bücher.example")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := address.Parse(s)
		if err != nil {
			return
		}
		if again, err := address.Parse(got); err != nil || again != got {
			t.Fatalf("%q is read again as %q, %v", got, again, err)
		}
		if len(got) > 254 || strings.ContainsAny(got, " \r\n<>\"") || strings.Count(got, "@") != 1 {
			t.Fatalf("%q is not plain", got)
		}
	})
}

func TestDomain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"Example.COM": "example.com", "bücher.example": "xn--bcher-kva.example", "a.b.co": "a.b.co", "İstanbul.example": "xn--istanbul-o0e.example"} {
		if got, err := address.Domain(in); err != nil || got != want {
			t.Errorf("Domain(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "localhost", ".", "a.", ".a", "a..b", "a.b.co.", "a.b.co..", "a.-b.co", "a.b-.co", "a_b.co", "a b.co", "1.2.3.4", "a@b.co", "a,b.co", strings.Repeat("a.", 127) + "co"} {
		if got, err := address.Domain(in); err == nil {
			t.Errorf("Domain(%q) = %q, want an error", in, got)
		}
	}
}
