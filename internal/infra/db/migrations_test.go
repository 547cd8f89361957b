package db_test

import (
	"fmt"
	"os"
	"testing"
)

// Two concurrent changes must not use the same number.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		if want := fmt.Sprintf("%04d_", 1200+i); file.Name()[:5] != want {
			t.Errorf("%s: want %s", file.Name(), want)
		}
	}
}
