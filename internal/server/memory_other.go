//go:build !linux

package server

// limitMemory does nothing on systems without cgroups.
func limitMemory(int) {}
