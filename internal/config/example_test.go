package config

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// assigned finds the variables that an environment file sets, commented out or not.
var assigned = regexp.MustCompile(`(?m)^#?(FOYER_[A-Z_]+)=`)

func TestExampleHasEverySetting(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/foyer.env.example")
	if err != nil {
		t.Fatal(err)
	}
	var unknown []string
	for _, match := range assigned.FindAllStringSubmatch(string(text), -1) {
		unknown = append(unknown, match[1])
	}
	head, _, _ := strings.Cut(string(text), "\n\n")
	for _, s := range Settings {
		if s.Secret && !strings.Contains(head, s.Variable()) {
			t.Errorf("%s is a secret, which the head does not say", s.Variable())
		}
		before := len(unknown)
		unknown = slices.DeleteFunc(unknown, func(name string) bool {
			return name == s.Variable() || s.Secret && name == s.Variable()+"_FILE"
		})
		if found := before - len(unknown); found != 1 {
			t.Errorf("%s is there %d times, not once", s.Variable(), found)
		}
	}
	if len(unknown) > 0 {
		t.Errorf("not settings: %v", unknown)
	}
}

// What is behind a value on its line is part of it, to systemd and to containers.
func TestDocumentedSettingsHaveNoComments(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^FOYER_[A-Z_]+=.* #.*$`).FindAllString(string(text), -1) {
		t.Error(line)
	}
}

func TestComposeFileHasSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Environment map[string]string `yaml:"environment"`
			Restart     string            `yaml:"restart"`
		} `yaml:"services"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	given := file.Services["foyer"].Environment
	if given["FOYER_BASE_URL"] == "" {
		t.Errorf("it gives %v", given)
	}
	if restart := file.Services["foyer"].Restart; restart != "unless-stopped" { // on-failure starts nothing after a reboot
		t.Errorf("restart: %s", restart)
	}
	for name := range given {
		if !slices.ContainsFunc(Settings, func(s Setting) bool { return s.Variable() == name }) {
			t.Errorf("%s is no setting", name)
		}
	}
}
