package bundle

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// extensions are tried in this order for an import without one.
var extensions = []string{".ts", ".tsx", ".js", ".jsx", ".json", ".css"}

// built tells how an app uses a package.
const built = `To use a package, build the app where it is written, and add what was built: a dist/site.js that needs no package, and in plugin.json "main": "dist/site.js"`

// resolve finds the file that importer means by spec: the file of that name, the name with an extension added, the
// TypeScript source of a .js name, or a folder's index. A spec that ends in /, . or .. means a folder.
func resolve(files map[string]string, importer, spec string) (string, error) {
	if !strings.HasPrefix(spec, "./") && !strings.HasPrefix(spec, "../") && spec != "." && spec != ".." {
		const only = "%q cannot be imported: an app imports only its own files, by a path that starts with ./ or ../"
		if strings.ContainsAny(spec[:min(1, len(spec))], "/#") || strings.Contains(spec, ":") {
			return "", fmt.Errorf(only, spec)
		}
		return "", fmt.Errorf(only+". "+built, spec)
	}
	name := path.Join(path.Dir(importer), spec)
	found := indexes(name)
	if last := path.Base(spec); !strings.HasSuffix(spec, "/") && last != "." && last != ".." {
		found = slices.Concat(candidates(name), found)
	}
	for _, candidate := range found {
		if _, ok := files[candidate]; ok {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("%q is not one of the app's files", spec)
}

func candidates(name string) []string {
	names := []string{name}
	for _, ext := range extensions {
		names = append(names, name+ext)
	}
	if stem, ok := strings.CutSuffix(name, ".js"); ok {
		names = append(names, stem+".ts", stem+".tsx")
	}
	if stem, ok := strings.CutSuffix(name, ".jsx"); ok {
		names = append(names, stem+".tsx")
	}
	return names
}

func indexes(folder string) (names []string) {
	for _, ext := range extensions {
		names = append(names, path.Join(folder, "index"+ext))
	}
	return names
}
