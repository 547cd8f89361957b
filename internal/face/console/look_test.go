package console

import "testing"

func TestPicture(t *testing.T) {
	t.Parallel()
	for icon, want := range map[string]bool{
		"data:image/png;base64,iVBORw0KGgo=": true, "data:image/svg+xml;charset=utf-8,%3Csvg%2F%3E": true,
		"": false, "https://x.example/a.png": false, "icon.png": false, "data:text/html,x": false, `data:image/png,"><script>`: false, "data:image/svg+xml,<svg>": false, "data:image/png,a\nb": false,
	} {
		if got := picture(icon); (got != "") != want {
			t.Errorf("%q: %q", icon, got)
		}
	}
}

func TestInitials(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Banner": "B", "cookie notice bar": "CN", "(été) 2": "É2", "<!>": "", "": "", "हिन्दी ऐप": "हऐ", "می\u200cخواهم": "م", "e\u0301te\u0301": "E", "❤\ufe0f Club 👩\u200d🚀": "C"} {
		if got := initials(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// Program text shows what its author may hide from reviewers: letters without a shape, and characters that reorder it.
func TestCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\tlet é = \"ü\"\r\n": "\tlet é = \"ü\"\r\n", "a\u202eb\x1b": "a<U+202E>b<U+001B>",
		"{a, \u3164}\ufe00\U000e0101\u034f": "{a, <U+3164>}<U+FE00><U+E0101><U+034F>",
	} {
		if got := code(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
