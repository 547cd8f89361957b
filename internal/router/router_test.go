package router_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strconv"
	"strings"
	"testing"

	"foyer/internal/router"
)

var patterns = []string{
	"/", "/{$}", "/docs", "/signup/{token}", "/console", "/console/", "/console/orgs/{id}", "/orgs/{org}", "/orgs/{org}/apps",
	"/orgs/{org}/apps/{id}", "/orgs/{org}/apps/unused", "/orgs/{org}/apps/{id}/versions/{version}/diff", "/users/@me",
}

// tell answers with the pattern of a request and the values of its wildcards.
func tell(w http.ResponseWriter, r *http.Request) {
	values := []string{r.Pattern}
	for _, name := range []string{"org", "id", "version", "token"} {
		if value := r.PathValue(name); value != "" {
			values = append(values, name+"="+value)
		}
	}
	_, _ = io.WriteString(w, strings.Join(values, " "))
}

type registrar interface {
	http.Handler
	Handle(pattern string, h http.Handler)
}

func register[R registrar](to R) R {
	for _, pattern := range patterns {
		to.Handle(pattern, http.HandlerFunc(tell))
	}
	return to
}

func get(t *testing.T, h http.Handler, u *url.URL) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, (&http.Request{Method: http.MethodGet, URL: u, Host: "x"}).WithContext(t.Context()))
	if w.Code != http.StatusOK {
		return strconv.Itoa(w.Code)
	}
	return w.Body.String()
}

func TestRouter(t *testing.T) {
	t.Parallel()
	h := register(&router.Router{})
	for raw, want := range map[string]string{
		"/":                              "/{$}",
		"/docs":                          "/docs",
		"/docs/":                         "/docs",
		"/docs/more":                     "/",
		"/Docs":                          "/",
		"/%64ocs":                        "/docs",
		"/none":                          "/",
		"/signup":                        "/",
		"/signup/":                       "/",
		"/signup/x":                      "/signup/{token} token=x",
		"/signup/x/y":                    "/",
		"/signup/x%2Fy":                  "/signup/{token} token=x/y",
		"/signup/x%20y%25+z":             "/signup/{token} token=x y%+z",
		"/signup/x%2F":                   "/signup/{token} token=x/",
		"/signup/%2F":                    "/",
		"/signup/..%2Fx":                 "/",
		"/signup/x%2F%2Ey":               "/signup/{token} token=x/.y",
		"/console":                       "/console",
		"/console/":                      "/console",
		"/console/none":                  "/console/",
		"/console/none/at/all":           "/console/",
		"/console/orgs":                  "/console/",
		"/console/orgs/7":                "/console/orgs/{id} id=7",
		"/console/orgs/7/8":              "/console/",
		"/users/@me":                     "/users/@me",
		"/users/%40me":                   "/users/@me",
		"/users/other":                   "/",
		"/orgs/a/apps/7":                 "/orgs/{org}/apps/{id} org=a id=7",
		"/orgs/a/apps/unused":            "/orgs/{org}/apps/unused org=a",
		"/orgs/a/apps/unused/versions/1": "/",
		"/orgs/a/apps/7/versions/1/diff": "/orgs/{org}/apps/{id}/versions/{version}/diff org=a id=7 version=1",
		"/orgs/a/apps/7/versions/1":      "/",
		"/orgs/orgs/apps/apps":           "/orgs/{org}/apps/{id} org=orgs id=apps",
		"//":                             "/",
		"//docs":                         "/",
		"/docs//":                        "/",
		"/./docs":                        "/",
		"/orgs//apps":                    "/",
		"/orgs/./apps":                   "/",
		"/orgs/../apps":                  "/",
		"/orgs/%2E%2E/apps":              "/",
		"/docs/..":                       "/",
		"/console/../docs":               "/",
		"/console/none/at//all":          "/",
	} {
		u, err := url.ParseRequestURI(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := get(t, h, u); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	if got := get(t, &router.Router{}, &url.URL{Path: "/docs"}); got != "404" {
		t.Errorf("without patterns: %s", got)
	}
	if got := get(t, h, &url.URL{Path: "/docs", RawPath: "/%zz"}); got != "/docs" {
		t.Errorf("with a wrong RawPath: %s", got)
	}
	for _, bare := range []string{"", "*", "docs", "xdocs"} {
		if got := get(t, h, &url.URL{Path: bare}); got != "/" {
			t.Errorf("%q: %s", bare, got)
		}
	}
}

// A pattern that could not mean what it says is a mistake of ours.
func TestWrongPatterns(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"", "docs", "GET /docs", "//", "/a//b", "/a/../b", "/docs", "/orgs/{other}", "/console/", "/{$}"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is a pattern", pattern)
				}
			}()
			register(&router.Router{}).Handle(pattern, http.HandlerFunc(tell))
		}()
	}
}

// FuzzRouter compares with http.ServeMux on clean paths.
func FuzzRouter(f *testing.F) {
	for _, p := range patterns {
		f.Add(p)
	}
	f.Add("/orgs/a%2Fb/apps/%C3%A9+%20")
	mux, own := register(http.NewServeMux()), register(&router.Router{})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.ParseRequestURI(raw)
		if err != nil || !strings.HasPrefix(u.Path, "/") || u.Host != "" || path.Clean(u.Path) != u.Path || path.Clean(u.EscapedPath()) != u.EscapedPath() {
			return
		}
		want, got := get(t, mux, u), get(t, own, u)
		if strings.HasPrefix(u.Path, "/orgs/") && strings.Contains(u.Path, "/apps/unused/") {
			want = "/" // a name is preferred even where its pattern does not go on
		}
		if got != want {
			t.Errorf("%q: %s, want %s", raw, got, want)
		}
	})
}
