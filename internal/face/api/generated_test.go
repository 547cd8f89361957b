package api_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"foyer/internal/domain/access"
	"foyer/internal/face/api"
	"foyer/internal/face/openapi/openapitest"
)

var (
	generated = flag.Int("generated", 5000, "how many requests TestGeneratedRequests makes on each engine")
	seeded    = flag.Uint64("seed", 0, "what TestGeneratedRequests makes them of; 0: chosen, and logged")
)

// No request generated from the document gets a 500, the document describes each answer, and strict handling reports
// each wrong name.
func TestGeneratedRequests(t *testing.T) {
	seed := *seeded
	for seed == 0 {
		seed = rand.Uint64()
	}
	each(t, func(r *rig) {
		r.t.Logf("-seed %d", seed)
		f := newFuzzer(r, seed)
		for i := range *generated {
			f.request()
			if r.t.Failed() {
				r.t.Fatalf("it was request %d of -seed %d", i, seed)
			}
		}
		r.t.Logf("answers by status: %v; %d wrong names were told", f.answers, f.told)
		if f.answers[200]+f.answers[201]+f.answers[204] < *generated/5 || f.told < *generated/50 {
			r.t.Error("too few requests went through to be of use")
		}
	})
}

// fuzzer generates requests from the document, with ids and ETags from earlier answers.
type fuzzer struct {
	*rig
	*openapitest.Generator
	operations []openapitest.Operation
	weak       []string // keys with few permissions
	answers    map[int]int
	told       int // wrong names that were reported
}

func newFuzzer(r *rig, seed uint64) *fuzzer {
	f := &fuzzer{rig: r, Generator: openapitest.NewGenerator(r.t, api.OpenAPI(), seed), answers: map[int]int{}}
	for _, o := range openapitest.Operations(r.t, api.OpenAPI()) {
		if o.ID != "healthz" && o.ID != "readyz" { // these belong to the server
			f.operations = append(f.operations, o)
		}
	}
	f.weak = []string{"", access.NewKey(), r.otherKey, r.newKey(r.owner, "plugin:read"), r.newKey(r.join(r.org, "member@acme.example", access.Member), "*")}
	var now atomic.Int64 // time passes between requests, so that no rate limit refuses one
	now.Store(r.db.Now().UnixMicro())
	r.db.Now = func() time.Time { return time.UnixMicro(now.Add(1000)).UTC() }
	for i := range 3 {
		app, site := r.app(`{"plugin_type":"source","source":{"plugin.json":"{\"name\":\"x\"}","site.ts":""}}`), r.site(fmt.Sprint("site ", i))
		r.placed(site, `{"app_id":`+app+`}`)
		f.know("pipeline_frontend_apps/", app)
		f.know("sites/", site)
		f.know("apps/", app)
		f.know("versions/", 1)
		f.know("webhooks/", r.webhook(`"app.*"`))
		f.know("app_id", json.Number(app))
	}
	f.Known["organization_id"] = []any{"@current", r.org.ID}
	f.Known["url"] = []any{"https://git.invalid/a/b", "https://hooks.example.com/foyer"}
	f.Known["origins"] = []any{[]any{"https://shop.example.com"}, []any{}}
	f.Known["scopes"] = []any{[]any{"plugin:read"}, []any{"*"}}
	f.Known["events"] = []any{[]any{"app.*"}, []any{"app.*", "site.changed"}}
	f.Known["allowed_domains"] = []any{[]any{}}
	f.Known["wait"] = []any{0}
	f.Known["limit"] = []any{1, 2, 100}
	f.Known["paths"] = []any{[]any{"/shop/**"}, []any{}}
	return f
}

// made is a generated request.
type made struct {
	operation openapitest.Operation
	path      string
	query     url.Values
	body      string
	header    http.Header
	wrong     []string // names that nothing knows
	ids       map[string]any
}

