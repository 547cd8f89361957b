package console

import (
	"maps"
	"testing"
)

// The reasons why a version waits are shown beside the values, however many there are.
func TestReadHeld(t *testing.T) {
	t.Parallel()
	for why, want := range map[string]heldBy{
		"Version 2 waits: config.a: Must be given.":                                          {Version: "2", Faults: map[string]string{"a": "Must be given."}},
		`Version 2 waits: config.a: Must be one of: "x; y".; config.b.c: Must be a number.`:  {Version: "2", Faults: map[string]string{"a": `Must be one of: "x; y".`, "b.c": "Must be a number."}},
		"Version 2 waits: config.a: Must be given.; config.b: Must be given.; and 2 more":    {Version: "2", Faults: map[string]string{"a": "Must be given.", "b": "Must be given."}},
		"Version 2 waits: config: The values on a site take at most 1 bytes":                 {Why: "Version 2 waits: config: The values on a site take at most 1 bytes"},
		"Version 2 waits: config.a: Must be given.; config: The values take at most 1 bytes": {Why: "Version 2 waits: config.a: Must be given.; config: The values take at most 1 bytes"},
		"The app is gone.": {Why: "The app is gone."},
	} {
		if got := readHeld(why); got.Version != want.Version || got.Why != want.Why || !maps.Equal(got.Faults, want.Faults) {
			t.Errorf("%s: %+v", why, got)
		}
	}
}
