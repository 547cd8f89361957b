package terminal

import (
	"testing"

	"foyer/client"
)

func TestWho(t *testing.T) {
	t.Parallel()
	for activity, want := range map[string]string{"declined": "(invitee)", "followed": "(not told)", "deleted": "(operator)"} {
		if by := who(client.AuditEntry{Activity: activity}); by != want {
			t.Errorf("%s by %s", activity, by)
		}
	}
}
