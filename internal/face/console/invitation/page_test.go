package invitation

import (
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"html"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/domain/access"
	"foyer/internal/face/console/markup"

	"github.com/google/go-cmp/cmp"
)

var pagesIn = flag.String("pages", "", "write every page into this folder, to look at it")

// ourURL is the only address that a page may show.
const ourURL = "https://foyer.example.com"

// pages returns all pages, with the given texts in place of all typed ones.
func pages(organization, name, message string) map[string]markup.Page {
	inviter := Person{Name: name, Email: "grace@example.com"}
	until := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	return map[string]markup.Page{
		"invitation": markup.Fill("invitation.html", Invitation{
			OrganizationName: organization, Inviter: inviter, TargetEmail: "ada@example.com", FirstName: name, LastName: name,
			Message: message, Level: "admin", ExpiresAt: until,
		}),
		"faults": markup.Fill("invitation.html", Invitation{
			OrganizationName: organization, Inviter: inviter, TargetEmail: "ada@example.com", FirstName: name, Level: "owner", ExpiresAt: until,
			Faults: fault.List{{Kind: fault.TooLong, Field: "first_name", Detail: message}},
		}),
		"known": markup.Fill("invitation.html", Invitation{
			OrganizationName: organization, Inviter: Person{Email: name}, TargetEmail: name, Level: "member", ExpiresAt: until, KnownUser: true,
		}),
		"accepted": markup.Fill("accepted.html", Accepted{
			OrganizationName: organization, OrganizationID: "0196a1b2-7c3d-7e4f-8a9b-0c1d2e3f4a5b", Email: "ada@example.com", Level: "admin",
			Apps:   access.RootApps,
			APIKey: "foy_4kT9vQ2mXc7LpR1sWz8NbY6dHj3GfA5eUo0iKtVxM2qS", Scope: access.PluginWrite | access.MemberWrite,
			BaseURL: ourURL, Prefix: "/at/home",
		}),
		"declined":  markup.Fill("declined.html", Declined{OrganizationName: organization, Inviter: inviter}),
		"unknown":   markup.Fill("unknown.html", Unknown{}),
		"expired":   markup.Fill("expired.html", Expired{OrganizationName: organization, Inviter: inviter, ExpiresAt: until}),
		"withdrawn": markup.Fill("withdrawn.html", Withdrawn{OrganizationName: organization, Inviter: inviter, Detail: message}),
		"sign in":   markup.Fill("withdrawn.html", Withdrawn{OrganizationName: organization, Inviter: inviter, Detail: message, SignsIn: true, Other: name, Prefix: "/at/home"}),
		"failed":    markup.Fill("failed.html", Failed{Detail: message, RequestID: "01J9ZK6Q"}),
	}
}

