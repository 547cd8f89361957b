package api

import (
	"fmt"
	"strings"
	"testing"
)

// The cost of a query grows only linearly with its length: 50 kB, sent without a key, once took 1.7 s of processor
// time.
func TestUnknownParametersAreLeftOut(t *testing.T) { // not parallel: it counts what the process allocates
	o := operation{Query: []string{"limit", "offset"}}
	if got := o.known("limit=1&a=1&%6cimit=2&&a=1&b&=x&offset=2"); got != "limit=1&%6cimit=2&&offset=2" {
		t.Error(got)
	}
	if used := testing.Benchmark(BenchmarkUnknownParameters).AllocedBytesPerOp(); used == 0 || used > 2<<20 {
		t.Errorf("%d bytes are used for a query of 4 kB", used)
	}
}

func BenchmarkUnknownParameters(b *testing.B) {
	var query strings.Builder
	for i := range 1000 {
		fmt.Fprint(&query, i, "&")
	}
	for b.Loop() {
		if known := (operation{}).known(query.String()); known != "" {
			b.Fatal(known)
		}
	}
}
