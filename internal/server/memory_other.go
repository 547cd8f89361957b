//go:build !linux

package server

// limitMemory does nothing where there are no cgroups.
func limitMemory(int) {}
