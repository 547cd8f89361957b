package server

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory has Go collect garbage in time for what a server should need when requests
// hold as much as they may, and for the memory limit of the process's cgroup, which Go
// does not look up itself, unless the environment names a limit. A tenth is left for memory
// that is not Go's, such as SQLite's.
func limitMemory(inFlight int) {
	if os.Getenv("GOMEMLIMIT") != "" { //nolint:forbidigo // a setting of Go, not of foyer
		return
	}
	const alone = 100 << 20 // what it needs without them
	limit := int64(math.MaxInt64)
	if inFlight > 0 {
		limit = alone + int64(inFlight)/4*5
	}
	if cgroup := memoryLimit("/proc/self/cgroup", "/sys/fs/cgroup"); cgroup < unlimited {
		limit = min(limit, cgroup/10*9)
	}
	debug.SetMemoryLimit(limit)
}

// unlimited is less than version 1 says without a limit: 2^63 minus a page.
const unlimited = 1 << 62

// memoryLimit returns the least number of bytes that the cgroups in a file (see
// cgroups(7)) and those above them may take. A container sees its own at the root, under
// a path that may be the host's: what is not there sets no limit.
func memoryLimit(self, root string) int64 {
	limit := int64(math.MaxInt64)
	text, _ := os.ReadFile(self) // a kernel without cgroups has none
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

// leastUpward returns the least number in files called name from group up to root.
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
