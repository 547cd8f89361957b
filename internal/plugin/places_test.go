package plugin

import (
	"testing"

	"foyer/internal/fault"
)

// One organization leaves three quarters of the places to others.
func TestPlacesShare(t *testing.T) {
	t.Parallel()
	places := NewPlaces(8, "Full")
	begin := func(organizationID string, fits bool) func() {
		t.Helper()
		end, err := places.begin(organizationID)
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
	if n := len(places.byOrganization); n != 4 {
		t.Errorf("%d organizations are remembered", n)
	}
}
