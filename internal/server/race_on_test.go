//go:build race

package server_test

// raceEnabled: the race detector needs several times the memory.
const raceEnabled = true
