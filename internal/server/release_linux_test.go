package server

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestUnchanged(t *testing.T) {
	t.Parallel()
	const smaps = `00400000-010f4000 r-xp 00000000 fe:01 123   /usr/bin/foyer
Size:              13264 kB
Rss:                9800 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
010f4000-01300000 r--p 00cf4000 fe:01 123   /usr/bin/foyer
Anonymous:             8 kB
Swap:                  0 kB
01300000-01400000 r--p 00cf4000 fe:01 123   /usr/bin/foyer
Anonymous:             0 kB
Swap:                  0 kB
01400000-01500000 r--p 00cf4000 fe:01 123   /usr/bin/foyer
Anonymous:             0 kB
Swap:                  8 kB
01bd6000-01c85000 rw-p 017d6000 fe:01 123   /usr/bin/foyer
Anonymous:             0 kB
Swap:                  0 kB
c000000000-c000800000 rw-p 00000000 00:00 0
Anonymous:             0 kB
Swap:                  0 kB
7f0000000000-7f0000001000 r--p 00000000 fe:01 9   /usr/bin/other
Anonymous:             0 kB
Swap:                  0 kB
`
	got, err := unchanged(strings.NewReader(smaps), "/usr/bin/foyer")
	want := []mapping{{0x400000, 0x10f4000}, {0x1300000, 0x1400000}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %x, %v; want %x", got, err, want)
	}
}

// Not parallel: the pages that other tests use come back.
func TestReleaseProgram(t *testing.T) {
	before := resident(t)
	if err := releaseProgram(); err != nil {
		t.Fatal(err)
	}
	if after := resident(t); after > before/2 {
		t.Errorf("%d kB of the program were in memory, and are: %d", before, after)
	}
}

// resident is how much of the program is in memory, in kB.
func resident(t *testing.T) int {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	total, ours := 0, false
	for line := range strings.Lines(string(smaps)) {
		switch fields := strings.Fields(line); {
		case !strings.HasSuffix(fields[0], ":"):
			ours = fields[len(fields)-1] == program
		case fields[0] == "Rss:" && ours:
			kB, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			total += kB
		}
	}
	return total
}
