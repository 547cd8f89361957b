package db_test

import (
	"fmt"
	"os"
	"testing"
)

// Two changes that are made at the same time must not take the same number.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		if want := fmt.Sprintf("%04d_", 1100+i); file.Name()[:5] != want {
			t.Errorf("%s: want %s", file.Name(), want)
		}
	}
}
