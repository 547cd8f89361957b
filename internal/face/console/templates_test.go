package console

import (
	"strings"
	"testing"

	"foyer/client"
	"foyer/internal/face/console/markup"
)

// Parts of pages whose words depend on what they show.
func TestTemplates(t *testing.T) {
	t.Parallel()
	failed := func(line, column int64) client.Health {
		return client.Health{Errors: []client.PageError{{Version: 2, Line: line, Column: column, Count: 1}}}
	}
	for _, tc := range []struct {
		name string
		with any
		want string
	}{
		{"folded", 1, "1 line is the same"},
		{"folded", 2, "2 lines are the same"},
		{"health", failed(1, 257), "version 2, line 1, column 257 of the bundle; once"},
		{"health", failed(3, 0), "version 2, line 3 of the bundle; once"},
		{"health", failed(0, 0), "version 2; once"},
	} {
		if body, err := templates.Render(markup.Fill(tc.name, tc.with)); err != nil || !strings.Contains(string(body), tc.want) {
			t.Errorf("%s: %s, %v; want %s", tc.name, body, err, tc.want)
		}
	}
}
