package upstreamtest

import (
	"io"
	"net/http"
	"time"
)

// SwitchProtocols is a host that answers 101 and says no more. It returns once the client has closed the connection, or an
// error after 10 seconds.
func SwitchProtocols(w http.ResponseWriter) error {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: any\r\n\r\n")
	_, err = io.ReadAll(conn)
	return err
}
