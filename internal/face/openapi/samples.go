package openapi

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"strings"
	"text/template"

	"foyer/internal/base/plaintext"
)

//go:embed samples.tmpl
var samplesText string

var sampleTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"shell":  plaintext.Shell,
	"inside": func(json string) string { return strings.ReplaceAll(json, "\n", "\n  ") },
}).Parse(samplesText))

// language is a language of samples. Its name is also that of the template.
type language struct{ Name, Title string }

// languages lists all languages in the order of the page.
var languages = []language{{"curl", "curl"}, {"foyer", "Command line"}, {"go", "Go"}, {"typescript", "TypeScript"}}

// organizationPath stands for an organization in the path of a sample.
const organizationPath = "{organization}"

// sampleView is a call of an operation in one language.
type sampleView struct{ Language, Text string }

// call is the call of an operation in samples.
type call struct {
	samples
	Method, Path string
	Key          bool   // a key is needed
	Body         string // JSON; "": none
	Answer       string // JSON, text or nothing
}

// InOrganization reports whether the operation belongs to an organization.
func (c call) InOrganization() bool { return strings.Contains(c.Path, organizationPath) }

// Needs reports whether the call in Go uses a name.
func (c call) Needs(name string) bool { return strings.Contains(c.Go, name) }

// GoAnswer returns the variable with the answer of the call in Go, or "" if there is none.
func (c call) GoAnswer() string {
	variables, _, assigned := strings.Cut(c.Go, ", err := ")
	if !assigned {
		return ""
	}
	variable, _, _ := strings.Cut(variables, ",")
	return variable
}

func (c call) views() ([]sampleView, error) {
	var all []sampleView
	for _, language := range languages {
		var out bytes.Buffer
		if err := sampleTemplates.ExecuteTemplate(&out, language.Name, c); err != nil {
			return nil, err
		}
		text := out.Bytes()
		if language.Name == "go" {
			var err error
			if text, err = format.Source(text); err != nil {
				return nil, fmt.Errorf("the sample in Go: %w", err)
			}
		}
		all = append(all, sampleView{language.Name, strings.TrimSpace(string(text))})
	}
	return all, nil
}
