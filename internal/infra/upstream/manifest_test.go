package upstream_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"foyer/internal/infra/upstream"
)

func TestRealManifests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/plugin_json*/*.json")
	if err != nil || len(files) != 12 {
		t.Fatalf("%d files, error %v; want the nine and three variants", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := upstream.ParseManifest(string(text))
		if strings.Contains(file, "malformed") {
			if err == nil || !strings.HasPrefix(err.Error(), "is not a JSON object: ") {
				t.Errorf("%s: error %v", file, err)
			}
			continue
		}
		var want struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Config      json.RawMessage `json:"config"`
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		var config bytes.Buffer
		if want.Config != nil {
			if err := json.Compact(&config, want.Config); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil || got.Name != want.Name || got.Description != want.Description || string(got.Config) != config.String() {
			t.Errorf("%s: %+v, %v", file, got, err)
		}
	}
}

func TestParseManifest(t *testing.T) {
	t.Parallel()
	got, err := upstream.ParseManifest("\ufeff" + `{"Name": 1, "name": "A", "icon": "i", "config": { "a": 1.50 }, "publicJobs": null}`)
	if err != nil || got.Name != "A" || got.Icon != "i" || string(got.Config) != `{"a":1.50}` || got.PublicJobs != nil {
		t.Errorf("%+v, %v", got, err)
	}
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	for text, words := range map[string]string{
		"":                         "not a JSON object",
		"[]":                       "not a JSON object",
		"null":                     "not a JSON object",
		"{} {}":                    "not a JSON object",
		`{"name": 1}`:              "name",
		`{"name": "a\u0000b"}`:     "NUL",
		`{"config": "x"}`:          "config",
		`{"publicJobs": 7}`:        "publicJobs",
		`{"config": ` + deep + `}`: "64 levels",
		// a client could not read this, or send it back
		`{"config": [{"default": "\ud800"}]}`:             `"config" with`,
		`{"config": {"\udc00": 1}}`:                       `"config" with`,
		"{\"config\": [\"\xff\"]}":                        `"config" with`,
		`{"config": [1e999, {"a": "\u0000"}]}`:            "NUL",
		`{"publicJobs": {"\u0000": 1}}`:                   "NUL",
		`{"config": [1e999, ` + deep + `]}`:               "64 levels",
		`{"publicJobs": {"j": 1, "\u006a": 2}}`:           `"publicJobs" with`,
		`{"publicJobs": [[{"j": 1}, {"j": {}, "j": 2}]]}`: `"publicJobs" with`,
	} {
		if _, err := upstream.ParseManifest(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: error %v lacks %q", text, err, words)
		}
	}
	if _, err := upstream.ParseManifest(`{"config": ` + deep[1:len(deep)-1] + `}`); err != nil {
		t.Errorf("64 levels: %v", err)
	}
	if _, err := upstream.ParseManifest(`{"config": ["\\u0000"]}`); err != nil {
		t.Errorf("a backslash: %v", err)
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add(`{"name": "a", "config": [{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := upstream.ParseManifest(text)
		if err == nil && m.Config != nil && !json.Valid(m.Config) {
			t.Errorf("config %q is not JSON", m.Config)
		}
	})
}
