package trace_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"foyer/internal/infra/trace"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	const to = "OTEL_EXPORTER_OTLP_ENDPOINT=https://collector.example "
	for given, want := range map[string]string{
		"":                               "off",
		"OTEL_SERVICE_NAME=x":            "off",
		to:                               "on",
		to + "OTEL_SDK_DISABLED=true":    "off",
		to + "OTEL_TRACES_EXPORTER=none": "off",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://collector.example/x":   "on",
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector.example":                   "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://":                             "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.example":            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		to + "OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                           "OTEL_EXPORTER_OTLP_PROTOCOL",
		to + "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf":           "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
		to + "OTEL_EXPORTER_OTLP_PROTOCOL=http/json":                      "on",
		to + "OTEL_EXPORTER_OTLP_TIMEOUT=x":                               "OTEL_EXPORTER_OTLP_TIMEOUT",
		to + "OTEL_TRACES_SAMPLER=jaeger_remote":                          "OTEL_TRACES_SAMPLER",
		to + "OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=2": "OTEL_TRACES_SAMPLER_ARG",
	} {
		tracer, err := from(given)
		switch {
		case err != nil && !strings.HasPrefix(err.Error(), want+":"), err == nil && (tracer != nil) != (want == "on"):
			t.Errorf("%q: %v, %v", given, tracer != nil, err)
		}
	}
}

func from(given string) (*trace.Tracer, error) {
	env := map[string]string{}
	for pair := range strings.FieldsSeq(given) {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return trace.New(func(name string) string { return env[name] }, "v1", time.Now)
}

// A trace that its origin does not record is not recorded here, nor is one that the sampler leaves out.
func TestSampling(t *testing.T) {
	t.Parallel()
	const to, id = "OTEL_EXPORTER_OTLP_ENDPOINT=https://collector.example ", "0af7651916cd43dd8448eb211c80319c"
	for _, c := range []struct {
		given, header string
		recorded      bool
	}{
		{to, "", true},
		{to, "00-" + id + "-b7ad6b7169203331-01", true},
		{to, "00-" + id + "-b7ad6b7169203331-00", false},
		{to, "nonsense", true},
		{to, "ff-" + id + "-b7ad6b7169203331-00", true},
		{to, "01-" + id + "-b7ad6b7169203331-00-extra", false},
		{to + "OTEL_TRACES_SAMPLER=parentbased_always_off", "", false},
		{to + "OTEL_TRACES_SAMPLER=parentbased_always_off", "00-" + id + "-b7ad6b7169203331-01", true},
	} {
		tracer, err := from(c.given)
		if err != nil {
			t.Fatal(err)
		}
		ctx, span := tracer.Continue(t.Context(), c.header, "x", trace.Server)
		if (span != nil) != c.recorded || (trace.From(ctx).Child("y") != nil) != c.recorded {
			t.Errorf("%+v: %v", c, span)
		}
		if parent := span.Parent(); (parent != "") != c.recorded || strings.Contains(c.header, id+"-b7ad6b7169203331-01") && !strings.Contains(parent, id) {
			t.Errorf("%+v: %s", c, parent)
		}
	}
}

// A stop waits at most a few seconds for a collector that does not respond, or switches protocols and says no more,
// whatever its timeout. The log does not contain the collector's url.
func TestStopWithSilentCollector(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: any\r\n\r\n"} {
		asked, over := make(chan struct{}, 2), make(chan struct{})
		silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, said)
			asked <- struct{}{}
			<-over
		}))
		defer silent.Close()
		defer close(over)
		wantStop(t, silent.URL, asked)
	}
}

func wantStop(t *testing.T, collector string, asked <-chan struct{}) {
	t.Helper()
	tracer, err := from("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + collector + "?key=hunter2 OTEL_EXPORTER_OTLP_TIMEOUT=3600000")
	if err != nil {
		t.Fatal(err)
	}
	for range 600 { // more than one request to the collector holds
		_, span := tracer.Continue(t.Context(), "", "x", trace.Server)
		span.End()
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	var log strings.Builder
	go func() {
		tracer.Run(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		close(ended)
	}()
	<-asked
	stop()
	select {
	case <-ended:
		if said := log.String(); !strings.Contains(said, "send traces") || strings.Contains(said, "hunter2") {
			t.Error(said)
		}
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
	}
}

// No request has more spans than a collector may accept, not even the last one; dropped spans are logged.
func TestRequestsAreSmall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // the time at the end stands still while a request is under way
		var requests []int // number of spans in each
		collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			requests = append(requests, bytes.Count(body, []byte(`"spanId"`)))
		}))
		defer collector.Close()
		tracer, err := from("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + collector.URL)
		if err != nil {
			t.Fatal(err)
		}
		for range 3000 {
			_, span := tracer.Continue(t.Context(), "", "x", trace.Server)
			span.End()
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		var log strings.Builder
		tracer.Run(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		if want := []int{512, 512, 512, 512}; !slices.Equal(requests, want) {
			t.Errorf("%v, want %v", requests, want)
		}
		if said := log.String(); strings.Count(said, "spans dropped") != 1 || !strings.Contains(said, "spans=952") {
			t.Errorf("the log: %s", said)
		}
	})
}

// A nil Tracer costs nothing.
func TestOffAllocatesNothing(t *testing.T) {
	var tracer *trace.Tracer
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		inside, span := tracer.Continue(ctx, "", "x", trace.Server)
		span.Set("key", "value")
		trace.From(inside).Child("y").End()
		span.End()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
