//go:build unix && !aix && !solaris

package profile

import (
	"errors"
	"os"
	"syscall"
)

// lock waits until nobody else has locked a folder. It is unlocked when it is closed. Where the file system cannot lock
// folders, such as NFS, it does nothing: of two that log in at once, the later one wins.
func lock(folder *os.File) {
	for errors.Is(syscall.Flock(int(folder.Fd()), syscall.LOCK_EX), syscall.EINTR) {
	}
}
