package upstream_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"foyer/internal/base/fault"
	"foyer/internal/infra/sandbox"
	"foyer/internal/infra/upstream"
	"foyer/internal/infra/upstream/egress"
	"foyer/internal/infra/upstream/unpack"
	"foyer/internal/infra/upstream/upstreamtest"
)

func numbered(n int, path, text string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf(path, i)] = text
	}
	return files
}

func TestInstallOverLimits(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	mebibyte := strings.Repeat("x", unpack.MaxFileBytes)
	for name, c := range map[string]struct {
		files map[string]string
		words string // of the refusal; "": there is none
	}{
		"400 files":                {numbered(398, "dist/%d.mjs", "1"), ""},
		"401 files":                {numbered(399, "dist/%d.mjs", "1"), "more than 400 files"},
		"10,000 files elsewhere":   {numbered(10_000, "docs/%d.ts", "1"), ""},
		"10,000 files not taken":   {numbered(10_000, "src/%d.bin", "1"), ""},
		"10,000 files":             {numbered(10_000, "src/%d.ts", "1"), "more than 400 files"},
		"1 MiB":                    {map[string]string{"src/a.ts": mebibyte}, ""},
		"more than 1 MiB":          {map[string]string{"src/a.ts": mebibyte + "x"}, `"src/a.ts" is larger`},
		"more than 1 MiB, binary":  {map[string]string{"src/a.ts": mebibyte + "\x00"}, ""},
		"more than 1 MiB, other":   {map[string]string{"src/a.bin": mebibyte + "x"}, ""},
		"more than 1 MiB, picture": {map[string]string{"src/a.gif": mebibyte + "x"}, `"src/a.gif" is larger`},
		"9 MiB, control":           {numbered(9, "%d.md", strings.Repeat("\x1b", unpack.MaxFileBytes)), ""},
		"more than 10 MiB":         {numbered(10, "%d.css", mebibyte), "more than 10 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := host.Repo(t, strings.ReplaceAll(name, " ", "-"))
			files := app()
			maps.Copy(files, c.files)
			repo.Commit(t, files)
			_, err := install(t, repo.URL, "")
			if c.words != "" {
				wantFault(t, err, fault.Invalid, "url", c.words)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// A host that supports filters omits large files from the pack, so that a repository with videos can be installed; an
// app's file that is then missing was too large.
func TestInstallFiltered(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	repo.Git(t, "", "config", "uploadpack.allowFilter", "true")
	large := strings.Repeat("x", unpack.MaxFileBytes+1)
	repo.Commit(t, app("film.mp4", large))
	if _, err := install(t, repo.URL, ""); err != nil {
		t.Error(err)
	}
	repo.Commit(t, app("src/large.ts", large))
	_, err := install(t, repo.URL, "")
	wantFault(t, err, fault.Invalid, "url", `"src/large.ts" is larger`)
}

// A host can offer filters and refuse all of them.
func TestInstallFilterRefused(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	repo.Git(t, "", "config", "uploadpack.allowFilter", "true")
	repo.Git(t, "", "config", "uploadpackfilter.allow", "false")
	repo.Commit(t, app())
	if _, err := install(t, repo.URL, ""); err != nil {
		t.Error(err)
	}
}

func TestInstallOddEntries(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	manifest, text := repo.Blob(t, `{"name": "Bar"}`), repo.Blob(t, "text")
	up := repo.Tree(t, upstreamtest.Entry{Mode: "100644", Name: "up.ts", Object: text})
	src := repo.Tree(t,
		upstreamtest.Entry{Mode: "40000", Name: "..", Object: up},
		upstreamtest.Entry{Mode: "40000", Name: "a\\b", Object: up},
		upstreamtest.Entry{Mode: "100755", Name: "run.ts", Object: text},
		upstreamtest.Entry{Mode: "100644", Name: strings.Repeat("x", 300) + ".ts", Object: text},
	)
	entries := []upstreamtest.Entry{
		{Mode: "100644", Name: "../a.ts", Object: text},
		{Mode: "100644", Name: "..\\a.ts", Object: text},
		{Mode: "100644", Name: "a\\b.ts", Object: text},
		{Mode: "100644", Name: "a..ts", Object: text},
		{Mode: "100644", Name: "bell\a.ts", Object: text},
		{Mode: "100644", Name: "latin\xe9.ts", Object: text},
		{Mode: "120000", Name: "link.ts", Object: repo.Blob(t, "/etc/passwd")},
		{Mode: "100644", Name: "plugin.json", Object: manifest},
		{Mode: "100644", Name: "src/inner.ts", Object: text},
		{Mode: "160000", Name: "sub.ts", Object: strings.Repeat("1", 40)},
		{Mode: "40000", Name: "src", Object: src},
		{Mode: "100644", Name: "ünï 漢.ts", Object: text},
	}
	repo.CommitTree(t, repo.Tree(t, entries...))
	got, err := install(t, repo.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"plugin.json", "src/run.ts", "ünï 漢.ts"}
	if names := slices.Sorted(maps.Keys(got.Files)); !slices.Equal(names, want) {
		t.Errorf("taken: %q; want %q", names, want)
	}
}

// Files that an app needs are not skipped silently.
func TestInstallUntakableEntries(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t)
	for _, name := range []string{"plugin.json", "site.ts", "site.tsx", "site.js", "site.jsx", "site.mjs", "frontend.tsx", "index.ts"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := host.Repo(t, name)
			for _, text := range []string{"// caf\xe9", "a\x00b\x00"} {
				repo.Commit(t, app(name, text))
				_, err := install(t, repo.URL, "")
				wantFault(t, err, fault.Invalid, "url", `"`+name+`"`, "UTF-8")
			}
			manifest := upstreamtest.Entry{Mode: "100644", Name: "plugin.json", Object: repo.Blob(t, "{}")}
			for mode, object := range map[string]string{
				"120000": repo.Blob(t, "src/real"), "160000": strings.Repeat("1", 40), "40000": repo.Tree(t, manifest),
			} {
				entries := []upstreamtest.Entry{{Mode: mode, Name: name, Object: object}}
				if name != manifest.Name {
					entries = append(entries, manifest)
				}
				repo.CommitTree(t, repo.Tree(t, entries...))
				_, err := install(t, repo.URL, "")
				wantFault(t, err, fault.Invalid, "url", `"`+name+`"`, "regular file")
			}
		})
	}
}

// Nor are folders on the path to the main.
func TestInstallUntakableFolderOfMain(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	manifest := upstreamtest.Entry{Mode: "100644", Name: "plugin.json", Object: repo.Blob(t, `{"main": "web/out/site.js"}`)}
	for mode, object := range map[string]string{"120000": repo.Blob(t, "build"), "160000": strings.Repeat("1", 40)} {
		out := repo.Tree(t, upstreamtest.Entry{Mode: mode, Name: "out", Object: object})
		for name, web := range map[string]upstreamtest.Entry{
			"web": {Mode: mode, Name: "web", Object: object}, "web/out": {Mode: "40000", Name: "web", Object: out},
		} {
			repo.CommitTree(t, repo.Tree(t, manifest, web, upstreamtest.Entry{Mode: mode, Name: "other", Object: object}))
			_, err := install(t, repo.URL, "")
			wantFault(t, err, fault.Invalid, "url", `"`+name+`"`, "folder")
		}
	}
	repo.CommitTree(t, repo.Tree(t, manifest, upstreamtest.Entry{Mode: "120000", Name: "src", Object: repo.Blob(t, "web")}))
	if _, err := install(t, repo.URL, ""); err != nil {
		t.Errorf("a link that leads to no main: %v", err)
	}
	site := upstreamtest.Entry{Mode: "100644", Name: "site.ts", Object: repo.Blob(t, "export const x = 1")}
	repo.CommitTree(t, repo.Tree(t, manifest, site, upstreamtest.Entry{Mode: "120000", Name: "web", Object: repo.Blob(t, "build")}))
	if _, err := install(t, repo.URL, ""); err != nil {
		t.Errorf("a link that leads to a main beside site.ts: %v", err)
	}
}

func TestInstallDeepFolders(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	deep := "src/" + strings.Repeat("d/", 90) + "a.ts"
	tooDeep := "src/" + strings.Repeat("e/", 3000) + "b.ts"
	repo.Commit(t, app(deep, "deep", tooDeep, "too deep"))
	got, err := install(t, repo.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := got.Files[tooDeep]; ok || got.Files[deep] != "deep" {
		t.Errorf("taken: %q", slices.Sorted(maps.Keys(got.Files)))
	}
}

// The ten entries of a tree are all the same tree, and so on: few objects, and more folders than can be walked.
func TestInstallTreeBomb(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	tree := repo.Tree(t, upstreamtest.Entry{Mode: "100644", Name: "a.bin", Object: repo.Blob(t, "")})
	for range 12 {
		entries := make([]upstreamtest.Entry, 10)
		for i := range entries {
			entries[i] = upstreamtest.Entry{Mode: "40000", Name: strconv.Itoa(i), Object: tree}
		}
		tree = repo.Tree(t, entries...)
	}
	repo.CommitTree(t, repo.Tree(t,
		upstreamtest.Entry{Mode: "100644", Name: "plugin.json", Object: repo.Blob(t, "{}")},
		upstreamtest.Entry{Mode: "40000", Name: "src", Object: tree},
	))
	_, err := install(t, repo.URL, "")
	wantFault(t, err, fault.Invalid, "url", "files and folders")
}

// A file of 400 MiB of zeros has a pack of 400 KiB, and is larger than a child's memory.
func TestInstallPackBomb(t *testing.T) {
	t.Parallel()
	const size = 400 << 20
	var pack bytes.Buffer
	pack.WriteString("PACK\x00\x00\x00\x02\x00\x00\x00\x01")
	pack.WriteByte(0x80 | 3<<4 | size&0xf) // a blob, and its size in groups of bits
	for rest := size >> 4; rest > 0; rest >>= 7 {
		group := byte(rest & 0x7f)
		if rest > 0x7f {
			group |= 0x80
		}
		pack.WriteByte(group)
	}
	deflate := zlib.NewWriter(&pack)
	for range size >> 20 {
		_, _ = deflate.Write(make([]byte, 1<<20))
	}
	deflate.Close()
	sum := sha1.Sum(pack.Bytes())
	pack.Write(sum[:])

	url := hostile(t, advertise, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, packet("NAK\n"))
		for part := range slices.Chunk(pack.Bytes(), 60_000) {
			fmt.Fprint(w, packet("\x01"+string(part)))
		}
		fmt.Fprint(w, "0000")
	})
	_, err := install(t, url, "")
	wantFault(t, err, fault.Invalid, "url", "unpack", "512 MB")
}

