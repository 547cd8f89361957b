package guide_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/face/api"
	"foyer/internal/face/console/guide"
	"foyer/internal/face/console/markup"
	"foyer/internal/face/wire"
)

// get requests a page as a user who is signed in to an organization.
func get(t *testing.T, baseURL, path string, in access.Organization, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	mux := wire.NewMux()
	(&guide.Guides{
		Host: markup.Host{BaseURL: baseURL}, Document: api.OpenAPIDocument(), Reference: api.OpenAPIPage(),
		Organization: func(http.ResponseWriter, *http.Request) access.Organization { return in },
	}).Register(mux)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

const acme = "https://acme.example"

var nobody access.Organization

// The guides name the server that shows them in what readers copy.
func TestGuides(t *testing.T) {
	t.Parallel()
	for _, listed := range (guide.Page{}).Guides() {
		w := get(t, acme, "/docs/"+listed.Name, nobody)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "<h1") || strings.Contains(w.Body.String(), `.md"`) {
			t.Errorf("%s: %d", listed.Name, w.Code)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			t.Error(policy)
		}
	}
	if body := get(t, acme, "/docs/api", nobody).Body.String(); !strings.Contains(body, "export FOYER_URL=https://acme.example FOYER_KEY=") || strings.Contains(body, "127.0.0.1:8000") {
		t.Error("the samples name another server")
	}
	if w := get(t, acme, "/docs/none", nobody); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "<h1>Page not found</h1>") {
		t.Error(w.Code, w.Body)
	}
}

// The name of an organization cannot turn the text around it.
func TestNameOfAnOrganization(t *testing.T) {
	t.Parallel()
	named := access.Organization{ID: "01926f4e-7d3b-7c6e-9d2a-0b1c2d3e4f50", Name: "A & \u202ecme"}
	if body := get(t, acme, "/docs", named).Body.String(); !strings.Contains(body, "<strong><bdi>A &amp; cme</bdi></strong>, the organization that you are signed in to") {
		t.Error(body)
	}
}

// A search finds the guides and operations that contain all the words.
func TestSearch(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"COMPARE+versions":     `/docs/reference/apps#diffVersions"`,
		"five+minutes+app":     `/docs/guide-app-authors#a-first-app-in-five-minutes"`,
		"install+an+app":       `/docs/cookbook#install-an-app"`,
		"What+is+on+disk+when": `/docs/performance#what-is-on-disk-when"`,
		"deliveries+shows":     "List deliveries shows",
		"globs+letters":        "with * within a segment",
		"xyzzy+apps":           "Nothing found.",
		"%3Cscript%3E":         "&lt;script&gt;",
	} {
		if w := get(t, acme, "/docs/search?q="+query, nobody); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d, without %s", query, w.Code, want)
		}
	}
}

// The best match comes first: titles before texts, and words before parts of words.
func TestSearchRanks(t *testing.T) {
	t.Parallel()
	titles := regexp.MustCompile(`<strong>([^<]*)</strong>`)
	for query, want := range map[string]string{"list+sites": "List sites", "limits": "Limits", "site": "Site", "create+an+invite": "Create an invite"} {
		found := titles.FindStringSubmatch(get(t, acme, "/docs/search?q="+query, nobody).Body.String())
		if found == nil || !strings.HasPrefix(found[1], want) {
			t.Errorf("%s: %q comes first, want %s", query, found, want)
		}
	}
}

// The samples name the server and the organization of the reader.
func TestSamplesKnowTheReader(t *testing.T) {
	t.Parallel()
	const list = "/pipeline_frontend_apps&#34; \\\n  -H &#34;Authorization: Bearer $FOYER_KEY&#34;"
	for _, c := range []struct {
		baseURL string
		in      access.Organization
		want    []string
	}{
		{acme, nobody, []string{
			"curl &#34;https://acme.example/api/organizations/@current" + list,
			"foyer app list \\\n  --url &#34;https://acme.example&#34;</code>",
			"client.New(&#34;https://acme.example&#34;,", "c.Organization(&#34;@current&#34;)",
			"fetch(&#34;https://acme.example/api/organizations/@current/pipeline_frontend_apps&#34;, {",
		}},
		{"https://h.example/it's&$b", access.Organization{ID: "01981f0e", Name: "A<b>"}, []string{
			"curl &#34;https://h.example/it%27s%26%24b/api/organizations/01981f0e" + list,
			"foyer app list \\\n  --url &#34;https://h.example/it%27s%26%24b&#34; \\\n  --organization 01981f0e</code>",
			"foyer key list \\\n  --url &#34;https://h.example/it%27s%26%24b&#34;</code>",
			"c.Organization(&#34;01981f0e&#34;)", "<strong><bdi>A&lt;b&gt;</bdi></strong>",
		}},
	} {
		body := get(t, c.baseURL, "/docs", c.in).Body.String() + get(t, c.baseURL, "/docs/reference/apps", c.in).Body.String() +
			get(t, c.baseURL, "/docs/reference/users", c.in).Body.String()
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s", c.baseURL, want)
			}
		}
		if left := regexp.MustCompile(`{(root|part.*|base_url|organization|organization_flag|organization_name)}`).FindString(body); left != "" {
			t.Errorf("%s: %s is left", c.baseURL, left)
		}
	}
}

