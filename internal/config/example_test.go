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
		if s.Default != "" && !strings.Contains(string(text), "\n#"+s.Variable()+"="+s.Default+"\n") {
			t.Errorf("%s is not there with its default, %s", s.Variable(), s.Default)
		}
	}
	if len(unknown) > 0 {
		t.Errorf("not settings: %v", unknown)
	}
}

// systemd and container runtimes read everything after the = as the value, comments included.
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
		Name     string `yaml:"name"`
		Services map[string]struct {
			PullPolicy  string            `yaml:"pull_policy"`
			EnvFile     string            `yaml:"env_file"`
			Environment map[string]string `yaml:"environment"`
			Restart     string            `yaml:"restart"`
		} `yaml:"services"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	service := file.Services["foyer"]
	if service.EnvFile != "foyer.env" { // the example's name: every setting can be given
		t.Errorf("env_file: %s", service.EnvFile)
	}
	if file.Name != "foyer" || service.PullPolicy != "build" { // otherwise an upgrade would keep the old image
		t.Errorf("name: %s, pull_policy: %s", file.Name, service.PullPolicy)
	}
	if service.Restart != "unless-stopped" { // on-failure starts nothing after a reboot
		t.Errorf("restart: %s", service.Restart)
	}
	for name := range service.Environment {
		if !slices.ContainsFunc(Settings, func(s Setting) bool { return s.Variable() == name }) {
			t.Errorf("%s is no setting", name)
		}
	}
}