func (f *fuzzer) request() {
	m := made{operation: openapitest.Pick(f.Generator, f.operations), query: url.Values{}, header: http.Header{}, ids: map[string]any{}}
	if m.operation.Method == http.MethodDelete && !f.Chance(4) {
		m.operation = openapitest.Pick(f.Generator, f.operations)
	}
	m.path = m.operation.Path
	strict := strings.HasPrefix(m.path, "/api/") && f.Chance(3) // browsers send no Prefer to paths of pages
	if strict {
		m.header.Set("Prefer", "handling=strict")
	}
	f.parameters(&m)
	f.body(&m, strict)
	if strict && f.Chance(3) {
		name := fmt.Sprintf("Wrong%d", f.Rand.IntN(1000))
		m.query.Set(name, "1")
		m.wrong = append(m.wrong, name)
	}
	if key := f.keyFor(); key != "" {
		m.header.Set("Authorization", "Bearer "+key)
	}
	f.send(m, strict)
}

func (f *fuzzer) keyFor() string {
	if f.Chance(20) {
		return openapitest.Pick(f.Generator, f.weak)
	}
	return f.key
}

func (f *fuzzer) parameters(m *made) {
	for _, p := range f.Parameters(m.operation) {
		name := p.Name
		switch {
		case p.In == "path" && name != "organization_id":
			name = before(m.operation.Path, name)
		case p.In == "header":
			name += m.path
		}
		value := func() string {
			if known := f.Known[name]; len(known) > 0 && !f.Chance(30) {
				m.ids[name] = openapitest.Pick(f.Generator, known)
				return fmt.Sprint(m.ids[name])
			}
			return fmt.Sprint(f.Value(p.Schema))
		}
		switch {
		case p.In == "path":
			text := value()
			if strings.Contains(text, "/") || strings.Trim(text, ".") == "" { // it would make another path
				text = "x"
			}
			m.path = strings.Replace(m.path, "{"+p.Name+"}", url.PathEscape(text), 1)
		case p.In == "query" && f.Chance(5):
			m.query.Set(name, value())
		case p.Name == "If-Match" && f.Chance(10), p.Name == "If-None-Match" && f.Chance(5), p.Name == "Idempotency-Key" && f.Chance(4):
			if text := value(); !strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
				m.header.Set(p.Name, text)
			}
		}
	}
}

// before returns the path segment before a parameter: the ids of apps are not those of sites.
func before(path, name string) string {
	parts := strings.Split(path, "/")
	return parts[slices.Index(parts, "{"+name+"}")-1] + "/"
}

func (f *fuzzer) body(m *made, strict bool) {
	schema := f.Body(m.operation, m.operation.Method == http.MethodPatch && f.Chance(3))
	if schema == nil {
		return
	}
	f.Wrong = strict
	text, err := json.Marshal(f.Value(schema))
	if err != nil {
		f.t.Fatal(err)
	}
	m.wrong = append(m.wrong, f.Names...)
	m.header.Set("Content-Type", "application/json")
	if f.Chance(50) {
		m.header.Set("Content-Type", "text/plain")
	}
	if f.Chance(50) {
		text, m.wrong = text[:f.Rand.IntN(len(text))], nil
		if len(text) == 0 {
			text = []byte("[")
		}
	}
	m.body = string(text)
}

func (f *fuzzer) send(m made, strict bool) {
	target := m.path
	if len(m.query) > 0 {
		target += "?" + m.query.Encode()
	}
	req, err := http.NewRequestWithContext(f.t.Context(), m.operation.Method, f.url+target, strings.NewReader(m.body))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header = m.header
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	got := answer{res.StatusCode, string(text), res.Header}
	f.answers[got.status]++
	if got.status == http.StatusInternalServerError {
		f.t.Errorf("answered 500: %s", text)
	}
	f.checker.Check(f.t, m.operation.Method, m.path, got.status, got.header, text)
	if strict {
		f.checkNames(m, got)
	}
	if f.t.Failed() {
		f.t.Errorf("%s %s %v\n%s", m.operation.Method, target, m.header, m.body)
	}
	f.learn(m, got)
}