func TestInstallManyFilesBomb(t *testing.T) {
	t.Parallel()
	repo := upstreamtest.NewHost(t).Repo(t, "bar-app")
	files := app()
	for i := range 150 {
		files[fmt.Sprintf("%d.bin", i)] = strings.Repeat(string(rune('A'+i)), 1<<20)
	}
	repo.Commit(t, files)
	repo.Git(t, "", "repack", "-adq") // otherwise the host would compress during the fetch, which has a timeout
	_, err := install(t, repo.URL, "")
	wantFault(t, err, fault.Invalid, "url", "unpack")
	bounds := regexp.MustCompile("128 MiB|512 MB|processor time") // with the race detector, another limit may come first
	if !bounds.MatchString(err.Error()) {
		t.Error(err)
	}
}

// A received repository is unpacked however long it waits for other children, here twice the 15 seconds that a child has:
// the host was not slow.
func TestUnpackWaitsForOthers(t *testing.T) {
	t.Parallel()
	host := upstreamtest.NewHost(t).Repo(t, "bar-app")
	host.Commit(t, app())
	pool := sandbox.New(1, 4, slog.New(slog.DiscardHandler))
	repo, err := upstream.New(egress.New(upstreamtest.Allow()), pool, newClock().now).Open(t.Context(), parse(t, host.URL))
	if err != nil {
		t.Fatal(err)
	}
	silent, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	t.Cleanup(others.Wait)
	t.Cleanup(func() { silent.Close() })
	t.Cleanup(func() { to.Close() })
	for range 2 {
		others.Go(func() { _, _ = pool.Run(context.WithoutCancel(t.Context()), "Acme", upstream.UnpackTask, silent) })
	}
	for pool.Running()+pool.Waiting() < 2 {
		runtime.Gosched()
	}
	newest, err := repo.Newest()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Fetch(t.Context(), "Acme", newest); err != nil && !fault.Is(err, fault.Busy) { // other processes may keep the machine busy
		t.Error(err)
	}
}
