package wire_test

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"foyer/internal/face/wire"
)

// An object is split into the members that encoding/json finds in it.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		benchApp, ` { } `, `{"":""}`, `{"a":-1.5e+3,"b":[ ],"c":{ }}`, "{\n\"a\" : [1 , {\"b\":\"]}\\\"\"}]\t,\r\"c\":null }",
		`{"\u0061\"":"\\","é":"\ud83d\ude00","x":["a","b\n"],"y":{"z":true}}`, `{"a":{"b":{"c":"\\u0000"}},"d":false}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		o, err := read(body)
		large, largeErr := read(body + strings.Repeat(" ", 64<<10)) // takes the path of large bodies
		if body != "" && (err == nil) != (largeErr == nil) || len(large) != len(o) {
			t.Fatalf("%q: %v, %v when it is large", body, err, largeErr)
		}
		if err != nil || len(o) == 0 {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &want); err != nil || len(want) != len(o) {
			t.Fatalf("%q has %d members, not %d: %v", body, len(want), len(o), err)
		}
		for _, m := range o {
			same(t, o, m.Name, want[m.Name])
		}
	})
}

func same(t *testing.T, o wire.Object, name string, raw json.RawMessage) {
	t.Helper()
	var want any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		t.Fatalf("%q: %v", name, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		t.Fatal(err)
	}
	switch want := want.(type) {
	case string:
		if text := o.Text(name); text.Fault == nil && text.Value != want {
			t.Errorf("%q is %q, not %q", name, text.Value, want)
		}
	case json.Number:
		number := json.Number(o.Choice(name).Value)
		got, _ := number.Float64()
		if exact, err := want.Float64(); number != want && (err != nil || got != exact) {
			t.Errorf("%q is %q, not %q", name, number, want)
		}
	case bool:
		if o.Bool(name).Value != want {
			t.Errorf("%q is not %v", name, want)
		}
	case []any, map[string]any:
		if text := o.JSON(name); text.Fault == nil && text.Value != compact.String() {
			t.Errorf("%q is %q, not %q", name, text.Value, compact.String())
		}
	case nil:
		if !o.Text(name).Null {
			t.Errorf("%q is not null", name)
		}
	}
}

// A text that is kept does not keep the body that it came in.
func TestTextsKeepNoBody(t *testing.T) { // not parallel: it measures the memory of the whole process
	const bodies = 64
	body := `{"text":"x","number":1e3,"json":{"a":1},"spaces":{` + strings.Repeat(" ", wire.MaxBody-100) + `}}`
	var kept [4 * bodies]string
	for i := 0; i < len(kept); i += 4 {
		o, err := read(body)
		if err != nil {
			t.Fatal(err)
		}
		kept[i], kept[i+1] = o.Text("text").Value, o.Choice("number").Value
		kept[i+2], kept[i+3] = o.JSON("json").Value, o.JSON("spaces").Value
	}
	runtime.GC()
	var memory runtime.MemStats
	if runtime.ReadMemStats(&memory); memory.HeapAlloc > bodies/2*wire.MaxBody {
		t.Errorf("%d bytes are in use", memory.HeapAlloc)
	}
	runtime.KeepAlive(kept)
}

func TestReadObjectSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		" \n":                        "The body is not valid JSON: it ends too early.",
		`{"a":1,}`:                   "The body is not valid JSON: invalid character ',' at start of value (byte 6).",
		`{1:2}`:                      "The body is not valid JSON: object member name must be a string (byte 1).",
		`{"a":[1 2]}`:                "The body is not valid JSON: invalid character '2' after array element (expecting ',' or ']') (byte 8).",
		`{"a":{"b":1,"b":2}}`:        `The body is not valid JSON: "b" appears twice.`,
		`{}{}`:                       "The body must be one JSON value; something follows it.",
		"{" + manyFields(1001) + ",": "Must have at most 1000 fields.",
	} {
		if _, err := read(body); err == nil || err.Error() != want {
			t.Errorf("%.40s: %v, not %s", body, err, want)
		}
	}
}
