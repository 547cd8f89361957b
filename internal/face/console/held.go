package console

import (
	"regexp"
	"strings"
	"sync"
)

// heldBy is why a placement does not run what was wanted.
type heldBy struct {
	Version string            // that waits for values; "": Why says it
	Faults  map[string]string // of the values, by their keys
	Why     string
}

// waits is how the API tells that a version waits for values.
var waits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Version (\d+) waits: (.+)$`) })

// readHeld takes apart what the API says.
func readHeld(why string) heldBy {
	found := waits().FindStringSubmatch(why)
	if found == nil {
		return heldBy{Why: why}
	}
	h := heldBy{Version: found[1], Faults: map[string]string{}}
	for fault := range strings.SplitSeq(found[2], "; ") {
		key, detail, ok := strings.Cut(fault, ": ")
		if key, isValue := strings.CutPrefix(key, "config."); ok && isValue {
			h.Faults[key] = detail
			continue
		}
		return heldBy{Why: why} // it is not about values alone
	}
	return h
}
