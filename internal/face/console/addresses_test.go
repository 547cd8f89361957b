package console

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":    nil,
		" \n": nil,
		"ada@x.org\nbob@x.org, eve@x.org; joe@x.org\tkim@x.org":             {"ada@x.org", "bob@x.org", "eve@x.org", "joe@x.org", "kim@x.org"},
		"ada@x.org、bob@x.org，eve@x.org；joe@x.org،kim@x.org。":                {"ada@x.org", "bob@x.org", "eve@x.org", "joe@x.org", "kim@x.org"},
		`"Doe, Jane" <jane@x.org>; Roe, Rick <rick@x.org>`:                  {"jane@x.org", "rick@x.org"},
		"Jane Doe <jane@x.org>":                                             {"jane@x.org"},
		"Jane Doe <jane@x.org> Rick <rick@x.org> eve@x.org":                 {"jane@x.org", "rick@x.org", "eve@x.org"},
		"ada@x.org bob@x.org Jane J.R. Doe <jane@x.org>":                    {"ada@x.org", "bob@x.org", "jane@x.org"},
		"Dr. Jane Doe\tjane@x.org":                                          {"jane@x.org"},
		"“jane@x.org”":                                                      {"jane@x.org"},
		"jane@x.org rick.x.org; Eve Roe <eve.x.org>":                        {"jane@x.org", "rick.x.org", "eve.x.org"},
		"jane@x.org, mailto:?cc=rick@x.org":                                 {"jane@x.org", "mailto:?cc=rick@x.org"},
		"mailto:?cc=jane@x.org":                                             {"mailto:?cc=jane@x.org"},
		"<a@x>":                                                             {"a@x"},
		"jane@x.org <jane@x.org>":                                           {"jane@x.org"},
		"jane@x.org<mailto:jane@x.org>":                                     {"jane@x.org"},
		"mailto:jane@x.org":                                                 {"jane@x.org"},
		"MAILTO:jane@x.org?subject=Hello":                                   {"jane@x.org"},
		"• jane@x.org\n- rick@x.org\n* eve@x.org\n1. joe@x.org\n•kim@x.org": {"jane@x.org", "rick@x.org", "eve@x.org", "joe@x.org", "kim@x.org"},
		"Name\tE-mail\r\nJane Doe\tjane@x.org\r\nRick\trick@x.org":          {"jane@x.org", "rick@x.org"},
		"Email\njane@x.org":                                                 {"jane@x.org"},
		"jane@x.org\u00a0\n\u200brick@x.org\u200b\ufeff":                    {"jane@x.org", "rick@x.org"},
		"'jane@x.org'.":                                                     {"jane@x.org"},
		"o'neil+a@x.org":                                                    {"o'neil+a@x.org"},
		"jane@x.org\n\nnobody":                                              {"jane@x.org", "nobody"},
		"nobody\njane@x.org":                                                {"nobody", "jane@x.org"},
		"janegmail.com\njane@x.org":                                         {"janegmail.com", "jane@x.org"},
		"jane@x.org\nRick by mail\n Rick Roe ":                              {"jane@x.org", "Rick by mail", "Rick Roe"},
		"jane@x.org, rick.x.org, eve@x.org":                                 {"jane@x.org", "rick.x.org", "eve@x.org"},
		"Jane <work>":                                                       {"Jane <work>"},
		"@":                                                                 {"@"},
	} {
		if got := addresses(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

var timed = flag.Bool("timed", false, "TestManyAddresses fails if many addresses take too long, which they may on a busy machine")

// No address is lost, whatever precedes it.
func FuzzAddresses(f *testing.F) {
	f.Add("\"Doe, Jane\" <jane@x.org>; mailto:a@x\u00a0\nName\tE-mail\n• b@x, c.d")
	f.Fuzz(func(t *testing.T, text string) {
		all := addresses(text)
		for _, one := range all {
			if strings.TrimSpace(one) != one || one == "" {
				t.Errorf("%q has %q", text, one)
			}
		}
		for _, separator := range []string{" ", ", ", ";", "\t", "\n", " Last <"} {
			const last = "last@x.org"
			if got := addresses(text + separator + last); got[len(got)-1] != last {
				t.Errorf("%q and %q: %q", text, separator+last, got)
			}
		}
	})
}

// A form has room for tens of thousands of addresses, without a comma between them: parsing them does not take much longer
// than parsing one repeated address.
func TestManyAddresses(t *testing.T) { // not parallel: it measures
	const many = 30_000
	fastest := func(address func(i int) string) time.Duration {
		var text strings.Builder
		for i := range many {
			text.WriteString(address(i) + " ")
		}
		best := time.Hour
		for range 3 {
			began := time.Now()
			if n := len(addresses(text.String())); n != 1 && n != many {
				t.Errorf("%d addresses", n)
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	one := fastest(func(int) string { return "@00000" })
	if took := fastest(func(i int) string { return fmt.Sprintf("@%05d", i) }); *timed && took > 10*one {
		t.Errorf("many addresses take %v, one as many times %v", took, one)
	}
}
