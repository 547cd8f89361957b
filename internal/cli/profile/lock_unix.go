//go:build unix && !aix && !solaris

package profile

import (
	"errors"
	"os"
	"syscall"
)

// lock waits for an exclusive lock of a folder. Closing the folder unlocks it. If the file system cannot lock folders, as
// with NFS, it does nothing: of two concurrent logins, the later one wins.
func lock(folder *os.File) {
	for errors.Is(syscall.Flock(int(folder.Fd()), syscall.LOCK_EX), syscall.EINTR) {
	}
}
