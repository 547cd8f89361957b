package console

import (
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"foyer/client"
)

// typed returns a field of the form, or the words of all ticked boxes of that name, with line ends as in Go. The field
// may hold anything: invalid UTF-8 is replaced.
func (v *visit) typed(name string) string {
	return lineEnds.Replace(strings.ToValidUTF8(strings.Join(v.request.PostForm[name], " "), "\uFFFD"))
}

// line returns a field of the form without white space around it.
func (v *visit) line(name string) string { return strings.TrimSpace(v.typed(name)) }

// was names the hidden field that holds the original value of a field.
func was(name string) string { return "was." + name }

// edited returns a field of the form; nil if the user left it unchanged: somebody else may have changed the stored value
// since.
func (v *visit) edited(name string) *string {
	now := v.line(name)
	if now == v.line(was(name)) {
		return nil
	}
	return &now
}

// ticked reports whether a box of the form is ticked.
func (v *visit) ticked(name string) bool { return v.line(name) == on(true) }

// editedBox reports whether a box of the form is ticked; nil if the user left it unchanged, or there is none.
func (v *visit) editedBox(name string) *bool {
	if v.edited(name) == nil {
		return nil
	}
	return new(v.ticked(name))
}

// checkChosen checks how many items of a list are chosen: at least one, and at most a page of them.
func checkChosen(items []string) error {
	switch {
	case len(items) == 0:
		return wrong("", "Choose at least one.")
	case len(items) > perPage:
		return wrong("", fmt.Sprintf("Choose at most %d at a time.", perPage))
	}
	return nil
}

// listed returns the words of a field; there may be none.
func listed(text string) []string { return append([]string{}, strings.Fields(text)...) }

// lines returns the lines of a field, without white space around them and without blank ones. There may be none.
func lines(text string) []string {
	all := []string{}
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			all = append(all, l)
		}
	}
	return all
}

// changed names the edited fields of a form.
func (v *visit) changed(fields ...string) string {
	var all []string
	for _, name := range fields {
		if v.edited(name) != nil {
			all = append(all, strings.ToLower(labels[name]))
		}
	}
	if all == nil {
		return "is as it was."
	}
	return "is changed: " + strings.Join(all, ", ") + "."
}

// on is the value that a box of a form sends.
func on(ticked bool) string {
	if ticked {
		return "on"
	}
	return ""
}

// faults are the faults in the fields of a form.
type faults []client.Fault

func (f *faults) add(field, detail string) {
	*f = append(*f, client.Fault{Attr: field, Detail: detail})
}

// err returns the faults as the API's error; nil if there are none.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return &client.Error{Fault: f[0], Errors: f, Status: http.StatusBadRequest}
}

// wrong returns a fault in a field of a form, as the API's error.
func wrong(field, detail string) error { return faults{{Attr: field, Detail: detail}}.err() }

// refusal returns an error of the API that is not about a field.
func refusal(status int, detail string) error {
	f := client.Fault{Detail: detail}
	return &client.Error{Fault: f, Errors: []client.Fault{f}, Status: status}
}

// asField gives a refused field the name that it has in the form.
func asField(err error, attr, field string) error {
	return inField(err, attr, func(f *client.Fault) { f.Attr = field })
}

// reword replaces the API's text about a field by the form's own.
func reword(err error, field, detail string) error {
	return inField(err, field, func(f *client.Fault) { f.Detail = detail })
}

// inField changes the faults in a field that the API refused.
func inField(err error, attr string, change func(*client.Fault)) error {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	for i := range refused.Errors {
		if refused.Errors[i].Attr == attr {
			change(&refused.Errors[i])
		}
	}
	return refused
}

// Marks returns the attributes of a field of the form that name its notes, by their ids, and say whether it was refused.
func (f Frame) Marks(do, name string, notes ...string) template.HTMLAttr {
	marks := ""
	if f.Sent(do) && slices.ContainsFunc(f.Faults, func(fault client.Fault) bool { return fault.Attr == name }) {
		marks, notes = `aria-invalid="true" `, slices.Concat([]string{"faults"}, notes)
	}
	if len(notes) > 0 {
		marks += `aria-describedby="` + strings.Join(notes, " ") + `"`
	}
	return template.HTMLAttr(marks) // the ids are ours
}

// Filled returns the value that a field of the form is filled with: the sent one, if the form was refused.
func (f Frame) Filled(do, name, otherwise string) string {
	if f.Sent(do) && f.sent.Has(name) {
		return strings.ToValidUTF8(f.sent.Get(name), "\uFFFD")
	}
	return otherwise
}

// Was renders the hidden field with the value that a field was first filled with: the stored one, or the one that a
// refused form came with.
func (f Frame) Was(do, name, stored string) template.HTML {
	name = was(name)
	return template.HTML(`<input type="hidden" name="` + template.HTMLEscapeString(name) + `" value="` + template.HTMLEscapeString(f.Filled(do, name, stored)) + `">`) // it is escaped
}

// Fills reports whether the refused form has a field with this id. Boxes send nothing unless one is ticked.
func (f Frame) Fills(id string) bool {
	return f.sent.Has(id) || f.sent.Has(was(id)) || f.sent.Has(withoutNumber(id))
}

// withoutNumber returns the name of a field whose id may be numbered.
func withoutNumber(id string) string {
	name, _, _ := strings.Cut(id, "-")
	return name
}

// Sent reports whether the page is shown again because its form was refused. For a form with several buttons, do names
// them all, separated by spaces.
func (f Frame) Sent(do string) bool { return slices.Contains(strings.Split(do, " "), f.sent.Get("do")) }

// Chosen reports whether a box of the form is ticked; a refused form keeps its ticks.
func (f Frame) Chosen(do, name, value string, otherwise bool) bool {
	if f.Sent(do) {
		return slices.Contains(f.sent[name], value)
	}
	return otherwise
}
