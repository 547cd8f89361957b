// Package unpack reads the files of one commit out of a git pack. It runs only in
// the limited child process: what a pack unpacks to is up to whoever made it, and
// the library that reads it sets no bound.
package unpack

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
)

// maxUnpackedBytes bounds all objects of a pack together. A single object can
// exceed it before it is counted; the child's memory limit is for that one.
const maxUnpackedBytes = 128 << 20

// Answer is what Run writes: the files, or why there are none. It travels as gob,
// in which hostile text does not grow.
type Answer struct {
	Files    map[string]string // content by path
	NoCommit bool              // what was asked for is not a commit
	Refused  string            // what about the repository's content is not accepted
	Broken   string            // why the pack cannot be read
}

// Run reads a line with a commit's name and then the pack that holds it, and
// writes an Answer. Its errors are those of reading and writing.
func Run(in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	commit, err := r.ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the commit's name: %w", err)
	}
	var answer Answer
	answer.Files, err = files(strings.TrimSuffix(commit, "\n"), r)
	refused, ok := errors.AsType[refusal](err)
	switch {
	case errors.Is(err, errNoCommit):
		answer = Answer{NoCommit: true}
	case ok:
		answer = Answer{Refused: string(refused)}
	case err != nil:
		answer = Answer{Broken: err.Error()}
	}
	if err := gob.NewEncoder(out).Encode(answer); err != nil {
		return fmt.Errorf("write the files: %w", err)
	}
	return nil
}

var errNoCommit = errors.New("this is no commit")

// refusal is an error to be told to whoever asked for the app.
type refusal string

func (r refusal) Error() string { return string(r) }

func files(commit string, pack io.Reader) (map[string]string, error) {
	store := &boundedStore{Storage: memory.NewStorage(), left: maxUnpackedBytes}
	if err := packfile.UpdateObjectStorage(store, pack); err != nil {
		return nil, fmt.Errorf("read the pack: %w", err)
	}
	hash := plumbing.NewHash(commit)
	head, err := object.GetCommit(store, hash)
	if err != nil && store.HasEncodedObject(hash) == nil {
		return nil, errNoCommit
	}
	if err != nil {
		return nil, fmt.Errorf("find commit %s: %w", commit, err)
	}
	top, err := head.Tree()
	if err != nil {
		return nil, fmt.Errorf("find the files of commit %s: %w", commit, err)
	}
	c := collector{store: store, files: map[string]string{}}
	c.learn(top)
	if err := c.folder(top, ""); err != nil {
		return nil, err
	}
	return c.files, nil
}

// boundedStore keeps objects in memory, up to a total.
type boundedStore struct {
	*memory.Storage
	left int64 // bytes
}

// SetEncodedObject is how the reader of packs stores each object.
func (s *boundedStore) SetEncodedObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	s.left -= o.Size()
	if s.left < 0 {
		return plumbing.ZeroHash, refusal(fmt.Sprintf("The repository unpacks to more than %d MiB.", maxUnpackedBytes>>20))
	}
	return s.Storage.SetEncodedObject(o)
}
