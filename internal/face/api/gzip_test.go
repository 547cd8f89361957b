package api_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"foyer/internal/face/api"
)

// Answers over 1 KB are compressed for clients that accept gzip, and are otherwise the same.
func TestGzip(t *testing.T) {
	each(t, func(r *rig) {
		id := r.app(`{"name":"x"}`)
		for i := range 10 {
			r.app(fmt.Sprintf(`{"name":"App %d","description":%q}`, i, strings.Repeat("d", 100)))
		}
		get := func(path, accepted string) (got *http.Response, body string) {
			r.t.Helper()
			req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+"/api/organizations/"+r.org.ID+path, nil)
			if err != nil {
				r.t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+r.key)
			req.Header["Accept-Encoding"] = strings.Split(accepted, "\n")
			if got, err = http.DefaultTransport.RoundTrip(req); err != nil {
				r.t.Fatal(err)
			}
			defer got.Body.Close()
			reader := io.Reader(got.Body)
			if got.Header.Get("Content-Encoding") == "gzip" {
				if reader, err = gzip.NewReader(got.Body); err != nil {
					r.t.Fatal(err)
				}
			}
			text, err := io.ReadAll(reader)
			if err != nil {
				r.t.Fatal(err)
			}
			return got, string(text)
		}
		_, plain := get("/pipeline_frontend_apps", "identity") //nolint:bodyclose // get has read it
		for _, c := range []struct{ path, accepted, coding, vary string }{
			{"/pipeline_frontend_apps", "gzip", "gzip", "Accept-Encoding"},
			{"/pipeline_frontend_apps", "br, gzip;q=0.5", "gzip", "Accept-Encoding"},
			{"/pipeline_frontend_apps", "br\ngzip", "gzip", "Accept-Encoding"},
			{"/pipeline_frontend_apps", "gzip;q=0", "", "Accept-Encoding"},
			{"/pipeline_frontend_apps", "identity", "", "Accept-Encoding"},
			{apps + id, "gzip", "", ""},
		} {
			got, body := get(c.path, c.accepted) //nolint:bodyclose // get has read it
			if got.Header.Get("Content-Encoding") != c.coding || got.Header.Get("Vary") != c.vary || c.path != apps+id && body != plain {
				r.t.Errorf("%s, %s: %v %.100s", c.path, c.accepted, got.Header, body)
			}
		}
	})
}

// The documents are compressed too, and each form has an ETag of its own.
func TestGzipDocuments(t *testing.T) {
	t.Parallel()
	for _, h := range []http.Handler{api.OpenAPIJSON(), api.OpenAPIYAML()} {
		ask := func(header ...string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		plain, small := ask(), ask("Accept-Encoding", "gzip")
		tag, smallTag := plain.Header().Get("ETag"), small.Header().Get("ETag")
		if smallTag != strings.TrimSuffix(tag, `"`)+`-gzip"` || small.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s, %v", tag, small.Header())
		}
		unpacked, err := gzip.NewReader(small.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(unpacked); err != nil || string(text) != plain.Body.String() {
			t.Errorf("%d bytes, not %d: %v", len(text), plain.Body.Len(), err)
		}
		if again := ask("Accept-Encoding", "gzip", "If-None-Match", smallTag); again.Code != http.StatusNotModified {
			t.Errorf("again: %d", again.Code)
		}
	}
}
