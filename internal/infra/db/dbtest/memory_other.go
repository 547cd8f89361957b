//go:build unix && !linux

package dbtest

// memory returns no folder here, so that the default is used.
func memory() string { return "" }
