package unpack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// maxUnpackedBytes limits the total size of a pack's objects. A single object can exceed it before it is counted; the
// child's memory limit handles that.
const maxUnpackedBytes = 128 << 20

// objects holds the objects of a pack in memory. The pack reader stores them and looks up the bases of deltas; it calls
// no other method.
type objects struct {
	storer.EncodedObjectStorer
	byHash map[plumbing.Hash]plumbing.EncodedObject
	left   int64 // bytes
}

// SetEncodedObject implements storer.EncodedObjectStorer.
func (o *objects) SetEncodedObject(object plumbing.EncodedObject) (plumbing.Hash, error) {
	o.left -= object.Size()
	if o.left < 0 {
		return plumbing.ZeroHash, refusal(fmt.Sprintf("The repository unpacks to more than %d MiB.", maxUnpackedBytes>>20))
	}
	hash := object.Hash()
	o.byHash[hash] = object
	return hash, nil
}

// EncodedObject implements storer.EncodedObjectStorer.
func (o *objects) EncodedObject(kind plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	object, ok := o.byHash[hash]
	if !ok || kind != plumbing.AnyObject && object.Type() != kind {
		return nil, plumbing.ErrObjectNotFound
	}
	return object, nil
}

func (o *objects) content(kind plumbing.ObjectType, hash plumbing.Hash) ([]byte, error) {
	object, err := o.EncodedObject(kind, hash)
	if err != nil {
		return nil, err
	}
	r, err := object.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// top returns the hash of a commit's tree.
func (o *objects) top(commit plumbing.Hash) (plumbing.Hash, error) {
	text, err := o.content(plumbing.CommitObject, commit)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	tree, found := bytes.CutPrefix(line, []byte("tree "))
	if !found || !plumbing.IsHash(string(tree)) {
		return plumbing.ZeroHash, errors.New("it does not begin with a tree")
	}
	return plumbing.NewHash(string(tree)), nil
}

// entry is a line of a tree: a file, a folder, a symbolic link or a submodule.
type entry struct {
	mode uint64 // as in stat(2)
	name string
	hash plumbing.Hash
}

const (
	modeType = 0o170000
	modeFile = 0o100000
	modeDir  = 0o040000
)

func (e entry) isFile() bool { return e.mode&modeType == modeFile }
func (e entry) isDir() bool  { return e.mode&modeType == modeDir }

var errTree = errors.New("a tree is malformed")

// tree reads a tree: each entry is "MODE NAME", a zero byte and the hash.
func (o *objects) tree(hash plumbing.Hash) (entries []entry, err error) {
	rest, err := o.content(plumbing.TreeObject, hash)
	if err != nil {
		return nil, err
	}
	for len(rest) > 0 {
		var head []byte
		var e entry
		head, rest, _ = bytes.Cut(rest, []byte{0})
		mode, name, _ := bytes.Cut(head, []byte(" "))
		if e.mode, err = strconv.ParseUint(string(mode), 8, 32); err != nil || len(name) == 0 || len(rest) < len(e.hash) {
			return nil, errTree
		}
		e.name = string(name)
		rest = rest[copy(e.hash[:], rest):]
		entries = append(entries, e)
	}
	return entries, nil
}
