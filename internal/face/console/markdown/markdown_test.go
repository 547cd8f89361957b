package markdown_test

import (
	"regexp"
	"strings"
	"testing"

	"foyer/internal/face/console/markdown"
)

func TestHTML(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"# Banner\n\nSee [the **guide**](https://x.example/a?b&c).": "<h3>Banner</h3>\n<p>See <a href=\"https://x.example/a?b&amp;c\" rel=\"nofollow noopener noreferrer\">the <strong>guide</strong></a>.</p>\n",
		"###### deep":                   "<h6>deep</h6>\n",
		"- `a`\n- b":                    "<ul>\n<li><code>a</code></li>\n<li>b</li>\n</ul>\n",
		"![a picture](https://x/y.png)": "<p>a picture</p>\n",
		"[![badge](https://x/y.svg)](https://x.example/)":       "<p><a href=\"https://x.example/\" rel=\"nofollow noopener noreferrer\">badge</a></p>\n",
		"[x](javascript:alert(1)) [y](docs/a.md) [z](//h/p)":    "<p>x y z</p>\n",
		"<javascript:alert(1)>":                                 "<p>javascript:alert(1)</p>\n",
		"<a@x.example> ![p](https://x/y.png) [z](/z) <ftp://x>": "<p>a@x.example p z ftp://x</p>\n",
		"a <b onclick=x>b</b>":                                  "<p>a <!-- raw HTML omitted -->b<!-- raw HTML omitted --></p>\n",
		"<script>alert(1)</script>":                             "<!-- raw HTML omitted -->\n",
		"`<script>`":                                            "<p><code>&lt;script&gt;</code></p>\n",
		"\u202ea":                                               "<p>a</p>\n",
		"":                                                      "",
	} {
		if got := string(markdown.HTML(source)); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}

// Nothing of a text runs, whatever is in it. A text that takes the parser squared time is bounded by its length.
func TestHostile(t *testing.T) {
	t.Parallel()
	bad := regexp.MustCompile(`(?i)<(script|img|iframe|style|svg|object|form|input)|<[^>]*\son\w+=|(href|src)="(javascript|data|vbscript):`)
	for _, part := range []string{
		">", "[", "![](", "*", "_a", "`", "<", "- ", "1. ", "|a", "\n\n#", "<a href=\"javascript:x\">", "[a](data:text/html,x) ", "[a]: javascript:x\n[a] ", "<img src=x onerror=x>",
		"&#106;avascript:", "[x](&#106;avascript:alert(1)) ", "<style>", "\x00", "\xff", "a  \n", "~~~\n", "    x\n", "[a][a]", "\\",
	} {
		got := string(markdown.HTML(strings.Repeat(part, 40_000/len(part))))
		if found := bad.FindString(got); found != "" {
			t.Errorf("%q: %s", part, found)
		}
	}
	for source, want := range map[string]string{"a **b**": "a <strong>b</strong>", "# <a>": "# &lt;a&gt;", "a\n\nb": "a\n\nb", "": ""} {
		if got := string(markdown.Inline(source)); got != want {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
	if !markdown.Cut(strings.Repeat("x", 20_000)) || markdown.Cut("x") {
		t.Error("it does not say what is cut")
	}
}

// The parser gives each row of a table as many cells as its heading: a text of 16 KiB would otherwise make a page of 80
// MB.
func TestTables(t *testing.T) {
	t.Parallel()
	if got := string(markdown.HTML("a | b\n-|-\n1 | 2\n3")); strings.Count(got, "<td>") != 4 {
		t.Error(got)
	}
	for _, size := range []int{1 << 10, 16 << 10} {
		columns := size / 8
		wide := strings.Repeat("a|", columns) + "\n" + strings.Repeat("-|", columns) + "\n" + strings.Repeat("|\n", 2*columns)
		if got := len(markdown.HTML(wide)); got > 10*size {
			t.Errorf("%d bytes of text became %d", len(wide), got)
		}
	}
}

// Each link gets the address and the title of its definition: a text of 16 KiB would otherwise make a page of 50 MB.
func TestLinks(t *testing.T) {
	t.Parallel()
	if got := string(markdown.HTML("[a]: https://x.example/ 'b'\n\n" + strings.Repeat("[a] ", 10))); strings.Count(got, `<a href="https://x.example/" title="b"`) != 10 {
		t.Error(got)
	}
	for _, size := range []int{1 << 10, 16 << 10} {
		for _, define := range []string{"[a]: https://x.example/%s\n\n", "[a]: https://x.example/ '%s'\n\n"} {
			for _, link := range []string{"[a]", "![a]", "*[a][]*"} {
				source := strings.ReplaceAll(define, "%s", strings.Repeat("&", size/2)) + "<a@x.example> "
				source += strings.Repeat(link, (size-len(source))/len(link))
				if got := len(markdown.HTML(source)); got > 40*size {
					t.Errorf("%d bytes of text became %d", len(source), got)
				}
			}
		}
	}
}

// A page can have many short texts: long ones are not parsed.
func TestShort(t *testing.T) {
	t.Parallel()
	long := "**<b** " + strings.Repeat("x", 1<<10)
	for source, want := range map[string]string{"**a**": "<p><strong>a</strong></p>\n", long: "<p>**&lt;b** " + strings.Repeat("x", 1<<10) + "</p>\n"} {
		if got := string(markdown.Short(source)); got != want {
			t.Errorf("%.20q: %q", source, got)
		}
		if got := "<p>" + string(markdown.Inline(source)) + "</p>\n"; got != want {
			t.Errorf("%.20q within another: %q", source, got)
		}
	}
}
