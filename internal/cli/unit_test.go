package cli_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"foyer/internal/cli"
)

// An invalid setting makes the unit fail. A crash does not, since the unit gives it another exit status: Go's default
// equals that of an invalid setting. The unit also limits resources.
func TestUnit(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../../deploy/foyer.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"Restart=on-failure", fmt.Sprintf("RestartPreventExitStatus=%d", cli.Misused), "Environment=GOTRACEBACK=crash", "LimitCORE=0",
		"LimitNOFILE=65536", "MemoryMax=2G", "LogRateLimitIntervalSec=30", "LogRateLimitBurst=10000",
	} {
		if !strings.Contains(string(unit), "\n"+line+"\n") {
			t.Errorf("the unit has no %s", line)
		}
	}
}
