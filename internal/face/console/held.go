package console

import (
	"regexp"
	"strings"
	"sync"
)

// heldBy is why a placement does not run the wanted version.
type heldBy struct {
	Version string            // the version that waits for values; "": see Why
	Faults  map[string]string // of the values, by their keys
	Why     string
}

// waits matches the API's message that a version waits for values. The API names the first values, and counts the rest.
var waits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^Version (\d+) waits: config\.(.+?)(; and \d+ more)?$`)
})

// readHeld parses the API's message.
func readHeld(why string) heldBy {
	found := waits().FindStringSubmatch(why)
	if found == nil || strings.Contains(found[2], "; config: ") { // it is not only about single values
		return heldBy{Why: why}
	}
	h := heldBy{Version: found[1], Faults: map[string]string{}}
	for fault := range strings.SplitSeq(found[2], "; config.") {
		key, detail, _ := strings.Cut(fault, ": ")
		h.Faults[key] = detail
	}
	return h
}
