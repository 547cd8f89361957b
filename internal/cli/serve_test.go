package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"strings"
	"testing"
)

// While a server runs, its log has only lines of its own: net/http prints in the standard log what the receiver of a
// webhook sends unasked.
func TestServeLogsOnlyItsLines(t *testing.T) { // not parallel: there is one standard log
	var printed bytes.Buffer
	before, output := slog.Default(), log.Writer()
	log.SetOutput(&printed)
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(output)
	})
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		environ := []string{"FOYER_DATA_DIR=" + t.TempDir(), "FOYER_LISTEN=127.0.0.1:0", "FOYER_DEMO=off"}
		ended <- Run(ctx, []string{"serve"}, environ, strings.NewReader(""), io.Discard, write)
		write.Close()
	}()
	lines := bufio.NewScanner(read)
	for lines.Scan() && !strings.Contains(lines.Text(), `"listening"`) {
		continue
	}
	log.Print("Unsolicited response")
	stop()
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Unsolicited") {
			t.Errorf("logged: %s", lines.Text())
		}
	}
	if code := <-ended; code != OK || printed.Len() > 0 {
		t.Errorf("exit code %d, and beside the log: %s", code, printed.String())
	}
}
