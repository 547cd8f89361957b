//go:build race

package sandbox

// environment is what a child gets: that it need not wait for reports of races for a second before it exits.
func environment() []string { return []string{"GORACE=atexit_sleep_ms=0"} }
