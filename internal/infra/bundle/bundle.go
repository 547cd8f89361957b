// Package bundle compiles an app's TypeScript and JavaScript sources to code that browsers run. The compiler works in a
// sandbox: sources are hostile input.
package bundle

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"foyer/internal/base/digest"
	"foyer/internal/infra/sandbox"
)

// Status is the result of compiling one source file.
type Status string

// The values of Status.
const (
	Transpiled Status = "transpiled" // an entry that was compiled
	Failed     Status = "error"      // an entry that was not compiled, or the file that causes the error
	Raw        Status = "raw"        // not an entry: stored unchanged
)

// File is the result for one source file. Line and Column count from 1, Column in characters; they are 0 if an error has
// no place in this file.
type File struct {
	Name    string
	Status  Status
	Error   string // the reason, if Failed
	Line    int
	Column  int
	Warning string // a likely mistake that still compiles, with its place
}

// Bundle is an ES module for browsers.
type Bundle struct {
	JS        []byte
	SHA256    string // hex
	Integrity string // as in the integrity attribute of HTML: "sha384-…"
	Inject    bool   // whether it exports inject
}

// Result is the result of compiling an app's files.
type Result struct {
	Files  []File  // one for each source file, by name
	Site   string  // the file that the bundle is made of; empty: the app has none
	Bundle *Bundle // nil if there is no Site or the Site was not compiled
}

// Compile compiles, for a tenant, the entries among files, a map from name to content. The Site becomes the bundle, which
// may import the app's own files by relative path and nothing else; every other entry is compiled alone, without its
// imports, only to find its errors. If a file has errors or costs too much to compile, Compile returns no error: the
// file's Status shows it, and the other files are not affected. The error is a fault of kind Busy if too much work waits.
func Compile(ctx context.Context, pool *sandbox.Pool, tenant string, files map[string]string) (Result, error) {
	result := Result{Site: SiteOf(files, files["plugin.json"])}
	status := make(map[string]File, len(files))
	for name := range files {
		status[name] = File{Name: name, Status: Raw}
	}
	for _, name := range Entries(files["plugin.json"]) {
		text, ok := files[name]
		if !ok {
			continue
		}
		req := request{order: order{Entry: name}, Files: map[string]string{name: text}}
		if name == result.Site {
			req = request{order: order{Entry: name, Bundle: true}, Files: files}
		}
		answer, err := compile(ctx, pool, tenant, req)
		if err != nil {
			return Result{}, err
		}
		if status[name].Status != Failed { // the site may have found a bad import in it
			status[name] = File{Name: name, Status: Transpiled}
		}
		answer.note(status)
		if req.Bundle && len(answer.Errors) == 0 {
			result.Bundle = newBundle(answer)
		}
	}
	if f, ok := status["plugin.json"]; ok {
		f.Warning = idleMain(files, result.Site)
		status[f.Name] = f
	}
	result.Files = slices.SortedFunc(maps.Values(status), func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return result, nil
}

// note stores the errors and warnings of files.
func (a answer) note(status map[string]File) {
	for _, f := range a.Errors {
		status[f.Name] = f
	}
	for name, warning := range a.Warnings {
		f := status[name]
		f.Warning = warning
		status[name] = f
	}
}

// sites are the files of the top folder that can become the bundle; the first that exists does.
var sites = []string{"site.ts", "site.tsx", "site.js", "site.jsx", "site.mjs"}

// Entries returns the files that are compiled if they exist, given the text of plugin.json. Package unpack refuses a
// repository if it cannot take one of them.
func Entries(manifest string) []string {
	all := append(slices.Clone(sites), "frontend.tsx", "index.ts")
	if main := Main(manifest); slices.Contains(sites, path.Base(main)) && !slices.Contains(all, main) {
		all = append(all, main)
	}
	return all
}

// SiteOf returns the name of the entry that becomes the bundle, or "" if there is none: a site of the top folder, else
// the main of plugin.json if its name is that of a site.
func SiteOf(files map[string]string, manifest string) string {
	for _, name := range append(slices.Clone(sites), Main(manifest)) {
		if _, ok := files[name]; ok && slices.Contains(sites, path.Base(name)) {
			return name
		}
	}
	return ""
}

// Main returns the path that the text of a plugin.json names as main, or "" if it names none within the app.
func Main(manifest string) string {
	var main string
	if json.Unmarshal(rawMain(manifest), &main) != nil || main == "" {
		return ""
	}
	if main = path.Clean(main); !fs.ValidPath(main) {
		return ""
	}
	return main
}

// rawMain returns the main of a plugin.json as written, or nil if there is none.
func rawMain(manifest string) json.RawMessage {
	var fields map[string]json.RawMessage // a struct would accept keys in any case
	if json.Unmarshal([]byte(strings.TrimPrefix(manifest, "\ufeff")), &fields) != nil {
		return nil
	}
	return fields["main"]
}

// idleMain returns why the main of plugin.json does not affect the bundle, which is made of site; "" if plugin.json names
// no main, or one for another program beside the site.
func idleMain(files map[string]string, site string) string {
	raw, main := rawMain(files["plugin.json"]), Main(files["plugin.json"])
	_, there := files[main]
	switch {
	case raw == nil || string(raw) == "null" || string(raw) == `""` || main != "" && main == site:
		return ""
	case main == "":
		return `"main" is not the path of a file of the app.`
	case slices.Contains(sites, path.Base(main)) && site != "":
		return fmt.Sprintf(`"main" names %.200q, but the bundle is made of %s: that comes first.`, main, site)
	case site != "":
		return ""
	case !slices.Contains(sites, path.Base(main)):
		return fmt.Sprintf(`"main" names %.200q, which makes no bundle: only a file named %s does, such as dist/site.js.`, main, strings.Join(sites, ", "))
	case !there:
		return fmt.Sprintf(`"main" names %.200q, which is not one of the app's files.`, main)
	}
	return ""
}

// compile lets a child compile one entry.
func compile(ctx context.Context, pool *sandbox.Pool, tenant string, req request) (answer, error) {
	in, feed := io.Pipe()
	var feeding sync.WaitGroup
	defer feeding.Wait()
	defer in.Close() // ends the feeding if the child has not read everything
	feeding.Go(func() { feed.CloseWithError(req.send(feed)) })

	out, err := pool.Run(ctx, tenant, TaskName, in)
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

// failed returns a file that was not compiled, without a place.
func failed(name, text string) File { return File{Name: name, Status: Failed, Error: text} }

// newBundle returns the bundle made by a child, with the hashes that name and pin it.
func newBundle(made answer) *Bundle {
	pin := sha512.Sum384(made.JS)
	return &Bundle{
		JS:        made.JS,
		SHA256:    digest.SHA256(made.JS),
		Integrity: "sha384-" + base64.StdEncoding.EncodeToString(pin[:]),
		Inject:    made.Inject,
	}
}
