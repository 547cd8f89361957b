package wire_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"testing"

	"foyer/internal/face/wire"
)

// connect opens a request to a server that reads objects.
func connect(t *testing.T, headers string) net.Conn {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := wire.ReadObject(w, r, wire.MaxBody)
		wire.WriteError(w, err)
	}))
	t.Cleanup(server.Close)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: foyer\r\nContent-Type: application/json\r\n%s\r\n\r\n", headers); err != nil {
		t.Fatal(err)
	}
	return conn
}

// wantTooLarge fails unless the answer is 413.
func wantTooLarge(t *testing.T, conn net.Conn) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d", response.StatusCode)
	}
}

// A client may send all of its body before it looks at the answer.
func TestTooLargeIsAnsweredAfterTheBody(t *testing.T) {
	t.Parallel()
	body := make([]byte, 16<<20) // more than fits into the connection's buffers
	conn := connect(t, fmt.Sprint("Content-Length: ", len(body)))
	_, err := conn.Write(body)
	if err != nil {
		t.Error(err)
	}
	wantTooLarge(t, conn)

	conn = connect(t, "Transfer-Encoding: chunked")
	chunks := httputil.NewChunkedWriter(conn)
	_, err = chunks.Write(body)
	_, end := io.WriteString(conn, "0\r\n\r\n")
	if err := errors.Join(err, end); err != nil {
		t.Error(err)
	}
	wantTooLarge(t, conn)
}

// A client that asks before it sends the body need not send it.
func TestTooLargeIsAnsweredBeforeTheBody(t *testing.T) {
	t.Parallel()
	wantTooLarge(t, connect(t, fmt.Sprint("Expect: 100-continue\r\nContent-Length: ", 2<<20)))
}

// A body without end is cut off.
func TestEndlessBody(t *testing.T) {
	t.Parallel()
	for _, headers := range []string{"Transfer-Encoding: chunked", fmt.Sprint("Content-Length: ", 1<<40)} {
		var w io.Writer = connect(t, headers)
		if headers == "Transfer-Encoding: chunked" {
			w = httputil.NewChunkedWriter(w)
		}
		sent, piece := 0, make([]byte, 1<<20)
		for {
			if _, err := w.Write(piece); err != nil {
				break
			}
			if sent += len(piece); sent > 100<<20 {
				t.Fatalf("%s: %d bytes went through", headers, sent)
			}
		}
	}
}
