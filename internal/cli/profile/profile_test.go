package profile_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"foyer/internal/cli/profile"
)

func TestProfiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := profile.In(map[string]string{"XDG_CONFIG_HOME": home})
	if _, err := file.Get(""); err == nil || !strings.Contains(err.Error(), "foyer login") {
		t.Errorf("without a profile: %v", err)
	}
	one, two := profile.Profile{URL: "https://one.example", Key: "1"}, profile.Profile{URL: "https://two.example", Key: "2", Organization: "x"}
	for name, p := range map[string]profile.Profile{profile.Default: one, "two": two} {
		if err := file.Put(name, p); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := file.Get(""); err != nil || got != one {
		t.Errorf("default: %+v, %v", got, err)
	}
	if got, err := file.Of("https://two.example/"); err != nil || got != two {
		t.Errorf("by url: %+v, %v", got, err)
	}
	if _, err := file.Remove("two"); err != nil {
		t.Error(err)
	}
	if _, err := file.Get("two"); err == nil {
		t.Error("it is still there")
	}
	info, err := os.Stat(string(file))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "foyer", "*")); len(left) != 1 {
		t.Errorf("files %v", left)
	}
}

// A relative folder would put keys into the folder in which a command happens to run.
func TestProfilesAreNotInARelativeFolder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if got, want := profile.In(map[string]string{"XDG_CONFIG_HOME": "x", "HOME": home}), profile.In(map[string]string{"HOME": home}); got != want || want == "" {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, variable := range []string{"XDG_CONFIG_HOME", "HOME"} {
		if got := profile.In(map[string]string{variable: "x"}); got != "" {
			t.Errorf("%s: %s", variable, got)
		}
	}
}

// If a server has several profiles, only the default one is used.
func TestProfileOfAServer(t *testing.T) {
	t.Parallel()
	file := profile.In(map[string]string{"XDG_CONFIG_HOME": t.TempDir()})
	const url = "https://one.example"
	put := func(name, key string) {
		t.Helper()
		if err := file.Put(name, profile.Profile{URL: url, Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "1")
	put("b", "2")
	if _, err := file.Of(url); err == nil || !strings.HasSuffix(err.Error(), "give --profile=a or --profile=b") {
		t.Errorf("of two: %v", err)
	}
	put(profile.Default, "3")
	for range 20 { // a map has another order each time
		if got, err := file.Of(url); err != nil || got.Key != "3" {
			t.Fatalf("with a default one: %+v, %v", got, err)
		}
	}
}

// The error of a damaged file does not show its contents.
func TestADamagedFileIsNotShown(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := profile.In(map[string]string{"XDG_CONFIG_HOME": home})
	if err := os.MkdirAll(filepath.Dir(string(file)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(string(file), []byte(`{"default": {"key": "foy_secret}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Get(""); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), string(file)) {
		t.Errorf("error %v", err)
	}
}

// Concurrent logins all keep their profiles, in the file that a link names.
func TestProfilesAtOnce(t *testing.T) {
	t.Parallel()
	home, linked := t.TempDir(), filepath.Join(t.TempDir(), "kept.json")
	file := profile.In(map[string]string{"XDG_CONFIG_HOME": home})
	if err := os.MkdirAll(filepath.Dir(string(file)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(linked, []byte("null"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(linked, string(file)); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := file.Put(strconv.Itoa(i), profile.Profile{Key: strconv.Itoa(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 20 {
		if p, err := profile.File(linked).Get(strconv.Itoa(i)); err != nil || p.Key != strconv.Itoa(i) {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// The first login creates the file that a link names, and the link stays.
func TestLinkToNoFileYet(t *testing.T) {
	t.Parallel()
	home, kept := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(kept, "foyer"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(kept, "foyer"), filepath.Join(home, "foyer")); err != nil {
		t.Fatal(err)
	}
	file := profile.In(map[string]string{"XDG_CONFIG_HOME": home})
	absolute := filepath.Join(kept, "absolute.json")
	for to, linked := range map[string]string{absolute: absolute, "../relative.json": filepath.Join(kept, "relative.json")} {
		if err := os.Symlink(to, string(file)); err != nil {
			t.Fatal(err)
		}
		want := profile.Profile{URL: "https://one.example", Key: to}
		if err := file.Put("", want); err != nil {
			t.Fatal(err)
		}
		if got, err := profile.File(linked).Of(want.URL); err != nil || got != want {
			t.Errorf("%s has %+v, %v", linked, got, err)
		}
		if err := os.Remove(string(file)); err != nil {
			t.Fatal(err)
		}
	}
}
