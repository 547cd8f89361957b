package db

import (
	"math"
	"syscall"
)

// freeSpace returns how many bytes are free on the file system of a file.
func freeSpace(path string) uint64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return math.MaxUint64 // unknown
	}
	return s.Bavail * uint64(s.Frsize)
}
