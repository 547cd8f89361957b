package wire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"foyer/internal/face/wire"
)

// benchApp is a request with all the fields of an app.
const benchApp = `{"plugin_type":"local","name":"App 4711","description":"Forwards events to a warehouse","icon":"https://cdn.example.com/icon.png",
"config_schema":[{"key":"apiKey","type":"string","secret":true},{"key":"host","type":"string"},{"key":"batch","type":"number"},{"key":"region","type":"choice"}],
"tag":"v1.0.0","is_global":false,"capabilities":{"jobs":["sync"],"methods":["onEvent"]},"metrics":{"sent":"sum","latency":"max"},
"public_jobs":{"export":{"payload":{"from":{"type":"date"}}}}}`

func BenchmarkReadObject(b *testing.B) {
	body := strings.NewReader(benchApp)
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	b.ReportAllocs()
	for b.Loop() {
		body.Reset(benchApp)
		r.Body = io.NopCloser(body)
		o, err := wire.ReadObject(w, r, wire.MaxBody)
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range []string{"plugin_type", "url", "name", "description", "icon", "tag"} {
			o.Text(name)
		}
		for _, name := range []string{"config_schema", "capabilities", "metrics", "public_jobs"} {
			o.JSON(name)
		}
		o.Bool("is_global")
	}
}

func BenchmarkAppendTime(b *testing.B) {
	now := time.Now()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = wire.AppendTime(buf[:0], "created_at", now)
	}
}