// checkNames checks that each wrong name is reported, unless an earlier check fails: of the key, the object, the form
// of the body, or an option of the request.
func (f *fuzzer) checkNames(m made, got answer) {
	if len(m.wrong) == 0 {
		return
	}
	if got.status < 300 && got.header.Get("Idempotent-Replayed") == "" {
		f.t.Errorf("took %v: %d", m.wrong, got.status)
	}
	if got.status != http.StatusBadRequest || got.header.Get("Preference-Applied") == "" {
		return
	}
	told := attrs(f.t, got)
	if told[0] == "" || told[0] == "dry_run" || told[0] == "Idempotency-Key" {
		return
	}
	for _, name := range m.wrong {
		if !slices.Contains(told, name) {
			f.t.Errorf("did not tell %s of %v: %s", name, m.wrong, got.body)
		}
	}
	f.told += len(m.wrong)
}

var (
	bundleURL = regexp.MustCompile(`/apps/([^/"]+)/([^/"]+)"`)
	inviteURL = regexp.MustCompile(`/invite/([\w-]{64})"`)
	siteURL   = regexp.MustCompile(`/sites/([^/"]+)/`)
)

// learn keeps ids and ETags for later requests.
func (f *fuzzer) learn(m made, got answer) {
	o := m.operation
	if got.status == http.StatusUnauthorized || o.ID == "deleteMember" || o.ID == "updateMember" || o.ID == "deleteKey" {
		f.made++
		f.key = f.newKey(f.join(f.org, fmt.Sprintf("owner%d@acme.example", f.made), access.Owner), "*")
	}
	if tag := got.header.Get("ETag"); tag != "" {
		f.know("If-Match"+m.path, tag)
		f.know("If-None-Match"+m.path, tag)
	}
	if got.status == http.StatusNotFound || o.Method == http.MethodDelete && got.status == http.StatusNoContent {
		f.forget(m)
	}
	f.learnURLs(got)
	var body struct {
		object
		Results []object `json:"results"`
	}
	collection := o.Path[strings.LastIndexByte(o.Path, '/')+1:] + "/"
	if got.status > 299 || json.Unmarshal([]byte(got.body), &body) != nil {
		return
	}
	for _, one := range append(body.Results, body.object) {
		for _, id := range []any{one.AppID, one.User.UUID, one.ID, one.Version} {
			if id != nil && id != "" {
				f.know(collection, id)
				break
			}
		}
		if collection == "pipeline_frontend_apps/" && one.ID != nil {
			f.know("app_id", one.ID)
			f.know("app", one.ID)
		}
	}
}

// forget drops the ids of deleted objects, but not the organization's.
func (f *fuzzer) forget(m made) {
	for name, id := range m.ids {
		if strings.HasSuffix(name, "/") {
			f.Known[name] = slices.DeleteFunc(f.Known[name], func(known any) bool { return known == id })
		}
	}
}

func (f *fuzzer) learnURLs(got answer) {
	if m := bundleURL.FindStringSubmatch(got.body); m != nil {
		f.know("apps/", m[1])
		f.know(m[1]+"/", m[2])
	}
	if m := siteURL.FindStringSubmatch(got.body); m != nil {
		f.know("sites/", m[1])
	}
	if m := inviteURL.FindStringSubmatch(got.body); m != nil {
		f.know("signup/", m[1])
	}
}

// object has the fields of an object that learn reads.
type object struct {
	ID      any `json:"id"`
	Version any `json:"version"`
	AppID   any `json:"app_id"`
	User    struct {
		UUID any `json:"uuid"`
	} `json:"user"`
}

func (f *fuzzer) know(name string, value any) {
	if number, ok := value.(float64); ok {
		value = int64(number)
	}
	f.Known[name] = append(f.Known[name], value)
	f.Known[name] = f.Known[name][max(0, len(f.Known[name])-20):]
}
