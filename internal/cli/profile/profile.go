// Package profile keeps servers and keys in the folder of the user's settings.
package profile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Default is the name of the profile for commands that name none.
const Default = "default"

// Profile is a server, and the key for it.
type Profile struct {
	URL          string `json:"url"`
	Key          string `json:"key"`
	Organization string `json:"organization,omitempty"` // its id; "": the key's
}

// File is the path of the file of profiles; "" if there is no folder for it.
type File string

// In returns the file for a user with these variables. It ignores a relative folder: the keys would be elsewhere for each
// command.
func In(variables map[string]string) File {
	folder := variables["XDG_CONFIG_HOME"]
	if home := variables["HOME"]; !filepath.IsAbs(folder) && home != "" {
		folder = filepath.Join(home, ".config")
		if runtime.GOOS == "darwin" {
			folder = filepath.Join(home, "Library", "Application Support")
		}
	}
	if runtime.GOOS == "windows" {
		folder = variables["AppData"]
	}
	if !filepath.IsAbs(folder) {
		return ""
	}
	return File(filepath.Join(folder, "foyer", "profiles.json"))
}

// Get returns a profile; "" stands for the default one.
func (f File) Get(name string) (Profile, error) {
	all, err := f.read()
	if err != nil {
		return Profile{}, err
	}
	name = cmp.Or(name, Default)
	p, ok := all[name]
	switch {
	case ok:
		return p, nil
	case name == Default:
		return Profile{}, errors.New("no server is known: `foyer login URL` keeps one, FOYER_URL and FOYER_KEY name one; `foyer admin` works on a database")
	}
	return Profile{}, fmt.Errorf("there is no profile %s: `foyer login URL --profile=%s` makes one", name, name)
}

// Of returns the profile of a server: the default one, or the only one.
func (f File) Of(url string) (Profile, error) {
	all, err := f.read()
	if err != nil {
		return Profile{}, err
	}
	maps.DeleteFunc(all, func(_ string, p Profile) bool { return strings.TrimRight(p.URL, "/") != strings.TrimRight(url, "/") })
	names := slices.Sorted(maps.Keys(all))
	switch p, ok := all[Default]; {
	case ok:
		return p, nil
	case len(names) == 1:
		return all[names[0]], nil
	case len(names) > 1:
		return Profile{}, fmt.Errorf("several profiles are for %s: give --profile=%s", url, strings.Join(names, " or --profile="))
	}
	return Profile{}, fmt.Errorf("no key for %s is known: set FOYER_KEY, or run `foyer login %s`", url, url)
}

// Put saves a profile.
func (f File) Put(name string, p Profile) error {
	return f.change(func(all map[string]Profile) { all[name] = p })
}

// Remove deletes a profile, and returns it.
func (f File) Remove(name string) (Profile, error) {
	p, err := f.Get(name)
	if err != nil {
		return p, err
	}
	return p, f.change(func(all map[string]Profile) { delete(all, name) })
}

// change changes the profiles, and keeps concurrent changes of other processes.
func (f File) change(change func(map[string]Profile)) (err error) {
	if f == "" {
		return errors.New("there is no folder for the profile: set HOME or XDG_CONFIG_HOME")
	}
	folder := filepath.Dir(string(f))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	locked, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locked.Close()) }() // closing unlocks it
	lock(locked)
	all, err := f.read()
	if err != nil {
		return err
	}
	change(all)
	return f.write(all)
}

func (f File) read() (map[string]Profile, error) {
	all := map[string]Profile{}
	if f == "" {
		return all, nil
	}
	content, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(content, &all) != nil { // its error may contain a part of a key
		return nil, fmt.Errorf("%s is not as foyer wrote it: remove it, and log in again", f)
	}
	if all == nil { // the file holds null
		all = map[string]Profile{}
	}
	return all, nil
}

// write replaces the file atomically, readable only by its owner. A link to it stays a link.
func (f File) write(all map[string]Profile) error {
	content, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	file, err := f.target()
	if err != nil {
		return err
	}
	made, err := os.CreateTemp(filepath.Dir(file), "profiles-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = made.Write(append(content, '\n'))
	if err = errors.Join(err, made.Sync(), made.Close()); err == nil {
		err = os.Rename(made.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(made.Name()))
	}
	return nil
}

// target is the file itself, or the target of a link, which need not exist yet.
func (f File) target() (string, error) {
	if file, err := filepath.EvalSymlinks(string(f)); err == nil {
		return file, nil
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(string(f)))
	if err != nil {
		return "", err
	}
	to, _ := os.Readlink(string(f))
	switch {
	case to == "": // nothing is there
		return string(f), nil
	case filepath.IsAbs(to):
		return to, nil
	}
	return filepath.Join(folder, to), nil
}
