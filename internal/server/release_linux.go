package server

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// releaseProgram gives the pages of the program back to the kernel, which reloads
// those that are used again from its cache. A start touches nearly all of a program
// (the tables of each package are made and checked), serving a third of it, and what
// was touched once would count as foyer's memory for good.
func releaseProgram() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer smaps.Close()
	mappings, err := unchanged(smaps, program)
	if err != nil {
		return err
	}
	for _, m := range mappings {
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED); errno != 0 {
			return errno
		}
	}
	return nil
}

// mapping is a range of addresses.
type mapping struct{ start, end uintptr }

// unchanged returns where those parts of a file are mapped that can be read, not
// written, and have no changed page, which would be lost. The format is that of
// proc(5).
func unchanged(smaps io.Reader, file string) ([]mapping, error) {
	var found []mapping
	var current *mapping
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		switch fields := strings.Fields(lines.Text()); {
		case len(fields) == 0:
		case !strings.HasSuffix(fields[0], ":"):
			current = nil
			if len(fields) == 6 && fields[5] == file && strings.HasPrefix(fields[1], "r-") {
				current = parseRange(fields[0])
			}
		case current == nil:
		case fields[0] == "Anonymous:" && fields[1] != "0":
			current = nil
		case fields[0] == "Swap:" && fields[1] == "0": // comes later: changed pages may be there too
			found = append(found, *current)
		}
	}
	return found, lines.Err()
}

// parseRange returns nil for what is not a range.
func parseRange(text string) *mapping {
	from, to, _ := strings.Cut(text, "-")
	start, startErr := strconv.ParseUint(from, 16, strconv.IntSize)
	end, endErr := strconv.ParseUint(to, 16, strconv.IntSize)
	if startErr != nil || endErr != nil {
		return nil
	}
	return &mapping{uintptr(start), uintptr(end)}
}
