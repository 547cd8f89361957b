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

// waits is how the API tells that a version waits for values. Of many it tells the first, and how many more there are.
var waits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^Version (\d+) waits: config\.(.+?)(; and \d+ more)?$`)
})

// readHeld takes apart what the API says.
func readHeld(why string) heldBy {
	found := waits().FindStringSubmatch(why)
	if found == nil || strings.Contains(found[2], "; config: ") { // it is not about single values alone
		return heldBy{Why: why}
	}
	h := heldBy{Version: found[1], Faults: map[string]string{}}
	for fault := range strings.SplitSeq(found[2], "; config.") {
		key, detail, _ := strings.Cut(fault, ": ")
		h.Faults[key] = detail
	}
	return h
}
