package wire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"foyer/internal/face/wire"
)

// newMux returns a Mux whose handlers answer with the pattern of a request and the values of its wildcards.
func newMux() *wire.Mux {
	m := wire.NewMux()
	for _, pattern := range []string{
		"/{$}", "/docs", "/signup/{token}", "/console", "/console/", "/console/orgs/{id}", "/orgs/{org}", "/orgs/{org}/apps",
		"/orgs/{org}/apps/{id}", "/orgs/{org}/apps/unused", "/orgs/{org}/apps/{id}/versions/{version}/diff", "/users/@me",
	} {
		m.Handle(pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			values := []string{r.Pattern}
			for _, name := range []string{"org", "id", "version", "token"} {
				if value := r.PathValue(name); value != "" {
					values = append(values, name+"="+value)
				}
			}
			_, _ = io.WriteString(w, strings.Join(values, " "))
		}))
	}
	return m
}

// answerTo returns a handler's answer to a path, or the status and the pattern.
func answerTo(t *testing.T, h http.Handler, method string, u *url.URL) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := (&http.Request{Method: method, URL: u, Host: "x"}).WithContext(t.Context())
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return strconv.Itoa(w.Code) + " " + r.Pattern
	}
	return w.Body.String()
}

func TestMux(t *testing.T) {
	t.Parallel()
	m := newMux()
	for raw, want := range map[string]string{
		"/":                                   "/{$}",
		"/docs":                               "/docs",
		"/docs/":                              "/docs",
		"/docs/more":                          "404 /",
		"/Docs":                               "404 /",
		"/%64ocs":                             "/docs",
		"/none":                               "404 /",
		"/signup":                             "404 /",
		"/signup/":                            "404 /",
		"/signup/x":                           "/signup/{token} token=x",
		"/signup/x/y":                         "404 /",
		"/signup/x%2Fy":                       "/signup/{token} token=x/y",
		"/signup/x%20y%25+z":                  "/signup/{token} token=x y%+z",
		"/signup/x%2F":                        "/signup/{token} token=x/",
		"/signup/%2F":                         "404 /",
		"/signup/..%2Fx":                      "404 /",
		"/signup/x%2F%2Ey":                    "/signup/{token} token=x/.y",
		"/console":                            "/console",
		"/console/":                           "/console",
		"/console/none":                       "/console/",
		"/console/none/at/all":                "/console/",
		"/console/orgs":                       "/console/",
		"/console/orgs/7":                     "/console/orgs/{id} id=7",
		"/console/orgs/7/8":                   "/console/",
		"/users/@me":                          "/users/@me",
		"/users/%40me":                        "/users/@me",
		"/users/other":                        "404 /",
		"/orgs/a/apps/7":                      "/orgs/{org}/apps/{id} org=a id=7",
		"/orgs/a/apps/unused":                 "/orgs/{org}/apps/unused org=a",
		"/orgs/a/apps/unused/versions/1/diff": "/orgs/{org}/apps/{id}/versions/{version}/diff org=a id=unused version=1",
		"/orgs/a/apps/7/versions/1/diff":      "/orgs/{org}/apps/{id}/versions/{version}/diff org=a id=7 version=1",
		"/orgs/a/apps/7/versions/1":           "404 /",
		"/orgs/orgs/apps/apps":                "/orgs/{org}/apps/{id} org=orgs id=apps",
		"//":                                  "404 /",
		"//docs":                              "404 /",
		"/docs//":                             "404 /",
		"/./docs":                             "404 /",
		"/orgs//apps":                         "404 /",
		"/orgs/./apps":                        "404 /",
		"/orgs/../apps":                       "404 /",
		"/orgs/%2E%2E/apps":                   "404 /",
		"/docs/..":                            "404 /",
		"/console/../docs":                    "404 /",
		"/console/none/at//all":               "404 /",
	} {
		u, err := url.ParseRequestURI(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodConnect} {
			if got := answerTo(t, m, method, u); got != want {
				t.Errorf("%s %s: %s, want %s", method, raw, got, want)
			}
		}
	}
	if got := answerTo(t, m, http.MethodGet, &url.URL{Path: "/docs", RawPath: "/%zz"}); got != "/docs" {
		t.Errorf("with a wrong RawPath: %s", got)
	}
	for _, bare := range []string{"", "*", "docs", "xdocs"} {
		if got := answerTo(t, m, http.MethodGet, &url.URL{Path: bare}); got != "404 /" {
			t.Errorf("%q: %s", bare, got)
		}
	}
}

// A 404 is answered in JSON.
func TestMuxNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/none", "/docs//", "*"} {
		w := httptest.NewRecorder()
		newMux().ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}})
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != "application/json" || !strings.Contains(w.Body.String(), `"code":"not_found"`) {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
}

// FuzzMux looks for a path that redirects.
func FuzzMux(f *testing.F) {
	for _, path := range []string{"/docs", "//", "/console/x", "/orgs/a%2Fb/apps/%C3%A9+%20", "/./docs/", "/docs/%2e%2e"} {
		f.Add(path)
	}
	m := newMux()
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := url.ParseRequestURI(raw)
		if err != nil {
			return
		}
		if got := answerTo(t, m, http.MethodGet, u); strings.HasPrefix(got, "3") {
			t.Errorf("%q: %s", raw, got)
		}
	})
}
