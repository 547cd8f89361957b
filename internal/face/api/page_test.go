package api_test

import (
	"encoding/json"
	"fmt"
	"html"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"foyer/internal/domain/access"
	"foyer/internal/face/api"
	"foyer/internal/face/openapi/openapitest"
)

// command is a command that the page shows for an operation, and the answer shown beside it.
type command struct {
	line, body, answer string
}

// line allows only paths that neither the shell nor curl, which expands braces, changes.
var (
	samples = regexp.MustCompile(`(?s)<pre id="(\w+)-(\w+)" tabindex="0"><code>(.*?)</code></pre>`)
	line    = regexp.MustCompile(`^curl "http://foyer\.example((/[\w.@-]+)+(\?\w+=\w+)?)"`)
)

// readCommands returns the page's curl commands by operation.
func readCommands(t *testing.T) map[string]command {
	t.Helper()
	all := map[string]command{}
	page := strings.NewReplacer("{base_url}", "http://foyer.example", "{organization}", "@current").Replace(string(api.OpenAPIPage().Plain()))
	for _, sample := range samples.FindAllStringSubmatch(page, -1) {
		c, text := all[sample[1]], html.UnescapeString(sample[3])
		switch sample[2] {
		case "curl":
			c.line, c.body, _ = strings.Cut(text, " -d ")
			c.body = strings.ReplaceAll(strings.Trim(c.body, "'"), `'\''`, "'")
		case "answer":
			c.answer = text
		}
		all[sample[1]] = c
	}
	return all
}

func TestCommandsCanBePasted(t *testing.T) {
	t.Parallel()
	commands := readCommands(t)
	for _, o := range openapitest.Operations(t, api.OpenAPI()) {
		if c := commands[o.ID]; !line.MatchString(c.line) {
			t.Errorf("%s: %q", o.ID, c.line)
		}
	}
}

// A pasted command gets the answer shown beside it, as far as the request determines the answer.
func TestCommandsAreAnsweredAsShown(t *testing.T) {
	commands := readCommands(t)
	for id, c := range commands {
		if err := follows(id, c.body, c.answer); err != nil {
			t.Errorf("the example of %s: %v", id, err)
		}
	}
	each(t, func(r *rig) {
		app, site := r.built(siteOptions), r.site("x")
		for _, text := range []string{"2", "3", "4"} {
			r.send(r.key, "PATCH", apps+app+"/update_source", `{"source":{"site.ts":"export const n = `+text+`"}}`)
		}
		r.verify(r.owner.User.Email)
		own := between(r.wantStatus(r.otherKey, "POST", "/api/organizations/"+r.other.ID+"/invites", `{"target_email":"`+r.owner.User.Email+`"}`, 201).body, `"id":"`, `"`)
		fillIn := strings.NewReplacer(
			"me/invites/01981f10-02aa-7c1d-8b53-9d6f4f0f7e20", "me/invites/"+own,
			"apps/42", "apps/"+app, `"app_id": 42`, `"app_id": `+app, `"app_id":42`, `"app_id":`+app, "sites/3", "sites/"+site, "webhooks/4", "webhooks/"+r.webhook(`"app.*"`),
			"AZgfEAKqfB2LU51vTw9-IHs0cV8q4jv2n1p0r2Xk7b9aJm3QyZtLwEoUiSdFgHjK", r.token(r.invite("alonzo@example.com")),
			"01981f12-77d1-7be0-a1c5-02f6c3e9d417", r.join(r.org, "grace@example.com", access.Member).User.UUID,
		)
		for _, o := range openapitest.Operations(t, api.OpenAPI()) {
			c := commands[o.ID]
			if c.body == "" {
				continue
			}
			c.body = fillIn.Replace(c.body)
			got := r.send(r.key, o.Method, fillIn.Replace(line.FindStringSubmatch(c.line)[1]), c.body)
			if got.status >= 300 {
				r.t.Errorf("%s: %d %s", o.ID, got.status, got.body)
			} else if err := follows(o.ID, c.body, got.body); err != nil {
				r.t.Errorf("the answer of %s: %v", o.ID, err)
			}
			if o.ID == "disableApp" { // later requests need an app that runs
				r.send(r.key, "POST", apps+app+"/enable", "")
			}
		}
	})
}

// unlike has the fields that mean one thing in a request and another in its answer.
var unlike = map[string]string{"restoreSite": "revision", "previewApp": "url", "withdrawVersion": "version"}

// follows returns an error if a field of an answer differs from that of its request.
func follows(id, request, answer string) error {
	if request == "" {
		return nil
	}
	var sent, got any
	if err := json.Unmarshal([]byte(request), &sent); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		return err
	}
	if object, ok := sent.(map[string]any); ok {
		delete(object, unlike[id])
	}
	return same("", sent, got)
}

// same compares the fields that both sides have.
func same(at string, sent, got any) error {
	switch sent := sent.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for name, value := range sent {
			if _, has := object[name]; has {
				if err := same(at+"."+name, value, object[name]); err != nil {
					return err
				}
			}
		}
		return nil
	case []any:
		list, _ := got.([]any)
		if len(sent) != len(list) {
			return fmt.Errorf("%s has %d items, sent were %d", at, len(list), len(sent))
		}
		for i := range sent {
			if err := same(fmt.Sprintf("%s.%d", at, i), sent[i], list[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		if level, err := access.ParseLevel("level", sent); err == nil && got == float64(level) {
			return nil
		}
	}
	if !reflect.DeepEqual(sent, got) {
		return fmt.Errorf("%s is %v, sent was %v", at, got, sent)
	}
	return nil
}
