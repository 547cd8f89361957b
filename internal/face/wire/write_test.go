package wire_test

import (
	"testing"
	"time"

	"foyer/internal/face/wire"
)

func TestAppendTime(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		at   time.Time
		want string
	}{
		{time.Time{}, `null`},
		{time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC), `"2026-03-02T09:30:00.000000Z"`},
		{time.Date(2026, 12, 31, 23, 59, 59, 1000, time.UTC), `"2026-12-31T23:59:59.000001Z"`},
		{time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC), `"2026-12-31T23:59:59.999999Z"`},
		{time.Date(2027, 1, 1, 1, 30, 0, 120_000_000, time.FixedZone("CET", 3600)), `"2027-01-01T00:30:00.120000Z"`},
		{time.Date(987, 1, 1, 0, 0, 0, 0, time.UTC), `"0987-01-01T00:00:00.000000Z"`},
	} {
		if got := string(wire.AppendTime([]byte("{"), "at", test.at)); got != `{"at":`+test.want {
			t.Errorf("%v: got %s, want %s", test.at, got, test.want)
		}
	}
}
