// Package unpack reads the files of one commit from a git pack. It runs only in the limited child process: the author of
// a pack decides how large it unpacks, and the library that reads it has no limit.
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
)

// Answer is the output of Run: the files, or the reason why there are none. It is sent as gob, because hostile text does
// not grow in it.
type Answer struct {
	Files    map[string]string // content by path
	NoCommit bool              // the requested object is not a commit
	Refused  string            // why foyer does not accept the repository's content
	Broken   string            // why the pack cannot be read
}

// Run reads a line with a commit's name and then the pack that contains it, and writes an Answer. It returns only errors
// of reading and writing.
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

// refusal is an error that is shown to the person who wants to install the app.
type refusal string

func (r refusal) Error() string { return string(r) }

func files(commit string, pack io.Reader) (map[string]string, error) {
	all := &objects{byHash: map[plumbing.Hash]plumbing.EncodedObject{}, left: maxUnpackedBytes}
	reader, err := packfile.NewParserWithStorage(packfile.NewScanner(pack), all)
	if err == nil {
		_, err = reader.Parse()
	}
	if err != nil {
		return nil, fmt.Errorf("read the pack: %w", err)
	}
	hash := plumbing.NewHash(commit)
	if found := all.byHash[hash]; found != nil && found.Type() != plumbing.CommitObject {
		return nil, errNoCommit
	}
	root, err := all.top(hash)
	if err != nil {
		return nil, fmt.Errorf("find commit %s: %w", commit, err)
	}
	top, err := all.tree(root)
	if err != nil {
		return nil, fmt.Errorf("find the files of commit %s: %w", commit, err)
	}
	c := collector{objects: all, files: map[string]string{}}
	c.learn(top)
	if err := c.folder(top, ""); err != nil {
		return nil, err
	}
	return c.files, nil
}
