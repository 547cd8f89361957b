package api

import "testing"

// An object that appendObject does not know would have one ETag for all of its states.
func TestForgottenObject(t *testing.T) {
	t.Parallel()
	type forgotten struct{}
	defer func() {
		if recover() == nil {
			t.Error("it has an ETag")
		}
	}()
	(&API{}).tagOf(forgotten{})
}
