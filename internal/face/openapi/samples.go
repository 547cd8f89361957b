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

// language is one of the samples. Its name is that of the template.
type language struct{ Name, Title string }

// languages are all there are, in their order.
var languages = []language{{"curl", "curl"}, {"foyer", "Command line"}, {"go", "Go"}, {"typescript", "TypeScript"}}

// organizationPath is what stands for an organization in the path of a sample.
const organizationPath = "{organization}"

// sampleView is how an operation is called in one language.
type sampleView struct{ Language, Text string }

// call is an operation as samples call it.
type call struct {
	samples
	Method, Path string
	Key          bool   // is needed
	Body         string // JSON; "": none
	Answer       string // JSON, text or nothing
}

// InOrganization reports whether the operation is one of an organization.
func (c call) InOrganization() bool { return strings.Contains(c.Path, organizationPath) }

// Needs reports whether the call in Go uses what has this name.
func (c call) Needs(name string) bool { return strings.Contains(c.Go, name) }

// GoAnswer is the variable with the answer of the call in Go; "": it has none.
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
