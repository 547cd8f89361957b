package wire_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"foyer/internal/base/fault"
	"foyer/internal/face/wire"
)

func read(body string) (wire.Object, error) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	return wire.ReadObject(httptest.NewRecorder(), r, wire.MaxBody)
}

func TestReadObjectRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	for _, c := range []struct {
		name, body string
		kind       fault.Kind
		field      string
	}{
		{"not JSON", `{"a":`, fault.Unparsable, ""},
		{"white space", "  \n", fault.Unparsable, ""},
		{"not UTF-8", "{\"a\":\"\xff\"}", fault.Unparsable, ""},
		{"a lone surrogate", `{"a":"\ud800"}`, fault.Unparsable, ""},
		{"a duplicate name", `{"a":1,"a":2}`, fault.Unparsable, ""},
		{"a duplicate name, escaped", `{"a":1,"\u0061":2}`, fault.Unparsable, ""},
		{"a duplicate name deep inside", `{"a":[{"b":1,"b":1}]}`, fault.Unparsable, ""},
		{"two values", `{}{}`, fault.Unparsable, ""},
		{"something after it", `{} x`, fault.Unparsable, ""},
		{"a byte order mark", "\ufeff{}", fault.Unparsable, ""},
		{"a raw NUL", "{\"a\":\"\x00\"}", fault.Unparsable, ""},
		{"an array", `[]`, fault.Invalid, ""},
		{"a number", `5`, fault.Invalid, ""},
		{"null", `null`, fault.Invalid, ""},
		{"a value far too deep", `{"a":` + deep + `}`, fault.Invalid, "a"},
		{"an array far too deep", deep, fault.Invalid, ""},
		{"a thousand fields and one", "{" + manyFields(1001) + "}", fault.Invalid, ""},
		{"too large", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, fault.TooLarge, ""},
	} {
		_, err := read(c.body)
		if err == nil {
			t.Errorf("%s: went through", c.name)
			continue
		}
		if f := fault.Of(err)[0]; f.Kind != c.kind || f.Field != c.field {
			t.Errorf("%s: got %d %q (%s), want %d %q", c.name, f.Kind, f.Field, f.Detail, c.kind, c.field)
		}
	}
}

func manyFields(n int) string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = `"` + strconv.Itoa(i) + `":1`
	}
	return strings.Join(fields, ",")
}

// An announced length is not trusted: no memory is allocated for it.
func TestAnnouncedLengthCostsNothing(t *testing.T) { // not parallel: it counts what the process allocates
	if bytes := testing.Benchmark(BenchmarkAnnouncedLength).AllocedBytesPerOp(); bytes == 0 || bytes > 200<<10 {
		t.Errorf("reading {} takes %d bytes", bytes)
	}
}

