//go:build unix && !linux

package dbtest

// memory is no folder here: the default is taken.
func memory() string { return "" }
