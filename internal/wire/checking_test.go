package wire

import (
	"strings"
	"testing"
	"testing/synctest"
)

// A large body is checked when others leave it a place, a small one at once.
func TestLargeBodiesTakeTurns(t *testing.T) { //nolint:paralleltest // it replaces what all bodies share
	defer func(shared chan struct{}) { checking = shared }(checking)
	synctest.Test(t, func(t *testing.T) {
		checking = make(chan struct{}, 1)
		checking <- struct{}{}
		large := make(chan error, 1)
		go func() {
			_, err := parse([]byte(`"` + strings.Repeat("x", MaxBody) + `"`))
			large <- err
		}()
		synctest.Wait()
		if len(large) > 0 {
			t.Error("the large one was checked out of turn")
		}
		if _, err := parse([]byte(`{"name":"x"}`)); err != nil {
			t.Errorf("the small one: %v", err)
		}
		<-checking
		if err := <-large; err != nil {
			t.Errorf("the large one: %v", err)
		}
		if len(checking) > 0 {
			t.Error("it has kept its place")
		}
	})
}
