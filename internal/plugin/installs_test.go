package plugin

import (
	"testing"

	"foyer/internal/fault"
)

// One organization leaves three quarters of the places to others.
func TestInstallsShare(t *testing.T) {
	t.Parallel()
	installs := NewInstalls(8)
	begin := func(organizationID string, fits bool) func() {
		t.Helper()
		end, err := installs.begin(organizationID)
		if (err == nil) != fits || err != nil && !fault.Is(err, fault.Busy) {
			t.Errorf("%s: %v", organizationID, err)
		}
		return end
	}
	end := begin("a", true)
	begin("a", true)
	begin("a", false)
	end()
	begin("a", true)
	for _, id := range []string{"b", "b", "c", "c", "d"} {
		begin(id, true)
	}
	end = begin("d", true)
	begin("e", false)
	end()
	end = begin("e", true)
	end()
	if n := len(installs.byOrganization); n != 4 {
		t.Errorf("%d organizations are remembered", n)
	}
}
