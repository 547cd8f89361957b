package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// stylist puts a stylesheet into the page when the bundle runs. The loader takes out what
// is marked with the bundle's url. A policy wants the nonce that the bundle's own script
// element has; modules do not know that element, but its address.
const stylist = `
const style = document.createElement("style")
style.dataset.foyer = import.meta.url
const script = [...document.scripts].find((script) => script.src === import.meta.url)
if (script) style.nonce = script.nonce
style.textContent = %s
document.head.append(style)
export default %s
`

// style compiles a stylesheet with what it imports and its pictures in it, and returns the module that puts it into the
// page, or its text for whoever imports it by a name: as it was written, if there was nothing to build in.
func (req request) style(name string, intoPage bool) (api.OnLoadResult, error) {
	req.text = !intoPage
	options := req.options(name, api.LoaderCSS)
	options.Bundle = true
	built := api.Build(options)
	if len(built.Errors) > 0 {
		return api.OnLoadResult{Errors: built.Errors}, nil
	}
	compiled, text := strings.TrimSpace(string(built.OutputFiles[0].Contents)), req.Files[name]
	alone := len(readMetafile(built.Metafile).Inputs) == 1
	if !alone {
		text = compiled
	}
	if !intoPage && alone {
		ofCompiler := func(m api.Message) bool { return m.PluginName == "" }
		built.Warnings = slices.DeleteFunc(built.Warnings, ofCompiler) // it may be a template
	}
	found := api.OnLoadResult{Contents: &text, Loader: api.LoaderText, Warnings: built.Warnings}
	if intoPage {
		inPage, _ := json.Marshal(compiled) // a text always can be
		named, _ := json.Marshal(text)
		module := fmt.Sprintf(stylist, inPage, named)
		found.Contents, found.Loader = &module, api.LoaderJS
	}
	return found, nil
}
