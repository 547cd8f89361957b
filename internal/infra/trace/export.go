package trace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	waiting   = 2048            // waiting spans; further ones are dropped
	atOnce    = 512             // spans in a request
	sendEvery = 5 * time.Second // even if there are fewer than atOnce
	lastTime  = 3 * time.Second // at the end, for the spans left and the request under way
)

// New reads the OTEL_ variables that say where spans are sent
// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). It returns nil if they name no endpoint.
func New(getenv func(string) string, version string, now func() time.Time) (*Tracer, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	endpoint, below := getenv(name), ""
	if endpoint == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		endpoint, below = getenv(name), "v1/traces"
	}
	if endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil // a nil Tracer is one that is off
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s: must be a url that begins with http:// or https:// and a host", name)
	}
	if below != "" {
		endpoint = u.JoinPath(below).String()
	}
	t := &Tracer{now: now, endpoint: endpoint, timeout: 10 * time.Second, spans: make(chan *Span, waiting)}
	if err := t.read(getenv); err != nil {
		return nil, err
	}
	if t.ratio, err = ratio(getenv("OTEL_TRACES_SAMPLER"), getenv("OTEL_TRACES_SAMPLER_ARG")); err != nil {
		return nil, err
	}
	named := pairs(getenv("OTEL_RESOURCE_ATTRIBUTES"))
	named["service.name"] = cmp.Or(getenv("OTEL_SERVICE_NAME"), named["service.name"], "foyer")
	named["service.version"] = version
	for name, value := range named {
		t.resource = append(t.resource, attribute{name, value})
	}
	return t, nil
}

// read reads the variables that say how spans are sent; each has a variant for traces alone.
func (t *Tracer) read(getenv func(string) string) error {
	of := func(last string) (value, name string) {
		name = "OTEL_EXPORTER_OTLP_TRACES_" + last
		if value = getenv(name); value == "" {
			name = "OTEL_EXPORTER_OTLP_" + last
			value = getenv(name)
		}
		return value, name
	}
	if protocol, name := of("PROTOCOL"); protocol != "" && protocol != "http/json" {
		return fmt.Errorf("%s: must be http/json, or not be set: foyer speaks nothing else", name)
	}
	headers, _ := of("HEADERS")
	t.headers = pairs(headers)
	if text, name := of("TIMEOUT"); text != "" {
		milliseconds, err := strconv.Atoi(text)
		if err != nil || milliseconds < 1 {
			return fmt.Errorf("%s: must be a number of milliseconds", name)
		}
		t.timeout = time.Duration(milliseconds) * time.Millisecond
	}
	return nil
}

// ratio returns the share of the traces begun here that a sampler records.
func ratio(sampler, arg string) (float64, error) {
	switch strings.TrimPrefix(sampler, "parentbased_") {
	case "", "always_on":
		return 1, nil
	case "always_off":
		return 0, nil
	case "traceidratio":
		if r, err := strconv.ParseFloat(cmp.Or(arg, "1"), 64); err == nil && r >= 0 && r <= 1 {
			return r, nil
		}
		return 0, errors.New("OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1")
	}
	return 0, errors.New("OTEL_TRACES_SAMPLER: must be always_on, always_off or traceidratio, with or without parentbased_ before it")
}

// pairs reads a=b,c=d, with url-escaped values.
func pairs(text string) map[string]string {
	all := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok {
			if plain, err := url.PathUnescape(value); err == nil {
				value = plain
			}
			all[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return all
}

func (t *Tracer) add(s *Span) {
	select {
	case t.spans <- s:
	default:
		t.dropped.Add(1) // nobody waits for a collector
	}
}

// Run sends spans until ctx is done, and then the remaining ones while time permits.
func (t *Tracer) Run(ctx context.Context, log *slog.Logger) {
	sending, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	context.AfterFunc(ctx, func() { time.AfterFunc(lastTime, giveUp) })
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	var batch []*Span
	flush := func() {
		if err := t.send(sending, batch); err != nil {
			log.WarnContext(ctx, "send traces", "error", err.Error(), "spans", len(batch))
		}
		if n := t.dropped.Swap(0); n > 0 {
			log.WarnContext(ctx, "spans dropped: more ended than the collector takes", "spans", n)
		}
		batch = nil
	}
	add := func(s *Span) {
		if batch = append(batch, s); len(batch) == atOnce {
			flush()
		}
	}
	for {
		select {
		case s := <-t.spans:
			add(s)
		case <-tick.C:
			flush()
		case <-ctx.Done():
			for len(t.spans) > 0 {
				add(<-t.spans)
			}
			flush()
			return
		}
	}
}

func (t *Tracer) send(ctx context.Context, batch []*Span) error {
	if len(batch) == 0 {
		return nil
	}
	body, err := json.Marshal(t.message(batch))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err // without the url, which may hold a key
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 { // after a 101, ctx would not end a read of the body
		return fmt.Errorf("the collector answered %s", resp.Status)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection is reused
	return nil
}

// object is a JSON object of the message, with the names of the protocol.
type object = map[string]any

func (t *Tracer) message(batch []*Span) object {
	spans := make([]object, len(batch))
	for i, s := range batch {
		spans[i] = object{
			"traceId": s.trace, "spanId": s.id, "parentSpanId": s.parent, "name": s.name, "kind": s.kind, "attributes": values(s.attributes),
			"startTimeUnixNano": strconv.FormatInt(s.began.UnixNano(), 10), "endTimeUnixNano": strconv.FormatInt(s.end.UnixNano(), 10),
		}
		if s.failed {
			const failed = 2
			spans[i]["status"] = object{"code": failed, "message": s.failure}
		}
	}
	scoped := object{"scope": object{"name": "foyer"}, "spans": spans}
	return object{"resourceSpans": []object{{"resource": object{"attributes": values(t.resource)}, "scopeSpans": []object{scoped}}}}
}

func values(attributes []attribute) []object {
	all := make([]object, len(attributes))
	for i, a := range attributes {
		value := object{"stringValue": fmt.Sprint(a.value)}
		if n, ok := a.value.(int); ok {
			value = object{"intValue": strconv.Itoa(n)}
		}
		all[i] = object{"key": a.key, "value": value}
	}
	return all
}
