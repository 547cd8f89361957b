package unpack

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
)

// with returns objects with one object, and its hash.
func with(kind plumbing.ObjectType, content []byte) (*objects, plumbing.Hash) {
	o := &objects{byHash: map[plumbing.Hash]plumbing.EncodedObject{}, left: maxUnpackedBytes}
	object := &plumbing.MemoryObject{}
	object.SetType(kind)
	_, _ = object.Write(content) // never fails
	hash, _ := o.SetEncodedObject(object)
	return o, hash
}

// A tree is read exactly as written, byte for byte.
func FuzzTree(f *testing.F) {
	hash := strings.Repeat("h", 20)
	for _, tree := range []string{
		"100644 a.ts\x00" + hash + "40000 src\x00" + hash, "120000 link\x00" + hash + "160000 module\x00" + hash,
		"", "100644", "100644 a", "100644 a\x00short", "100644 \x00" + hash, "10064x a\x00" + hash, " a\x00" + hash, "77777777777777 a\x00" + hash,
	} {
		f.Add([]byte(tree))
	}
	f.Fuzz(func(t *testing.T, tree []byte) {
		o, hash := with(plumbing.TreeObject, tree)
		entries, err := o.tree(hash)
		if err != nil {
			return
		}
		rest := tree
		for _, e := range entries {
			end := fmt.Sprintf("%o %s\x00%s", e.mode, e.name, e.hash[:])
			rest = bytes.TrimLeft(rest, "0") // git has written some modes with leading zeros
			if e.mode == 0 {
				end = end[1:]
			}
			if !bytes.HasPrefix(rest, []byte(end)) {
				t.Fatalf("%q is not at the beginning of %q", end, rest)
			}
			rest = rest[len(end):]
		}
		if len(rest) > 0 {
			t.Errorf("%q is left", rest)
		}
	})
}

func TestTop(t *testing.T) {
	t.Parallel()
	tree := strings.Repeat("0a", 20)
	for text, want := range map[string]string{
		"tree " + tree + "\nauthor A <a@b.c> 0 +0000\n\nhello": tree,
		"tree " + tree:                             tree,
		"tree " + tree + "0\n":                     "",
		"tree " + tree[1:] + "\n":                  "",
		"tree " + tree[1:] + "x\n":                 "",
		"parent " + tree + "\ntree " + tree + "\n": "",
		"": "",
	} {
		o, hash := with(plumbing.CommitObject, []byte(text))
		if got, err := o.top(hash); (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	o, hash := with(plumbing.BlobObject, []byte("tree "+tree))
	if got, err := o.top(hash); err == nil {
		t.Errorf("a file is a commit with the tree %s", got)
	}
}
