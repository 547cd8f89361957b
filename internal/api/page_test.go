package api_test

import (
	"html"
	"net/http"
	"regexp"
	"testing"

	"foyer/internal/api"
	"foyer/internal/openapi/openapitest"
)

// command lines have a path that neither the shell nor curl, which takes braces for
// a choice, makes another one of.
var (
	articles = regexp.MustCompile(`(?s)<article class="operation" id="(\w+)">.*?</article>`)
	shown    = regexp.MustCompile(`(?s)<pre tabindex="0"><code>(.*?)</code></pre>`)
	line     = regexp.MustCompile(`^curl "\$FOYER((/[\w.@]+|/\$[A-Z_]+)+)"`)
)

func readCommands(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, article := range articles.FindAllStringSubmatch(getDocument(t, api.Docs(baseURL), http.Header{}).Body.String(), -1) {
		all[article[1]] = html.UnescapeString(shown.FindStringSubmatch(article[0])[1])
	}
	return all
}

func TestCommandsCanBePasted(t *testing.T) {
	t.Parallel()
	commands := readCommands(t)
	for _, o := range openapitest.Operations(t, api.OpenAPI()) {
		if c := commands[o.ID]; !line.MatchString(c) {
			t.Errorf("%s: %q", o.ID, c)
		}
	}
}
