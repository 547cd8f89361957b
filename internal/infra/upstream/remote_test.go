package upstream_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/base/seal"
	"foyer/internal/infra/upstream"
)

func TestParse(t *testing.T) {
	t.Parallel()
	exact := strings.Repeat("x", 2048-len("https://example.org:65535/"))
	for raw, want := range map[string][2]string{ // URL, Key
		"https://GitHub.com/Joe/App.git":               {"https://GitHub.com/Joe/App.git", "https://github.com/Joe/App"},
		" https://github.com/Joe/App/ ":                {"https://github.com/Joe/App/", "https://github.com/Joe/App"},
		"HTTP://Example.org:8080/a.git/":               {"http://Example.org:8080/a.git/", "http://example.org:8080/a"},
		"https://joe:p%40ss@example.org/a?token=s3cre": {"https://example.org/a", "https://example.org/a"},
		"https://example.org":                          {"https://example.org", "https://example.org"},
		"https://gİthub.com/Joe/App":                   {"https://g%C4%B0thub.com/Joe/App", "https://gi\u0307thub.com/Joe/App"}, // requests go to xn--github-qyd.com
		"https://[::1]:1/a%2Fb":                        {"https://[::1]:1/a%2Fb", "https://[::1]:1/a%2Fb"},
		"https://example.org:65535/" + exact:           {"https://example.org:65535/" + exact, "https://example.org:65535/" + exact},
	} {
		r, err := upstream.Parse(raw)
		if err != nil || r.URL != want[0] || r.Key() != want[1] {
			t.Errorf("Parse(%q): %q, key %q, error %v; want %q", raw, r.URL, r.Key(), err, want)
		}
	}
	for _, raw := range []string{
		"", "app", "/app", "//example.org/app", "git@github.com:joe/app", "ssh://git@example.org/app", "git://example.org/app",
		"file:///etc/passwd", "https://", "https:///app", "https:example.org", "https://example.org/a#v1", "https://exa mple.org/",
		"https://example.org/\x00", "https://example.org/%zz", "https://%ff:x@example.org/", "http://127.0.0.1:65536/x", "http://example.org:0/x",
	} {
		if _, err := upstream.Parse(raw); !fault.Is(err, fault.Invalid) {
			t.Errorf("Parse(%q): error %v; want Invalid", raw, err)
		}
	}
	for _, path := range []string{strings.Repeat("x", 2029), "?" + strings.Repeat("x", 2048), strings.Repeat("界", 660)} {
		if _, err := upstream.Parse("https://example.org/" + path); !fault.Is(err, fault.TooLong) {
			t.Errorf("a path of %d bytes: error %v; want TooLong", len(path), err)
		}
	}
}

func TestRemoteShowsNoSecret(t *testing.T) {
	t.Parallel()
	r := parse(t, "https://joe:s3cret@example.org/a?token=s3cret")
	for _, shown := range []string{
		fmt.Sprint(r), fmt.Sprintf("%+v", r), fmt.Sprintf("%#v", r), fmt.Sprintf("%+v", struct{ r upstream.Remote }{r}), r.Key(),
	} {
		if strings.Contains(shown, "s3cret") {
			t.Errorf("shown: %s", shown)
		}
	}
}

func TestSeal(t *testing.T) {
	t.Parallel()
	box, other := seal.Box{Secret: "a secret"}, seal.Box{Secret: "another"}
	r := parse(t, "https://joe:p%40ss@example.org/a?token=t0k")
	seal := func(r upstream.Remote) string {
		t.Helper()
		sealed, err := r.Seal(box)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	sealed := seal(r)
	if sealed == seal(r) {
		t.Error("sealing twice gives the same text")
	}
	opened, err := upstream.Unseal(box, r.URL, sealed)
	if err != nil || seal(opened) == "" || opened.URL != r.URL {
		t.Errorf("opened %v, error %v", opened, err)
	}
	plain := parse(t, "https://example.org/a")
	if opened, err := upstream.Unseal(box, plain.URL, seal(plain)); err != nil || opened != plain {
		t.Errorf("without a secret: opened %v, error %v", opened, err)
	}
	for name, open := range map[string]func() (upstream.Remote, error){
		"another place":  func() (upstream.Remote, error) { return upstream.Unseal(box, "https://evil.example/a", sealed) },
		"another secret": func() (upstream.Remote, error) { return upstream.Unseal(other, r.URL, sealed) },
		"altered":        func() (upstream.Remote, error) { return upstream.Unseal(box, r.URL, sealed[1:]+sealed[:1]) },
		"no base64":      func() (upstream.Remote, error) { return upstream.Unseal(box, r.URL, "!") },
	} {
		if _, err := open(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without a server secret, Remotes without credentials still work.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	var none seal.Box
	plain, secret := parse(t, "https://example.org/a"), parse(t, "https://joe:secret@example.org/a")
	sealed, err := plain.Seal(none)
	if opened, openErr := upstream.Unseal(none, plain.URL, sealed); err != nil || openErr != nil || opened != plain {
		t.Errorf("without credentials: %v, %v, %v", opened, err, openErr)
	}
	if _, err := secret.Seal(none); err == nil || !strings.Contains(err.Error(), "FOYER_SECRET") || strings.Contains(err.Error(), "joe") {
		t.Errorf("sealing credentials: %v", err)
	}
	if _, err := upstream.Unseal(none, plain.URL, "c2VhbGVk"); err == nil || !strings.Contains(err.Error(), "FOYER_SECRET") {
		t.Errorf("opening credentials: %v", err)
	}
}

// The error for an address in another form, such as those that git hosts offer to copy, names the right scheme.
func TestParseTellsTheScheme(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"git@github.com:acme/app.git", "127.0.0.1:8080/app", "ssh://git@github.com/acme/app", "github.com/acme/app", "::"} {
		_, err := upstream.Parse(raw)
		if err == nil || err.Error() != "url: The url must start with https:// or http://." {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// The error for an unescaped password says what to escape, and does not show the password.
func TestParseTellsWhatIsNotEscaped(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"https://joe:sec%ret@example.org/a", "https://joe:sec/ret@example.org/a", "https://joe:sec#ret@example.org/a", " HTTP://joe:sec ret@example.org/a",
		"https://joe:sec^ret@example.org/a", "https://joe:sec{ret}@example.org/a", "https://joe:secrét@example.org/a", "https://example.org:port/a",
	} {
		_, err := upstream.Parse(raw)
		if err == nil || !strings.HasPrefix(err.Error(), "url: The url is not well-formed: ") || !strings.Contains(err.Error(), "special characters of a name or password") || strings.Contains(err.Error(), "sec") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"https://joe:secret@example.org/a.git/?q=1", "http://[::1%25x]:80/%2e%2e/", "https://EXAMPLE.org./.git/.git", "a:b@c", "https://@/",
		"http://[::%25\xed]", "https://h/" + strings.Repeat("ä", 400),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		r, err := upstream.Parse(raw)
		if err != nil {
			if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.TooLong) {
				t.Fatalf("error %v is neither Invalid nor TooLong", err)
			}
			return
		}
		u, err := url.Parse(r.URL)
		if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Host == "" {
			t.Fatalf("URL %q is not clean (%v)", r.URL, err)
		}
		key := r.Key()
		if again := (upstream.Remote{URL: key}).Key(); again != key {
			t.Fatalf("the key of key %q is %q", key, again)
		}
		if again, err := upstream.Parse(r.URL); err != nil || again != (upstream.Remote{URL: r.URL}) {
			t.Fatalf("URL %q parses to %v, %v", r.URL, again, err)
		}
	})
}
