//go:build unix

package profile

import (
	"os"
	"syscall"
)

// lock waits until nobody else has locked a folder. It is unlocked when it is closed.
func lock(folder *os.File) error { return syscall.Flock(int(folder.Fd()), syscall.LOCK_EX) }
