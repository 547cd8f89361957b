package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// styleModule adds a stylesheet to the page when the bundle runs. The loader removes elements marked with the bundle's
// url. A content security policy requires the nonce of the bundle's script element; a module does not know that
// element, but knows its url. document.head and document.scripts may be an element or frame of that name.
const styleModule = `
const style = document.createElement("style")
style.dataset.foyer = import.meta.url
const script = [...document.querySelectorAll("script")].find((script) => script.src === import.meta.url)
if (script) style.nonce = script.nonce
style.textContent = %s
document.querySelector("head").append(style)
export default %s
`

// style compiles a stylesheet, including its imports and pictures. It returns the module that adds the stylesheet to the
// page, or its text for imports by name: unchanged if it has no imports and pictures.
func (req request) style(name string, intoPage bool) api.OnLoadResult {
	req.text = !intoPage
	built := api.Build(req.options(name, api.LoaderCSS))
	if len(built.Errors) > 0 {
		return api.OnLoadResult{Errors: built.Errors}
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
		inPage, _ := json.Marshal(compiled) // a text can always be encoded
		named, _ := json.Marshal(text)
		module := fmt.Sprintf(styleModule, inPage, named)
		found.Contents, found.Loader = &module, api.LoaderJS
	}
	return found
}
