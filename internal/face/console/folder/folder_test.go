package folder_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"foyer/internal/base/fault"
	"foyer/internal/domain/source"
	"foyer/internal/face/console/folder"
)

// pack makes a zip; set may change each header.
func pack(tb testing.TB, files map[string]string, set func(*zip.FileHeader)) []byte {
	tb.Helper()
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for name, content := range files {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		if set != nil {
			set(header)
		}
		w, err := archive.CreateHeader(header)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		tb.Fatal(err)
	}
	return packed.Bytes()
}

// beyond makes a zip that says that a file's data begins after its end.
func beyond(tb testing.TB) []byte {
	tb.Helper()
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	_, err := archive.CreateRaw(&zip.FileHeader{Name: "../a.ts", CompressedSize64: 5})
	_, more := archive.Create("b.ts")
	if err := errors.Join(err, more, archive.Close()); err != nil {
		tb.Fatal(err)
	}
	binary.LittleEndian.PutUint16(packed.Bytes()[28:], 0xffff) // the length of the extra field
	return packed.Bytes()
}

func TestBackAndForth(t *testing.T) {
	t.Parallel()
	files := map[string]string{"site.ts": "export {}\r\n", "src/a.css": "", "img/x.png": "\x00\xff"}
	var packed bytes.Buffer
	at := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	if err := folder.Pack(&packed, "Größe: a/b", files, at); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range archive.File {
		if !entry.Modified.Equal(at) {
			t.Errorf("%s is from %s", entry.Name, entry.Modified)
		}
	}
	got, leftOut, err := folder.Unpack(packed.Bytes())
	if err != nil || len(leftOut) > 0 || !maps.Equal(got, files) {
		t.Errorf("%q, %q, %v", got, leftOut, err)
	}
	if name := folder.Name("Größe: a/b"); name != "Gr--e--a-b" {
		t.Error(name)
	}
}

