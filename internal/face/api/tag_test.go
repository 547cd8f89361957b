package api

import "testing"

// An object that textOf does not know would have the same ETag in all of its states.
func TestForgottenObject(t *testing.T) {
	t.Parallel()
	type forgotten struct{}
	defer func() {
		if recover() == nil {
			t.Error("it has an ETag")
		}
	}()
	(&API{}).etagOf(forgotten{})
}
