package bundle

import (
	"fmt"

	"github.com/evanw/esbuild/pkg/api"
)

// Script compiles our own TypeScript to a script that is not a module, for the same browsers as bundles.
func Script(source string) ([]byte, error) {
	made := api.Transform(source, api.TransformOptions{
		Loader:            api.LoaderTS,
		Format:            api.FormatIIFE,
		Platform:          api.PlatformBrowser,
		Target:            api.ES2017,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		TsconfigRaw:       "{}",
	})
	if len(made.Errors) > 0 {
		return nil, fmt.Errorf("line %d: %s", made.Errors[0].Location.Line, made.Errors[0].Text)
	}
	return made.Code, nil
}
