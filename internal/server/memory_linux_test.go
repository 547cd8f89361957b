package server

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const none = math.MaxInt64
	for name, tc := range map[string]struct {
		self  string
		files map[string]string
		want  int64
	}{
		"its own": {"0::/system.slice/foyer.service\n", map[string]string{"system.slice/foyer.service/memory.max": "268435456\n"}, 256 << 20},
		"of a parent": {"0::/system.slice/foyer.service\n", map[string]string{
			"system.slice/foyer.service/memory.max": "268435456\n", "system.slice/memory.max": "134217728\n", "memory.max": "max\n",
		}, 128 << 20},
		"larger above":                        {"0::/a/b\n", map[string]string{"a/b/memory.max": "1048576\n", "a/memory.max": "2097152\n"}, 1 << 20},
		"of a container":                      {"0::/\n", map[string]string{"memory.max": "67108864\n"}, 64 << 20},
		"of a container, the path the host's": {"0::/system.slice/docker-1.scope\n", map[string]string{"memory.max": "67108864\n"}, 64 << 20},
		"from outside of the namespace":       {"0::/../../x\n", map[string]string{"memory.max": "67108864\n"}, 64 << 20},
		"a colon in the name":                 {"0::/a:b\n", map[string]string{"a:b/memory.max": "67108864\n"}, 64 << 20},
		"version 1": {"9:cpu:/x\n4:memory:/foyer\n0::/\n", map[string]string{
			"memory/foyer/memory.limit_in_bytes": "67108864\n", "memory/memory.limit_in_bytes": "9223372036854771712\n", "cpu/x/memory.limit_in_bytes": "1\n",
		}, 64 << 20},
		"no limit":    {"0::/a\n", map[string]string{"a/memory.max": "max\n"}, none},
		"no files":    {"0::/a\n", nil, none},
		"no cgroups":  {"", nil, none},
		"other lines": {"4:memory\n\n", map[string]string{"memory/memory.limit_in_bytes": "1\n"}, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write := func(path, text string) {
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("self", tc.self)
			for path, text := range tc.files {
				write(filepath.Join("cgroup", path), text)
			}
			if got := memoryLimit(filepath.Join(root, "self"), filepath.Join(root, "cgroup")); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	if got := memoryLimit("/nowhere", "/nowhere"); got != none {
		t.Errorf("no /proc: got %d", got)
	}
}
