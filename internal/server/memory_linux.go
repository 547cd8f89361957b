package server

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory sets Go's memory limit, unless the environment sets one: to what a server needs when requests hold as
// much as they may, and at most to nine tenths of the limit of the process's cgroup, which Go does not look up. The
// rest is for memory outside of Go, such as SQLite's.
func limitMemory(inFlight int) {
	if os.Getenv("GOMEMLIMIT") != "" { //nolint:forbidigo // a setting of Go, not of foyer
		return
	}
	const alone = 80 << 20 // what a server needs without requests
	limit := int64(math.MaxInt64)
	if inFlight > 0 {
		limit = alone + int64(inFlight)/4*5
	}
	debug.SetMemoryLimit(min(limit, memoryLimit("/proc/self/cgroup", "/sys/fs/cgroup")/10*9))
}

// memoryLimit returns the lowest limit, in bytes, of the cgroups in a file (see cgroups(7)) and of those above them. A
// container sees its own cgroup at the root, but its path may be that on the host: a missing file sets no limit.
func memoryLimit(self, root string) int64 {
	limit := int64(math.MaxInt64)
	text, _ := os.ReadFile(self) // it is missing if the kernel has no cgroups
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		switch group := filepath.Join("/", fields[2]); fields[1] {
		case "":
			limit = min(limit, leastUpward(root, group, "memory.max"))
		case "memory": // version 1
			limit = min(limit, leastUpward(filepath.Join(root, "memory"), group, "memory.limit_in_bytes"))
		}
	}
	return limit
}

// leastUpward returns the lowest number in the files with a name from group up to root.
func leastUpward(root, group, name string) int64 {
	least := int64(math.MaxInt64)
	for {
		text, _ := os.ReadFile(filepath.Join(root, group, name))
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			least = min(least, n)
		}
		if group == "/" {
			return least
		}
		group = filepath.Dir(group)
	}
}
