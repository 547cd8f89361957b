package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"foyer/client"
	"foyer/internal/config"
	"foyer/internal/infra/db/dbtest"
	"foyer/internal/infra/trace"
)

type span struct {
	TraceID string `json:"traceId"`
	ID      string `json:"spanId"`
	Parent  string `json:"parentSpanId"`
	Name    string `json:"name"`
	Kind    int    `json:"kind"`
	Start   int64  `json:"startTimeUnixNano,string"`
	End     int64  `json:"endTimeUnixNano,string"`

	Attributes []struct {
		Key   string `json:"key"`
		Value struct {
			Text string `json:"stringValue"`
		} `json:"value"`
	} `json:"attributes"`
}

// collector receives the spans of a tracer, whose endpoint is its address with a suffix, and passes them on.
func collector(t *testing.T, suffix string) (tracer *trace.Tracer, spans chan span) {
	t.Helper()
	spans = make(chan span, 10_000)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var sent struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []span `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Api-Key") != "a b" {
			t.Errorf("%s %v: %v", r.URL.Path, r.Header, err)
		}
		for _, resource := range sent.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					spans <- s
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": s.URL + suffix, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b"}
	return must(trace.New(func(name string) string { return env[name] }, "v1", time.Now))(t), spans
}

// A trace that starts at a proxy continues in foyer, in its statements, and at the receiver of a webhook.
func TestTraces(t *testing.T) {
	t.Parallel()
	dbtest.EachURL(t, func(t *testing.T, database string) {
		const id, proxy = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
		tracer, spans := collector(t, "/")
		told := make(chan string, 10)
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("Traceparent") }))
		t.Cleanup(receiver.Close)
		s := startTraced(t, config.Config{Database: database, WebhookAllow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, tracer)
		must(s.CreateWebhook(t.Context(), client.WebhookPatch{URL: &receiver.URL, Events: []string{"site.*"}}))(t)
		req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/api/organizations/@current/sites", strings.NewReader(`{"name":"Shop"}`)))(t)
		req.Header = http.Header{
			"Authorization": {"Bearer " + s.key}, "Content-Type": {"application/json"}, "Traceparent": {"00-" + id + "-" + proxy + "-01"},
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != http.StatusCreated {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
		late := time.After(patience)
		var parent string
		select {
		case parent = <-told:
		case <-late:
			t.Fatal("the receiver was not told")
		}
		found := map[string]span{}
		for found["request"].ID == "" || found["INSERT"].ID == "" || found["deliver"].ID == "" {
			select {
			case got := <-spans:
				if got.TraceID != id {
					continue
				}
				if got.Start == 0 || got.End < got.Start {
					t.Errorf("%+v", got)
				}
				name, _, _ := strings.Cut(got.Name, " ")
				if got.Kind == trace.Server {
					name = "request"
				}
				found[name] = got
			case <-late:
				t.Fatalf("found %+v", found)
			}
		}
		request := found["request"]
		if request.Parent != proxy || !strings.HasPrefix(request.Name, "POST /api/organizations/{organization_id}/sites") {
			t.Errorf("%+v", request)
		}
		if found["INSERT"].Parent != request.ID || found["deliver"].Parent != request.ID {
			t.Errorf("%+v", found)
		}
		if parent != "00-"+id+"-"+found["deliver"].ID+"-01" {
			t.Errorf("the receiver was told %s, not of %+v", parent, found["deliver"])
		}
	})
}

// A line in the log has the id of its request's trace, even if the trace started in foyer.
func TestTraceInTheLog(t *testing.T) {
	t.Parallel()
	tracer, spans := collector(t, "")
	s := startTraced(t, config.Config{}, tracer)
	if _, err := s.GetApp(t.Context(), 1<<40); err == nil {
		t.Fatal("an app that is not there")
	}
	for late := time.After(patience); ; {
		select {
		case got := <-spans:
			if strings.HasPrefix(got.Name, "GET /api/organizations/{organization_id}/pipeline_frontend_apps/{id}") {
				if want := `"trace_id":"` + got.TraceID + `"`; !strings.Contains(s.log.String(), want) {
					t.Errorf("no %s in %s", want, s.log.String())
				}
				return
			}
		case <-late:
			t.Fatal("no span of the request")
		}
	}
}

// A request that waits for events looks for them twice a second without making spans.
func TestWaitingMakesNoSpans(t *testing.T) {
	t.Parallel()
	tracer, spans := collector(t, "")
	s := startTraced(t, config.Config{}, tracer)
	const wait = 4 * time.Second
	for after, more := int64(0), true; more; {
		found := must(s.ListEvents(t.Context(), client.EventRange{After: after, Wait: wait}))(t)
		after, more = found.Next, len(found.Results) > 0
	}
	statements := map[string]int{} // by trace
	for late := time.After(patience); ; {
		select {
		case got := <-spans:
			if got.Kind == trace.Client {
				statements[got.TraceID]++
			}
			if !strings.HasPrefix(got.Name, "GET /api/organizations/{organization_id}/events") || got.End-got.Start < int64(wait-time.Second) {
				continue
			}
			if n := statements[got.TraceID]; n > 6 {
				t.Errorf("%d statements", n)
			}
			return
		case <-late:
			t.Fatal("the request has no span")
		}
	}
}
