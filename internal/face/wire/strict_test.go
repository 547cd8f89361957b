package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"foyer/internal/base/inflight"
	"foyer/internal/face/wire"
)

// refuse sends a body to an operation that knows only files, and returns the answer.
func refuse(tb testing.TB, body string) []byte {
	tb.Helper()
	files := wire.Fields{"base64": nil}
	r := httptest.NewRequest(http.MethodPatch, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r = wire.WithStrict(r, nil, files, nil)
	_, err := wire.ReadObject(httptest.NewRecorder(), r, wire.MaxSourceBody)
	if err == nil {
		return nil
	}
	limit := inflight.New(64 << 20)
	request := limit.Begin(nil)
	r = r.WithContext(inflight.With(r.Context(), request))
	recorded := httptest.NewRecorder()
	w := &struct {
		http.ResponseWriter
		wire.Holder
	}{recorded, wire.NewHolder(r)}
	wire.WriteError(w, err)
	if held := limit.Held(); held < recorded.Body.Len() {
		tb.Errorf("%d bytes are held for an answer of %d", held, recorded.Body.Len())
	}
	return recorded.Body.Bytes()
}

// The answer stays short, however many unknown names a body has and however long they are.
func TestRefusalsAreShort(t *testing.T) {
	t.Parallel()
	file := func(name string) string { return fmt.Sprintf("%q:{%s}", name, manyFields(1000)) }
	var many []string
	for i := range 50 {
		many = append(many, file(fmt.Sprint(i, ".ts")))
	}
	long := strings.Repeat("\x7fä", 100_000)
	for name, body := range map[string]string{
		"many":          "{" + strings.Join(many, ",") + "}",
		"in a long one": `{"` + long + `.ts":{` + manyFields(1000) + "}}",
		"long":          `{"` + long + `":1}`,
		"twice":         `{"` + long + `":1,"` + long + `":1}`,
	} {
		answer := refuse(t, body)
		errors := bytes.Count(answer, []byte(`"attr"`)) - 1
		if !json.Valid(answer) || errors < 1 || errors > 1000 || len(answer) > 3000*(errors+1) {
			t.Errorf("%s: %d errors, %d bytes: %.200s", name, errors, len(answer), answer)
		}
	}
}

// Arrays in arrays have no fields, so they are not searched: when each level was, a body of 1 MB took 9 s.
func TestStrictLeavesArraysInArrays(t *testing.T) { // not parallel: it counts what the process allocates
	if used := testing.Benchmark(BenchmarkStrictArraysInArrays).AllocedBytesPerOp(); used == 0 || used > 1<<20 {
		t.Errorf("%d bytes are used for a body of 10 kB", used)
	}
}

func BenchmarkStrictArraysInArrays(b *testing.B) {
	const deep = 5000
	body := `{"a.ts":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}`
	for b.Loop() {
		if answer := refuse(b, body); answer != nil {
			b.Fatalf("%.200s", answer)
		}
	}
}
