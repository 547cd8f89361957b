// Package bundle compiles an app's TypeScript and JavaScript sources to what a
// browser runs. The compiler works in a sandbox: sources are hostile input.
package bundle

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"foyer/internal/sandbox"
)

// Status is what became of one source file.
type Status string

// Every Status there is.
const (
	Transpiled Status = "transpiled" // an entry that compiled
	Failed     Status = "error"      // an entry that did not, or the file to blame for it
	Raw        Status = "raw"        // not an entry: stored as it is
)

// File says what became of one source file. Line and Column count from 1, Column
// in characters; they are 0 where an error has no place in this file.
type File struct {
	Name   string
	Status Status
	Error  string // what is wrong, if Failed
	Line   int
	Column int
}

// Bundle is an ES module for browsers.
type Bundle struct {
	JS        []byte
	SHA256    string // hex
	Integrity string // as in the integrity attribute of HTML: "sha384-…"
}

// Result is what Compile made of an app's files.
type Result struct {
	Files  []File  // one for each source file, by name
	Site   string  // the file the bundle is made of; empty: the app has none
	Bundle *Bundle // nil if there is no Site or it did not compile
}

// Compile compiles, for whom, the entries among files, a map of name to text. The first of
// site.ts and site.tsx becomes the bundle, which may import the app's own files by
// relative path and nothing else; every other entry is compiled by itself, its
// imports unread, only to find its errors. Text that does not compile, or costs too
// much to compile, is not an error of Compile but the Status of its file, whatever
// the other files are. The error is a fault of kind Busy if too much work waits.
func Compile(ctx context.Context, pool *sandbox.Pool, whom string, files map[string]string) (Result, error) {
	result := Result{Site: Site(files)}
	status := make(map[string]File, len(files))
	for name := range files {
		status[name] = File{Name: name, Status: Raw}
	}
	for _, name := range entries {
		text, ok := files[name]
		if !ok {
			continue
		}
		req := request{order{Entry: name}, map[string]string{name: text}}
		if name == result.Site {
			req = request{order{Entry: name, Bundle: true}, files}
		}
		answer, err := compile(ctx, pool, whom, req)
		if err != nil {
			return Result{}, err
		}
		if status[name].Status != Failed { // the site may have found an import in it
			status[name] = File{Name: name, Status: Transpiled}
		}
		for _, f := range answer.Errors {
			status[f.Name] = f
		}
		if req.Bundle && len(answer.Errors) == 0 {
			result.Bundle = seal(answer.JS)
		}
	}
	result.Files = slices.SortedFunc(maps.Values(status), func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return result, nil
}

// entries are the files that are compiled; the first two can be the site. Package
// unpack refuses a repository where it cannot take one of them.
var entries = []string{"site.ts", "site.tsx", "frontend.tsx", "index.ts"}

// Site is the name of the entry among files that becomes the bundle, empty if there
// is none.
func Site[T any](files map[string]T) string {
	for _, name := range entries[:2] {
		if _, ok := files[name]; ok {
			return name
		}
	}
	return ""
}

// compile has a child compile one entry.
func compile(ctx context.Context, pool *sandbox.Pool, whom string, req request) (answer, error) {
	in, feed := io.Pipe()
	var feeding sync.WaitGroup
	defer feeding.Wait()
	defer in.Close() // ends the feeding if the child has not read it all
	feeding.Go(func() { feed.CloseWithError(req.send(feed)) })

	out, err := pool.Run(ctx, whom, TaskName, in)
	if killed, ok := errors.AsType[*sandbox.KilledError](err); ok {
		return answer{Errors: []File{failed(req.Entry, "Compiling this file was stopped: "+killed.Reason+".")}}, nil
	}
	if err != nil {
		return answer{}, fmt.Errorf("compile %s: %w", req.Entry, err)
	}
	var ans answer
	if err := gob.NewDecoder(bytes.NewReader(out)).Decode(&ans); err != nil {
		return answer{}, fmt.Errorf("decode what became of %s: %w", req.Entry, err)
	}
	return ans, nil
}

// failed is a file that did not compile, without a place in it.
func failed(name, text string) File { return File{Name: name, Status: Failed, Error: text} }

// seal returns the bundle of js with the sums that name and pin it.
func seal(js []byte) *Bundle {
	name, pin := sha256.Sum256(js), sha512.Sum384(js)
	return &Bundle{
		JS:        js,
		SHA256:    hex.EncodeToString(name[:]),
		Integrity: "sha384-" + base64.StdEncoding.EncodeToString(pin[:]),
	}
}
