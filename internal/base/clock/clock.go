// Package clock says what servers that share a database assume about each other's clocks.
package clock

import "time"

// Differ is more than the clocks of two servers differ, unless one of them is wrong.
const Differ = time.Hour

// Now returns the time as both engines store it: in UTC, in whole microseconds.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
