package dbtest

import "syscall"

// memory returns a folder in memory if it has enough room for some clusters: a database consists of hundreds of files,
// and nearly each test makes one.
func memory() string {
	const folder, enough = "/dev/shm", 4 << 30
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil || s.Bavail*uint64(s.Frsize) < enough {
		return ""
	}
	return folder
}
