package api_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"foyer/client"
)

// schema has the parts of a schema in the OpenAPI document that these tests read.
type schema struct {
	Type       any               `json:"type"` // a name, or a list of them
	Ref        string            `json:"$ref"`
	MaxLength  int               `json:"maxLength"`
	Properties map[string]schema `json:"properties"`
}

func schemas(t *testing.T) map[string]schema {
	t.Helper()
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	decodeDocument(t, &document)
	return document.Components.Schemas
}

// values returns two values of a field as JSON: one to create an app with, and one to change it to.
func (s schema) values(name string) (first, second string) {
	switch {
	case name == "plugin_type":
		return `"source"`, `"inline"`
	case s.Type == "boolean":
		return `false`, `true`
	case strings.HasSuffix(s.Ref, "/Structure"):
		return `{"a":1}`, `[{"key":"b"}]`
	default:
		return `"first"`, `"second"`
	}
}

// Each field of the document that a caller may set is stored when an app is created or changed, is read by a server
// with an empty cache, appears in the activity, and has its limit. A field without its line in plugin's list of fields
// fails.
func TestEachFieldIsSaved(t *testing.T) {
	draft := schemas(t)["AppPatch"].Properties
	delete(draft, "url") // only for custom apps, see plugin's TestUpdateURL
	if len(draft) < 10 {
		t.Fatalf("the document has only %d fields", len(draft))
	}
	each(t, func(r *rig) {
		elsewhere := *r.api
		elsewhere.Plugins = newApps(r.t, r.db)
		url := r.serve(&elsewhere)
		for name, field := range draft {
			first, second := field.values(name)
			body := `{"name":"x","` + name + `":` + first + `}`
			if name == "name" {
				body = `{"name":` + first + `}`
			}
			path := apps + r.app(body)
			stored := func(value string) {
				r.t.Helper()
				if got := r.sendTo(url, r.key, "GET", path, ""); !strings.Contains(got.body, `"`+name+`":`+value) {
					r.t.Errorf("%s is not saved as %s: %s", name, value, got.body)
				}
			}
			stored(first)
			r.wantStatus(r.key, "PATCH", path, `{"`+name+`":`+second+`}`, 200)
			stored(second)
			before := r.send(r.key, "GET", path, "").body
			if again := r.send(r.key, "PATCH", path, `{"`+name+`":`+second+`}`); again.status != 200 || again.body != before {
				r.t.Errorf("%s that stays as it is: %d %s, not what is stored: %s", name, again.status, again.body, before)
			}
			entry := r.send(r.key, "GET", apps+"activity?limit=1&app="+strings.TrimPrefix(path, apps), "").body
			if want := `"field":"` + name + `","before":` + first + `,"after":` + second + `}]`; !strings.Contains(entry, want) {
				r.t.Errorf("the activity has no %s: %s", want, entry)
			}
			if field.MaxLength > 0 {
				long := `{"` + name + `":"` + strings.Repeat("x", field.MaxLength+1) + `"}`
				if got := r.send(r.key, "PATCH", path, long); got.status != 400 || faultsOf(got.body) != name+" max_length" {
					r.t.Errorf("%s that is too long: %d %s", name, got.status, got.body)
				}
			}
		}
	})
}

// The Go client has the fields of the document, and no others.
func TestClientHasEachField(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	for name, v := range map[string]any{"AppFields": client.App{}, "AppDraft": client.AppDraft{}, "AppPatch": client.AppPatch{}} {
		var inClient []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			inClient = append(inClient, tag)
		}
		slices.Sort(inClient)
		if document := slices.Sorted(maps.Keys(all[name].Properties)); !slices.Equal(document, inClient) {
			t.Errorf("%s: the document has %v, the client %v", name, document, inClient)
		}
	}
}

// A field of the wrong type is refused, in each body about apps and sites; all of them are named.
func TestFieldsOfTheWrongType(t *testing.T) {
	each(t, func(r *rig) {
		app := apps + r.app(`{"name":"x","source":{"a.md":"a"}}`)
		site := r.site("shop")
		r.placed(site, `{"app_id":`+strings.TrimPrefix(app, apps)+`}`)
		site = "/sites/" + site
		placed := site + "/apps/" + strings.TrimPrefix(app, apps)
		for _, c := range [][3]string{
			{"POST", apps, "description icon is_global message name plugin_type source tag"},
			{"PATCH", app, "description icon is_global name plugin_type tag"},
			{"PATCH", app + "/update_source", "message name source tag"},
			{"POST", app + "/upgrade", "accept_changed commit tag version"},
			{"POST", app + "/disable", "reason"},
			{"POST", app + "/versions/1/withdraw", "reason version"},
			{"POST", "/sites", "enabled name origins"},
			{"PATCH", site, "enabled name origins reason"},
			{"POST", site + "/restore", "revision"},
			{"POST", site + "/apps", "app_id config enabled paths position version"},
			{"PATCH", placed, "config enabled paths position reason version"},
			{"POST", placed + "/preview", "config url version"},
		} {
			names := strings.Fields(c[2])
			got := attrs(r.t, r.wantStatus(r.key, c[0], c[1], `{"`+strings.Join(names, `":[1],"`)+`":[1]}`, 400))
			if slices.Sort(got); !slices.Equal(got, names) {
				r.t.Errorf("%s %s: %q, want %q", c[0], c[1], got, names)
			}
		}
		if got := attrs(r.t, r.wantStatus(r.key, "POST", apps, `{"plugin_type":"repository","name":"x","url":[1]}`, 400)); !slices.Equal(got, []string{"url"}) {
			r.t.Errorf("to install from: %q", got)
		}
	})
}
