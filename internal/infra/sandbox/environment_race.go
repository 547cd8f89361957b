//go:build race

package sandbox

// environment returns the environment variables of a child: without them, the race detector would sleep for a second at
// exit.
func environment() []string { return []string{"GORACE=atexit_sleep_ms=0"} }
