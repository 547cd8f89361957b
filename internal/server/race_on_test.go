//go:build race

package server_test

// raceEnabled says that the race detector is on, which needs several times the memory.
const raceEnabled = true