func BenchmarkAnnouncedLength(b *testing.B) {
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{}`))
		r.ContentLength = wire.MaxSourceBody
		r.Header.Set("Content-Type", "application/json")
		if _, err := wire.ReadObject(httptest.NewRecorder(), r, wire.MaxSourceBody); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReadObjectWithoutBody(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	if o, err := wire.ReadObject(httptest.NewRecorder(), r, wire.MaxBody); err != nil || len(o) != 0 {
		t.Errorf("got %v, %v", o, err)
	}
}

func TestMediaType(t *testing.T) {
	t.Parallel()
	for header, ok := range map[string]bool{
		"application/json":                  true,
		"Application/JSON; charset=latin-1": true,
		"application/json;charset=utf-8":    true,
		"":                                  false,
		"text/plain":                        false,
		"application/jsonp":                 false,
		"application/json, text/plain":      false,
		"application/x-www-form-urlencoded": false,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		r.Header.Set("Content-Type", header)
		_, err := wire.ReadObject(httptest.NewRecorder(), r, wire.MaxBody)
		if ok != (err == nil) || !ok && !fault.Is(err, fault.UnsupportedMediaType) {
			t.Errorf("%q: %v", header, err)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	o, err := read(`{"text":"a\u00e4\n","null":null,"number":1e3,"yes":true,"list": [1, 1.50 , {"b" : "x y\\u0000" , "a":"\" "}],
		"nul":"\u0000","nuls":{"a":["\\\u0000"]},"deep":` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `,
		"deepest":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`)
	if err != nil {
		t.Fatal(err)
	}
	if f := o.Text("text"); f.Value != "aä\n" || !f.Set || f.Null || f.Fault != nil {
		t.Errorf("text: %+v", f)
	}
	if f := o.Text("null"); !f.Set || !f.Null {
		t.Errorf("null: %+v", f)
	}
	if f := o.Text("absent"); f.Set {
		t.Errorf("absent: %+v", f)
	}
	if f := o.Choice("number"); f.Value != "1000" {
		t.Errorf("number: %+v", f)
	}
	if f := o.Bool("yes"); !f.Value {
		t.Errorf("yes: %+v", f)
	}
	if f := o.JSON("list"); f.Value != `[1,1.50,{"b":"x y\\u0000","a":"\" "}]` {
		t.Errorf("list: %+v", f)
	}
	if f := o.JSON("deepest"); f.Fault != nil {
		t.Errorf("deepest: %+v", f.Fault)
	}
	for name, err := range map[string]error{
		"number as text": o.Text("number").Fault, "text as boolean": o.Bool("text").Fault, "text as JSON": o.JSON("text").Fault,
		"boolean as choice": o.Choice("yes").Fault, "NUL": o.Text("nul").Fault, "NUL inside": o.JSON("nuls").Fault, "deep": o.JSON("deep").Fault,
	} {
		if f := fault.Of(err)[0]; f.Kind != fault.Invalid || f.Field == "" || f.Detail == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// Any input is refused, or read into valid values.
func FuzzReadObject(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"name":"x","config_schema":[{"a":1.0}]}`, `{"a":"\u0000"}`, `[[[[`, "{\"\xff\":1}", `{"a":{"b":"\\"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		o, err := read(body)
		if err != nil {
			if fault.Is(err, fault.Internal) {
				t.Fatal(err)
			}
			return
		}
		for _, m := range o {
			if text := o.Text(m.Name); text.Fault == nil && (!utf8.ValidString(text.Value) || strings.ContainsRune(text.Value, 0)) {
				t.Errorf("%q is not a sound text", text.Value)
			}
			value := o.JSON(m.Name)
			if value.Fault != nil || value.Value == "" {
				continue
			}
			again, err := read(`{"a":` + value.Value + `}`)
			if err != nil || again.JSON("a").Value != value.Value {
				t.Errorf("%q is not stable: %v", value.Value, err)
			}
		}
	})
}

func TestChoice(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{
		"8": "8", "8.0": "8", "8e0": "8", "80E-1": "8", "1.5e+1": "15", "-0.0": "0", "9007199254740991.0": "9007199254740991",
		"8.5": "8.5", "-8": "-8", "1e999": "1e999", "1e16": "1e16", "12345678901234567890": "12345678901234567890",
		`"8.0"`: "8.0", `" 8"`: " 8", `"admin"`: "admin",
	} {
		o, err := read(`{"level":` + number + `}`)
		if err != nil {
			t.Fatal(err)
		}
		if f := o.Choice("level"); f.Fault != nil || f.Value != want {
			t.Errorf("%s: %+v, want %q", number, f, want)
		}
	}
}

// The error for an incomplete body says why: the client ended it, or stopped sending.
func TestCutOffBodies(t *testing.T) {
	t.Parallel()
	for want, ends := range map[string]bool{"The body ended before it was complete.": true, "The body took too long to arrive": false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !ends {
				if err := http.NewResponseController(w).SetReadDeadline(time.Now()); err != nil {
					t.Error(err)
				}
			}
			_, err := wire.ReadObject(w, r, wire.MaxBody)
			if err == nil {
				err = errors.New("it was taken")
			}
			_, _ = io.WriteString(w, err.Error())
		}))
		t.Cleanup(server.Close)
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		if ends {
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		if answer, err := io.ReadAll(conn); err != nil || !strings.Contains(string(answer), want) {
			t.Errorf("%v, no %q in %s", err, want, answer)
		}
	}
}
