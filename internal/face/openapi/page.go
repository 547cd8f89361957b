package openapi

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed page.html
var pageHTML string

// Page turns a YAML document into HTML pages for people: a first page, one for each group of operations with samples,
// and one for the objects. Each begins with a line {part NAME}; the first has no name. The server fills in the
// placeholders {root}, {in}, {base_url}, {organization}, {organization_flag} and {organization_name}.
func Page(source []byte) ([]byte, error) {
	d, err := read(source)
	if err != nil {
		return nil, err
	}
	view, err := d.view()
	if err != nil {
		return nil, err
	}
	page, err := template.New("page").Funcs(template.FuncMap{
		"blocks": blocks, "spans": spans, "languages": func() []language { return languages },
		"contents": func(v pageView, part string) contentsView { return contentsView{v, part} },
	}).Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := page.Execute(&out, view); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// The data for page.html, in the order of the page.
type (
	pageView struct {
		Title, Version, Summary, Description string
		Groups                               []groupView
		Objects                              []objectView
	}
	groupView struct {
		Name, Description string
		Operations        []operationView
	}
	// contentsView is the list of contents beside a part.
	contentsView struct {
		pageView
		Part string
	}
	operationView struct {
		ID, Method, Path, Summary, Description string
		Scopes                                 []string
		Parameters                             []fieldView
		Body                                   *bodyView
		Answers                                []answerView
		Samples                                []sampleView
		Answer                                 string // an example
		answers                                string // as call.Answer
	}
	bodyView struct {
		Type   typeView
		Fields []fieldView
	}
	answerView struct {
		Status, Description string
		Type                typeView
	}
	objectView struct {
		Name, Description string
		Fields            []fieldView
	}
	fieldView struct {
		Name, In, Description string
		Required              bool
		Type                  typeView
	}
	// typeView describes the type of a value. Object is the name of its schema, if the page shows that.
	typeView struct {
		Before, Object, After string
	}
)

// Slug is the name of the group's part.
func (g groupView) Slug() string { return strings.ToLower(g.Name) }

func (d *document) view() (pageView, error) {
	v := pageView{
		Title: d.Info.Title, Version: d.Info.Version, Summary: d.Info.Summary, Description: d.Info.Description,
	}
	for _, t := range d.Tags {
		group := groupView{Name: t.Name, Description: t.Description}
		for _, path := range d.Paths {
			for _, m := range path.Value.methods() {
				if m.Value == nil || m.Value.Tags[0] != t.Name {
					continue
				}
				o, err := d.operation(m.Key, path.Key, path.Value.Parameters, m.Value)
				if err != nil {
					return v, fmt.Errorf("%s %s: %w", m.Key, path.Key, err)
				}
				group.Operations = append(group.Operations, o)
			}
		}
		v.Groups = append(v.Groups, group)
	}
	objects, err := d.objects()
	v.Objects = objects
	return v, err
}

func (p pathItem) methods() ordered[*operation] {
	return ordered[*operation]{{"GET", p.Get}, {"POST", p.Post}, {"PATCH", p.Patch}, {"DELETE", p.Delete}}
}
