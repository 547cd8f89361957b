package bundle

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Library compiles our own TypeScript and the npm packages that it imports from a folder to one script, and returns which
// packages the script contains.
func Library(source, folder string) (code []byte, packages []string, err error) {
	made := api.Build(api.BuildOptions{
		Stdin:             &api.StdinOptions{Contents: source, ResolveDir: folder, Loader: api.LoaderTS},
		AbsWorkingDir:     folder,
		Bundle:            true,
		Metafile:          true,
		Format:            api.FormatIIFE,
		Platform:          api.PlatformBrowser,
		Target:            api.ES2022,
		LegalComments:     api.LegalCommentsNone,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		TsconfigRaw:       "{}",
	})
	if len(made.Errors) > 0 {
		return nil, nil, errors.New(made.Errors[0].Text)
	}
	all := map[string]bool{}
	for path := range readMetafile(made.Metafile).Inputs {
		if _, within, ok := strings.Cut(path, "node_modules/"); ok {
			all[packageOf(within)] = true
		}
	}
	return made.OutputFiles[0].Contents, slices.Sorted(maps.Keys(all)), nil
}

// packageOf returns the package of a path below node_modules: its first part, or two with a scope.
func packageOf(path string) string {
	parts := strings.Split(path, "/")
	if strings.HasPrefix(path, "@") {
		return strings.Join(parts[:2], "/")
	}
	return parts[0]
}
