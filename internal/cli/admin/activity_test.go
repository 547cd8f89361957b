package admin

import (
	"strings"
	"testing"

	"foyer/internal/domain/activity"
)

// A hash in capitals is the same hash.
func TestHeadInCapitals(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("5f", 32)
	c := activityVerify{Head: "7:" + strings.ToUpper(hash)}
	if err := c.Validate(); err != nil || c.kept != (activity.Kept{Number: 7, Hash: hash}) {
		t.Errorf("%+v, %v", c.kept, err)
	}
}
