package unpack_test

import (
	"bytes"
	"encoding/gob"
	"testing"

	"foyer/internal/upstream/unpack"
)

func FuzzRun(f *testing.F) {
	f.Add([]byte("564445cb89de4b0c85935b1941db781a7efc82fc\nPACK\x00\x00\x00\x02\x00\x00\x00\x01"))
	f.Add([]byte("\nPACK"))
	f.Fuzz(func(t *testing.T, input []byte) {
		var out bytes.Buffer
		if err := unpack.Run(bytes.NewReader(input), &out); err != nil {
			return
		}
		var answer unpack.Answer
		if err := gob.NewDecoder(&out).Decode(&answer); err != nil || answer.Files == nil && !answer.NoCommit && answer.Refused+answer.Broken == "" {
			t.Errorf("answer %+v: %v", answer, err)
		}
	})
}
