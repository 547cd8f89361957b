//go:build race

package api_test

// raceEnabled: the race detector allocates too.
const raceEnabled = true
