package terminal

import (
	"testing"

	"foyer/client"
)

func TestWho(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ scope, activity, want string }{
		{"OrganizationInvite", "declined", "(invitee)"},
		{"Site", "followed", "(not told)"},
		{"Plugin", "disabled", "(operator)"},
		{"OrganizationInvite", "expired", "(server)"},
		{"OrganizationInvite", "failed", "(server)"},
		{"Plugin", "update_available", "(server)"},
		{"Webhook", "disabled", "(server)"},
	} {
		if by := who(client.AuditEntry{Scope: c.scope, Activity: c.activity}); by != c.want {
			t.Errorf("%s %s by %s", c.scope, c.activity, by)
		}
	}
}