func render(t *testing.T, p markup.Page) string {
	t.Helper()
	body, err := templates.Render(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestPagesToLookAt writes the pages with friendly texts: go test -run Look -pages DIR.
func TestPagesToLookAt(t *testing.T) {
	t.Parallel()
	if *pagesIn == "" {
		t.Skip("no -pages folder")
	}
	for name, p := range pages("Bücher & Söhne", "Grace Hopper", "Hello Ada,\n\nwe start on Monday. Bring tea!") {
		if err := os.WriteFile(filepath.Join(*pagesIn, name+".html"), []byte(render(t, p)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var hostileTexts = map[string]string{
	"closing tags":  "</p></bdi></blockquote></main></style></title><script>alert(1)</script>",
	"attribute":     `" onfocus="alert(1)" autofocus x="`,
	"style":         "</style><style>*{display:none}</style> expression(alert(1))",
	"comment":       "<!-- ",
	"template":      "{{.APIKey}}",
	"header":        "Ada\r\nSet-Cookie: a=b",
	"bidi":          "\u202egnp.exe\u202c \u2066a\u2069 \u200f",
	"url":           "https://evil.example/a?b javascript:alert(1) www.evil.example",
	"homoglyph url": "https：／／evil。example еvil．ехаmрlе",
	"nul":           "a\x00b\x1bc",
	"bad utf-8":     "a\xff\xfeb",
	"long":          strings.Repeat("evil.example ", 400),
	"one long word": strings.Repeat("x", 5000),
}

var (
	style    = regexp.MustCompile(`(?s)<style>.*</style>`)
	tags     = regexp.MustCompile(`<[^>]*>`)
	values   = regexp.MustCompile(`value="[^"]*"`)
	linkText = regexp.MustCompile(`(?i)[a-z]+://|\b(www\.|[\pL\pN-]+\.)+\pL{2,}\b`)
)

func TestHostileTextsStayText(t *testing.T) {
	t.Parallel()
	friendly := pages("Acme", "Grace", "Hello")
	for name, text := range hostileTexts {
		for page, p := range pages(text, text, text) {
			t.Run(name+"/"+page, func(t *testing.T) {
				t.Parallel()
				got := render(t, p)
				if diff := cmp.Diff(tagsOf(render(t, friendly[page])), tagsOf(got)); diff != "" {
					t.Errorf("the text changed the markup (-want +got):\n%s", diff)
				}
				for _, r := range values.ReplaceAllString(got, "") {
					if r != '\n' && unicode.In(r, unicode.C) || r == utf8.RuneError {
						t.Fatalf("%U on the page", r)
					}
				}
				got = strings.ReplaceAll(got, ourURL, "")
				shown := tags.ReplaceAllString(style.ReplaceAllString(got, ""), " ")
				shown = regexp.MustCompile(`(ada|grace)@example\.com`).ReplaceAllString(shown, "")
				if link := linkText.FindString(shown); link != "" {
					t.Errorf("%q looks like a link", link)
				}
			})
		}
	}
}

// A form that is sent back unchanged changes no name.
func TestFormKeepsNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"J.Robert", "می\u200cخواهم", `Ada "O'Neil" & <Co>`, "Ada  L.", strings.Repeat("x", 150)} {
		for _, value := range values.FindAllString(render(t, markup.Fill("invitation.html", Invitation{FirstName: name, LastName: name})), 2) {
			if got := html.UnescapeString(value); got != `value="`+name+`"` {
				t.Errorf("%q became %s", name, got)
			}
		}
	}
}

// tagsOf returns the page's tags, without the values of its inputs.
func tagsOf(page string) []string {
	return tags.FindAllString(values.ReplaceAllString(page, `value=""`), -1)
}

var ourScript = regexp.MustCompile(`<script src="[^"]*` + regexp.QuoteMeta(markup.Enhancements.Path) + `" defer></script>`)

func TestNoPageLinksOrRunsAnything(t *testing.T) {
	t.Parallel()
	for name, p := range pages("Acme", "Grace", "Hello") {
		got := render(t, p)
		if name == "accepted" {
			got = ourScript.ReplaceAllString(got, "") // it copies the key
		}
		for _, tag := range []string{"<a ", "<script", "<img", "<iframe", " style=", " onclick"} {
			if strings.Contains(got, tag) {
				t.Errorf("%s has %q", name, tag)
			}
		}
		for _, want := range []string{`<html lang="en">`, "<main>", "<header>", "<h1>", "<title>", `name="viewport"`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
	}
}

// Faults come first on the page, each with its field.
func TestFaultsComeFirst(t *testing.T) {
	t.Parallel()
	got := render(t, pages("Acme", "Grace", "Too long.")["faults"])
	if at := strings.Index(got, "First name: Too long."); at < 0 || at > strings.Index(got, "<h1>") || !strings.Contains(got, "<title>Error: ") {
		t.Error(got)
	}
}

// The page does not mention what the organization does not let the new member do.
func TestWelcomeToldByAccess(t *testing.T) {
	t.Parallel()
	for level, want := range map[access.AppAccess][2]bool{
		access.NoApps: {false, false}, access.ReadApps: {true, false}, access.InstallApps: {true, true}, access.RootApps: {true, true},
	} {
		got := render(t, markup.Fill("accepted.html", Accepted{Level: "admin", Apps: level, APIKey: "foy_", Scope: access.All}))
		if sees, changes := strings.Contains(got, "See the apps"), strings.Contains(got, "Install, edit"); [2]bool{sees, changes} != want {
			t.Errorf("%d: sees %t, changes %t", level, sees, changes)
		}
		before := render(t, markup.Fill("invitation.html", Invitation{Level: "admin", Apps: level}))
		if changes := strings.Contains(before, "manages apps, invites and members"); changes != want[1] || !strings.Contains(before, "invites and members") {
			t.Errorf("%d: is promised to change apps: %t", level, changes)
		}
	}
}

func TestOnlyOurStyleIsAllowed(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	if err := templates.Write(w, 404, markup.Fill("unknown.html", Unknown{})); err != nil {
		t.Fatal(err)
	}
	page := w.Body.String()
	_, rest, _ := strings.Cut(page, "<style>")
	inline, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(inline))
	csp := w.Header().Get("Content-Security-Policy")
	if !strings.Contains(csp, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("the page's style is not the one allowed: %s", csp)
	}
	for _, want := range []string{"default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("policy lacks %s: %s", want, csp)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	if err := templates.Write(w, 410, markup.Fill("expired.html", Expired{})); err != nil {
		t.Fatal(err)
	}
	if w.Code != 410 {
		t.Errorf("status %d", w.Code)
	}
	for name, want := range map[string]string{
		"Content-Type":           "text/html; charset=utf-8",
		"X-Frame-Options":        "DENY",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The page promises a new member what their key can do, and no more.
func TestScopesOfAcceptedKey(t *testing.T) {
	t.Parallel()
	for scope, want := range map[access.Scope][]bool{
		access.PluginRead: {true, false, false, false}, access.PluginWrite: {true, true, false, false},
		access.MemberRead: {false, false, true, false}, access.MemberWrite: {false, false, true, true},
		access.All: {true, true, true, true},
	} {
		got := render(t, markup.Fill("accepted.html", Accepted{Level: "admin", Apps: access.RootApps, APIKey: "foy_", Scope: scope}))
		for i, text := range []string{"See the apps", "Install, edit", "See who is a member", "Invite others"} {
			if strings.Contains(got, text) != want[i] {
				t.Errorf("%s: %q is there: %t", scope, text, !want[i])
			}
		}
	}
}

// A new user is told what to do about being signed out, or signed in as somebody else, but not both.
func TestNewUserSignsIn(t *testing.T) {
	t.Parallel()
	const signedOut, somebody = "You are not signed in yet", "You are signed in here as"
	for other, want := range map[string]string{"": signedOut, "ada@x.example": somebody} {
		got := render(t, markup.Fill("accepted.html", Accepted{Email: "eve@x.example", Level: "member", Apps: access.RootApps, Provider: "Acme", Other: other}))
		if !strings.Contains(got, want) || strings.Contains(got, signedOut) && strings.Contains(got, somebody) {
			t.Errorf("beside %q: %s", other, got)
		}
	}
}
