package bundle

import (
	"fmt"
	"path"
	"strings"
)

// extensions are tried in this order on an import that has none.
var extensions = []string{".ts", ".tsx", ".js", ".jsx", ".json", ".css"}

// resolve finds the file that importer means by spec: by its name, its name without
// the extension, as the TypeScript it is compiled from, or as a folder's index.
func resolve(files map[string]string, importer, spec string) (string, error) {
	if !strings.HasPrefix(spec, "./") && !strings.HasPrefix(spec, "../") && spec != "." && spec != ".." {
		return "", fmt.Errorf("%q cannot be imported: an app imports only its own files, by a path that starts with ./ or ../", spec)
	}
	name := path.Join(path.Dir(importer), spec)
	for _, candidate := range candidates(name) {
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
	for _, ext := range extensions {
		names = append(names, path.Join(name, "index"+ext))
	}
	return names
}