var partPath = regexp.MustCompile(`href="(/docs/reference/\w+)"`)

// parts returns the paths of the reference's parts, to which the first page links.
func parts(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, found := range partPath.FindAllStringSubmatch(get(t, acme, "/docs", nobody).Body.String(), -1) {
		all = append(all, found[1])
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) < 13 {
		t.Errorf("only the parts %q", all)
	}
	if w := get(t, acme, "/docs/reference/none", nobody); w.Code != http.StatusNotFound {
		t.Error(w.Code)
	}
	return all
}

// Each sample can be copied, and scrolled by keyboard if it is wider than the page.
func TestSamplesCanBeCopied(t *testing.T) {
	t.Parallel()
	var pages strings.Builder
	for _, part := range parts(t) {
		pages.WriteString(get(t, acme, part, nobody).Body.String())
	}
	body := pages.String()
	all := regexp.MustCompile(`<pre id="(\w+-(?:curl|foyer|go|typescript))" tabindex="0">`).FindAllStringSubmatch(body, -1)
	for _, sample := range all {
		if strings.Count(body, `<button type="button" class="small quiet copy" data-copy="`+sample[1]+`" hidden>`) != 1 {
			t.Errorf("%s has no button", sample[1])
		}
	}
	if len(all) < 300 {
		t.Errorf("there are %d samples", len(all))
	}
}

// A page that loads something from elsewhere would not work without internet, and would tell others who reads it.
func TestReferenceNeedsNothingElse(t *testing.T) {
	t.Parallel()
	w := get(t, acme, "/docs/reference/sites", nobody)
	body := strings.ReplaceAll(w.Body.String(), "&lt;script async src=", "") // the page shows it
	body = strings.Replace(body, `<script src="/console/`, "", 1)
	body = strings.Replace(body, `<link rel="icon" href="data:`, "", 1)
	for _, reach := range []string{"<script", "<link", "<img", "src=", "@import", "url(", " style=", `href="http`} {
		if strings.Contains(body, reach) {
			t.Errorf("the page has %q", reach)
		}
	}
	_, style, _ := strings.Cut(body, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; script-src 'self';"
	if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, want) {
		t.Errorf("the policy is %s, want %s", policy, want)
	}
}

// A page that the browser has is not sent again, unless it is for another reader now.
func TestReferenceIsKept(t *testing.T) {
	t.Parallel()
	plain, packed := get(t, acme, "/docs", nobody), get(t, acme, "/", nobody, "Accept-Encoding", "gzip")
	unpacked, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpacked); err != nil || string(text) != plain.Body.String() {
		t.Errorf("%d bytes, not %d: %v", len(text), plain.Body.Len(), err)
	}
	tag := packed.Header().Get("ETag")
	if again := get(t, acme, "/docs", nobody, "Accept-Encoding", "gzip", "If-None-Match", tag); again.Code != http.StatusNotModified {
		t.Errorf("again: %d", again.Code)
	}
	if other := get(t, acme, "/docs", access.Organization{ID: "01981f0e"}, "Accept-Encoding", "gzip", "If-None-Match", tag); other.Code != http.StatusOK {
		t.Errorf("somebody else: %d", other.Code)
	}
	if vary := strings.Join(plain.Header().Values("Vary"), ", "); vary != "Cookie, Accept-Encoding" {
		t.Errorf("Vary: %s", vary)
	}
}

var (
	link   = regexp.MustCompile(` href="([^"]*)"`)
	anchor = regexp.MustCompile(` id="([^"]*)"`)
)

// Each link of the documentation leads to something it has, and no two places share a name.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, anchors := map[string]string{}, map[string]bool{}
	paths := append(parts(t), "/docs")
	for _, listed := range (guide.Page{}).Guides() {
		paths = append(paths, "/docs/"+listed.Name)
	}
	for _, path := range paths {
		pages[path] = get(t, acme, path, nobody).Body.String()
		anchors[path] = true
		for _, found := range anchor.FindAllStringSubmatch(pages[path], -1) {
			if anchors[path+"#"+found[1]] {
				t.Errorf("%s has two of #%s", path, found[1])
			}
			anchors[path+"#"+found[1]] = true
		}
	}
	elsewhere := []string{"/console", "/console/keys", "/openapi.yaml", "/openapi.json"}
	for path, body := range pages {
		at, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(body, -1) {
			to, err := at.Parse(html.UnescapeString(found[1]))
			if err != nil || to.Scheme == "" && !anchors[to.String()] && !slices.Contains(elsewhere, to.Path) {
				t.Errorf("%s: %s leads nowhere (%v)", path, found[1], err)
			}
		}
	}
}

// The checked-in pages were made from the current texts.
func TestGenerated(t *testing.T) {
	t.Parallel()
	sources := sha256.New()
	for _, listed := range (guide.Page{}).Guides() {
		text, err := os.ReadFile(filepath.Join("../../../../docs", listed.Name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(text)
	}
	made, err := os.ReadFile("pages/sources.sha256")
	if err != nil || string(made) != fmt.Sprintf("%x\n", sources.Sum(nil)) {
		t.Errorf("the guides are not those of docs/: go generate ./internal/face/console/guide (%v)", err)
	}
}
