package activity

import (
	"strings"

	"foyer/internal/base/fault"
	"foyer/internal/base/patch"
)

// maxReason is how many characters a reason has at most.
const maxReason = 500

// CheckReason reads the reason why something is switched off. Faults name the field reason.
func CheckReason(f patch.Field[string]) (string, error) {
	if !f.Set {
		return "", fault.Field(fault.Required, "reason", "Must be given: 1 to %d characters that say why.", maxReason)
	}
	if err := patch.RequiredText("reason", f, maxReason); err != nil {
		return "", err
	}
	return strings.TrimSpace(f.Value), nil
}

// Reason returns the change of a reason; "" is none.
func Reason(field, before, after string) Change {
	shown := func(reason string) any {
		if reason == "" {
			return nil
		}
		return reason
	}
	return Changed(field, shown(before), shown(after))
}
