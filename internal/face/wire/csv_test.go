package wire

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
)

var inviteColumns = []string{"email", "name", "level"}

func TestCSV(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"email\na@x.example\n": `email=a@x.example`,
		"\ufefflevel,email\r\n8,a@x.example\r\nadmin,b@x.example": `level=8 email=a@x.example; level=admin email=b@x.example`,
		"email,name\n\na@x.example,\n,Ben\n":                      `email=a@x.example; name=Ben`,
		"email,name\na,\"Ada, \"\"B\"\"\nC\"\n":                   "email=a name=Ada, \"B\"\nC",
	} {
		objects, err := parseCSV([]byte(body), 3, inviteColumns)
		if err != nil {
			t.Errorf("%q: %v", body, err)
			continue
		}
		if got := written(objects); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
}

func written(objects []patch.Field[Object]) string {
	var lines []string
	for _, o := range objects {
		var cells []string
		for _, m := range o.Value {
			cells = append(cells, m.Name+"="+o.Value.Text(m.Name).Value)
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return strings.Join(lines, "; ")
}

func TestWrongCSV(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		kind  fault.Kind
		field string
	}{
		"\n":                         {fault.Unparsable, ""},
		"email\n":                    {fault.Unparsable, ""},
		"email\n\xff\n":              {fault.Unparsable, ""},
		"email,name\na\n":            {fault.Unparsable, ""},
		"email\n\"a\n":               {fault.Unparsable, ""},
		"email;name\na;b\n":          {fault.Invalid, "email;name"},
		"email,phone\na,b\n":         {fault.Invalid, "phone"},
		"Email\na\n":                 {fault.Invalid, "Email"},
		"email,name,email\na,b,c\n":  {fault.Invalid, "email"},
		"name\nAda\n":                {fault.Required, "email"},
		"email\na\nb\nc\nd\n":        {fault.TooLong, ""},
		strings.Repeat(",", 1<<19):   {fault.Invalid, ""},
		"email\na\nb\n\"c\"d\ne\n\n": {fault.Unparsable, ""},
	} {
		_, err := parseCSV([]byte(body), 3, inviteColumns)
		if err == nil || len(fault.Of(err)) != 1 || fault.Of(err)[0].Kind != want.kind || fault.Of(err)[0].Field != want.field {
			t.Errorf("%.40q: %v, want %+v", body, err, want)
		}
	}
}

// Any input is refused as the caller's fault, or read as valid texts in known columns.
func FuzzCSV(f *testing.F) {
	for _, seed := range []string{"email\na\n", "\ufeffname,email\r\n\"a\"\"\n\",b", "email,name,level\n,,\n\x00,a,8\n", "email\n\"", ",\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		const limit = 5
		objects, err := parseCSV([]byte(body), limit, inviteColumns)
		if err != nil {
			if fault.Is(err, fault.Internal) {
				t.Fatal(err)
			}
			return
		}
		if len(objects) == 0 || len(objects) > limit {
			t.Fatalf("%d items", len(objects))
		}
		for _, o := range objects {
			for _, m := range o.Value {
				text := o.Value.Text(m.Name)
				if !slices.Contains(inviteColumns, m.Name) || text.Fault == nil && (text.Value == "" || !utf8.ValidString(text.Value) || strings.ContainsRune(text.Value, 0)) {
					t.Errorf("%q: %q", m.Name, text.Value)
				}
			}
		}
	})
}
