package api

import (
	_ "embed"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"foyer/internal/base/fault"
	"foyer/internal/face/wire"
)

//go:embed openapi.names.json
var openAPINames []byte

// operation has the names that an operation knows according to the document.
type operation struct {
	Query  []string    `json:"query"`  // names of parameters
	Fields wire.Fields `json:"fields"` // of its body, and of its answer, which clients may send back
}

// operations are the document's operations by path and method, read when the first request needs them. A test checks that
// each route has one.
var operations = sync.OnceValue(func() (all map[string]map[string]operation) {
	if err := json.Unmarshal(openAPINames, &all); err != nil {
		panic(err) // it is part of the program
	}
	return all
})

// unknown yields the pairs of a query that the operation does not know, each with its name. It skips malformed pairs,
// which are refused elsewhere.
func (o operation) unknown(query string) iter.Seq2[string, string] {
	return func(yield func(pair, name string) bool) {
		for pair := range strings.SplitSeq(query, "&") {
			if key, _, _ := strings.Cut(pair, "="); pair == "" || slices.Contains(o.Query, key) {
				continue
			}
			values, err := url.ParseQuery(pair)
			for name := range values {
				if err == nil && !slices.Contains(o.Query, name) && !yield(pair, name) {
					return
				}
			}
		}
	}
}

// known returns a query without the unknown pairs.
func (o operation) known(query string) string {
	unknown := map[string]bool{}
	for pair := range o.unknown(query) {
		unknown[pair] = true
	}
	if len(unknown) == 0 {
		return query
	}
	return strings.Join(slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool { return unknown[pair] }), "&")
}

// prepare reads a request's options (strict handling, dry run), and returns it without the parameters that the
// operation does not know.
func prepare(w http.ResponseWriter, r *http.Request, route Route) (*http.Request, error) {
	if strict(r.Header["Prefer"]) {
		o := operations()[route.Path][route.Method]
		w.Header().Set("Preference-Applied", "handling=strict")
		r = wire.WithStrict(r, o.Fields, o.Fields["source"]["*"], o.unknownFaults(r.URL.RawQuery))
		if err := wire.StrictFaults(r); err != nil && (route.reads() || route.Method == http.MethodDelete || r.ContentLength == 0) {
			return nil, err
		}
	}
	if r.URL.RawQuery == "" {
		return r, nil
	}
	query, err := wire.ReadQuery(r)
	if err != nil {
		return nil, err
	}
	o := operations()[route.Path][route.Method]
	if err := o.repeated(query); err != nil {
		return nil, err
	}
	if r, err = dryRun(w, r, route, query); err != nil {
		return nil, err
	}
	if known := o.known(r.URL.RawQuery); known != r.URL.RawQuery {
		trimmed := *r.URL
		trimmed.RawQuery = known
		r = r.WithContext(r.Context()) // a copy: a handler should not change the original request
		r.URL = &trimmed
	}
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

// repeated refuses repeated parameters: only one of the values would count.
func (o operation) repeated(query url.Values) error {
	var faults fault.List
	for _, name := range o.Query {
		if len(query[name]) > 1 {
			faults.Add(fault.Field(fault.Invalid, name, "Must be given once."))
		}
	}
	return faults.Err()
}

// strict reports whether a Prefer header (RFC 7240) asks to refuse unknown names.
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
