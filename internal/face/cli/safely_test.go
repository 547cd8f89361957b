package cli

import (
	"strings"
	"testing"
)

// A variable that is not set must not stand for all origins or all pages.
func TestEmptyListsAreRefused(t *testing.T) {
	t.Parallel()
	run := database(t)
	for _, line := range []string{"site create --name=Shop --origins=https://shop.example", "app create --name=Banner"} {
		if code, _, complaints := run(strings.Fields(line)...); code != OK {
			t.Fatal(complaints)
		}
	}
	for _, line := range []string{"site create --name=Other --origins=", "site place Shop Banner --paths="} {
		if code, _, complaints := run(strings.Fields(line)...); code != Misused || !strings.HasSuffix(complaints, ": must not be empty\n") {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
	for _, line := range []string{"site place Shop Banner --paths=/a", "site change Shop Banner --paths=", "site set Shop --origins="} {
		if code, _, complaints := run(strings.Fields(line)...); code != OK {
			t.Errorf("%s: %d, %s", line, code, complaints)
		}
	}
}
