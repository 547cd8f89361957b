//go:build race

package api_test

// raceEnabled tells tests that the race detector is on, which allocates too.
const raceEnabled = true