// Windows PowerShell writes backslashes: its folders are read like all others.
func TestBackslashes(t *testing.T) {
	t.Parallel()
	packed := pack(t, map[string]string{
		`Banner\src\`: "", `Banner\src\lib.ts`: "x", `Banner\site.ts`: "y", `Banner\node_modules\a.ts`: strings.Repeat("x", source.MaxFileBytes+1),
	}, nil)
	trimmed, err := folder.Trim(packed)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"src/lib.ts": "x", "site.ts": "y"}
	for _, packed := range [][]byte{packed, trimmed} {
		if got, leftOut, err := folder.Unpack(packed); err != nil || len(leftOut) > 0 || !maps.Equal(got, want) {
			t.Errorf("%q, %q, %v", got, leftOut, err)
		}
	}
}

// What a bundler has built can be uploaded as it is: source maps may be as large as they are.
func TestSourceMaps(t *testing.T) {
	t.Parallel()
	packed := pack(t, map[string]string{"site.js": "x", "site.js.map": strings.Repeat("y", source.MaxBytes+1), "src/a.js.map": "{}"}, nil)
	files, leftOut, err := folder.Unpack(packed)
	if err != nil || !maps.Equal(files, map[string]string{"site.js": "x"}) || len(leftOut) > 0 {
		t.Errorf("%d files, %q, %v", len(files), leftOut, err)
	}
}

// overlapping makes a zip with that many files, all with the same 5,000 bytes of data: empty blocks of RFC 1951.
func overlapping(tb testing.TB, files int) []byte {
	tb.Helper()
	blocks := strings.Repeat("\x00\x00\x00\xff\xff", 999) + "\x01\x00\x00\xff\xff"
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	w, err := archive.CreateRaw(&zip.FileHeader{Name: "a.exe", Method: zip.Deflate, CompressedSize64: uint64(len(blocks))})
	if err == nil {
		_, err = io.WriteString(w, blocks)
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		tb.Fatal(err)
	}
	at, end := bytes.Index(packed.Bytes(), []byte("PK\x01\x02")), bytes.Index(packed.Bytes(), []byte("PK\x05\x06"))
	directory := bytes.Repeat(packed.Bytes()[at:end], files)
	last := slices.Clone(packed.Bytes()[end:])
	binary.LittleEndian.PutUint16(last[8:], uint16(files))
	binary.LittleEndian.PutUint16(last[10:], uint16(files))
	binary.LittleEndian.PutUint32(last[12:], uint32(len(directory)))
	return slices.Concat(packed.Bytes()[:at], directory, last)
}

func TestHostileZips(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range source.MaxFiles + 1 {
		many[strconv.Itoa(i)+".ts"] = "x"
	}
	thousands := map[string]string{}
	for i := range 10_001 {
		thousands["node_modules/"+strconv.Itoa(i)] = ""
	}
	large := map[string]string{}
	for i := range 12 {
		large[strconv.Itoa(i)+".ts"] = strings.Repeat("x", source.MaxFileBytes)
	}
	for name, packed := range map[string][]byte{
		"none":                nil,
		"no zip":              []byte("PK\x03\x04"),
		"a file too many":     pack(t, many, nil),
		"a directory of many": pack(t, thousands, nil),
		"a large file":        pack(t, map[string]string{"a.ts": strings.Repeat("x", source.MaxFileBytes+1)}, nil),
		"large together":      pack(t, large, nil),
		"only outside":        pack(t, map[string]string{"../a.ts": "", "/b.ts": "", `c:\d.ts`: "", `\d.ts`: "", "e/../../f.ts": ""}, nil),
		"shared data":         overlapping(t, 10),
		"no data":             beyond(t),
		"a link":              pack(t, map[string]string{"a.ts": "/etc/passwd"}, func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }),
		"encrypted or torn":   pack(t, map[string]string{"a.ts": "x"}, nil)[10:],
	} {
		if _, err := folder.Trim(packed); (name == "shared data" || name == "no data") && err == nil {
			t.Errorf("%s: trimmed", name)
		}
		if files, _, err := folder.Unpack(packed); err == nil || !fault.Is(err, fault.Of(err)[0].Kind) || fault.IsOurs(err) {
			t.Errorf("%s: %d files, %v", name, len(files), err)
		}
	}
}

// Who has packed with a password can read what to do.
func TestPassword(t *testing.T) {
	t.Parallel()
	packed := pack(t, map[string]string{"site.ts": "x"}, func(h *zip.FileHeader) { h.Flags |= 1 })
	if _, _, err := folder.Unpack(packed); err == nil || !strings.Contains(err.Error(), `"site.ts" is protected by a password`) {
		t.Error(err)
	}
}

// The unpacked files are within an app's bounds for any input.
func FuzzUnpack(f *testing.F) {
	f.Add(pack(f, map[string]string{"a/site.ts": "x", "a/b/c.css": "y"}, nil))
	f.Add(pack(f, map[string]string{"../x": "", ".git/y": "", "z.png": "\x00"}, nil))
	f.Add(beyond(f))
	f.Fuzz(func(t *testing.T, packed []byte) {
		files, leftOut, err := folder.Unpack(packed)
		if err != nil && fault.IsOurs(err) {
			t.Fatal(err)
		}
		total := 0
		for name, content := range files {
			if total += len(content); !source.Takes(name, content) || len(content) > source.MaxFileBytes {
				t.Errorf("%q of %d bytes", name, len(content))
			}
		}
		if len(files) > source.MaxFiles || total > source.MaxBytes {
			t.Errorf("%d files, %d bytes", len(files), total)
		}
		if err != nil {
			return
		}
		trimmed, err := folder.Trim(packed)
		if err != nil {
			t.Fatal(err)
		}
		if again, left, err := folder.Unpack(trimmed); err != nil || !maps.Equal(again, files) || !slices.Equal(left, leftOut) {
			t.Errorf("of what was trimmed %q, %q, %v, want %q, %q", again, left, err, files, leftOut)
		}
	})
}
