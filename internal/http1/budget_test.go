package http1_test

import (
	"io"
	"net/http"
	"testing"
)

// TestBudget holds what a request costs in allocations: its head as one text.
func TestBudget(t *testing.T) {
	body, length := []byte("{}"), []string{"2"}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Length"] = length
		w.Write(body)
	})
	c := s.dial(t)
	request := []byte(get + "Authorization: Bearer key\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	answer := make([]byte, len("HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 22:00:00 GMT\r\nContent-Length: 2\r\n\r\n{}"))
	allocations := testing.AllocsPerRun(1000, func() {
		c.Write(request)
		io.ReadFull(c, answer)
	})
	if allocations > 1 || string(answer[len(answer)-len(body):]) != string(body) {
		t.Errorf("%.0f allocations for %q, at most 1", allocations, answer)
	}
}
