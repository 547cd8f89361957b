package api

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"foyer/internal/base/fault"
	"foyer/internal/face/wire"
)

// operation is what the document says that an operation knows.
type operation struct {
	query  map[string]bool // names of parameters
	fields map[string]bool // names in its body, and in what it answers, which may be sent back
}

// operations are those of the document, by method and path.
var operations = sync.OnceValue(func() map[string]operation {
	var d document31
	if err := json.Unmarshal(openAPIJSON, &d); err != nil {
		panic(err) // it is part of the program
	}
	all := map[string]operation{}
	for path, item := range d.Paths {
		for method, text := range item {
			if method == "parameters" {
				continue
			}
			var described struct {
				Parameters  []reference          `json:"parameters"`
				RequestBody reference            `json:"requestBody"`
				Responses   map[string]reference `json:"responses"`
			}
			if err := json.Unmarshal(text, &described); err != nil {
				panic(err)
			}
			o := operation{map[string]bool{}, map[string]bool{}}
			for _, p := range described.Parameters {
				if p = d.find(p); p.In == "query" {
					o.query[p.Name] = true
				}
			}
			d.addFields(o.fields, d.find(described.RequestBody))
			for _, status := range []string{"200", "201"} {
				d.addFields(o.fields, d.find(described.Responses[status]))
			}
			all[strings.ToUpper(method)+" "+path] = o
		}
	}
	return all
})

// document31 is what is needed of an OpenAPI document.
type document31 struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components map[string]map[string]reference       `json:"components"`
}

// reference is a parameter, body, response or schema, or where it is.
type reference struct {
	Ref        string                     `json:"$ref"`
	Name       string                     `json:"name"`
	In         string                     `json:"in"`
	Content    map[string]content31       `json:"content"`
	Properties map[string]json.RawMessage `json:"properties"`
	Items      *reference                 `json:"items"`
	AllOf      []reference                `json:"allOf"`
	OneOf      []reference                `json:"oneOf"`
}

type content31 struct {
	Schema reference `json:"schema"`
}

func (d document31) find(r reference) reference {
	parts := strings.Split(r.Ref, "/") // #/components/KIND/NAME
	if len(parts) != 4 {
		return r
	}
	return d.Components[parts[2]][parts[3]]
}

// addFields adds the names of all members that what r describes can have.
func (d document31) addFields(names map[string]bool, r reference) {
	r = d.find(r)
	for name := range r.Properties {
		names[name] = true
	}
	for _, content := range r.Content {
		d.addFields(names, content.Schema)
	}
	if r.Items != nil {
		d.addFields(names, *r.Items)
	}
	for _, part := range slices.Concat(r.AllOf, r.OneOf) {
		d.addFields(names, part)
	}
}

// takes reports whether an operation knows a field. Where files are taken, a name with a dot is one.
func (o operation) takes(field string) bool {
	return o.fields[field] || o.fields["source"] && strings.Contains(field, ".")
}

// unknown lists what a query has that the operation does not know, each pair and its name.
// What is not well-formed is not unknown, but wrong.
func (o operation) unknown(query string) iter.Seq2[string, string] {
	return func(yield func(pair, name string) bool) {
		for pair := range strings.SplitSeq(query, "&") {
			if key, _, _ := strings.Cut(pair, "="); pair == "" || o.query[key] {
				continue
			}
			values, err := url.ParseQuery(pair)
			for name := range values {
				if err == nil && !o.query[name] && !yield(pair, name) {
					return
				}
			}
		}
	}
}

// known returns a query without the unknown pairs.
func (o operation) known(query string) string {
	for pair := range o.unknown(query) {
		pairs := slices.DeleteFunc(strings.Split(query, "&"), func(p string) bool { return p == pair })
		query = strings.Join(pairs, "&")
	}
	return query
}

// ask reads what a request asks for beside its operation, and leaves out parameters that the
// operation does not know.
func (o operation) ask(w http.ResponseWriter, r *http.Request, route Route) (*http.Request, error) {
	if strict(r.Header["Prefer"]) {
		w.Header().Set("Preference-Applied", "handling=strict")
		r = wire.WithStrict(r, o.takes, o.unknownFaults(r.URL.RawQuery))
		if err := wire.StrictFaults(r); err != nil && (route.reads() || r.ContentLength == 0) {
			return nil, err
		}
	}
	if r.URL.RawQuery == "" {
		return r, nil
	}
	r, err := dryRun(w, r, route)
	if err != nil {
		return nil, err
	}
	r.URL.RawQuery = o.known(r.URL.RawQuery)
	return r, nil
}

func (o operation) unknownFaults(query string) fault.List {
	var faults fault.List
	for _, name := range o.unknown(query) {
		if name != dryRunParameter {
			faults.Add(fault.Field(fault.Invalid, name, "This operation has no such parameter."))
		}
	}
	return faults
}

// strict reports whether a Prefer header asks that nothing unknown is ignored (RFC 7240).
func strict(preferences []string) bool {
	for preference := range strings.SplitSeq(strings.Join(preferences, ","), ",") {
		name, value, _ := strings.Cut(preference, "=")
		value, _, _ = strings.Cut(value, ";")
		if strings.EqualFold(strings.TrimSpace(name), "handling") {
			return strings.Trim(strings.TrimSpace(value), `"`) == "strict" // the first one counts
		}
	}
	return false
}

// operationOf is what the document says of a route; a test sees to it that it says something.
func operationOf(route Route) operation {
	o, ok := operations()[route.Method+" "+route.Path]
	if !ok {
		panic(fmt.Sprint(route.Method, " ", route.Path, " is not in openapi.yaml"))
	}
	return o
}
