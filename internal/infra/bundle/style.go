package bundle

import (
	"encoding/json"
	"fmt"
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

// style returns the module that puts a stylesheet into the page, with what it imports and
// its pictures in it. Whoever also imports it by a name gets its text.
func (req request) style(name string) (api.OnLoadResult, error) {
	options := req.options(name, api.LoaderCSS)
	options.Bundle = true
	built := api.Build(options)
	if len(built.Errors) > 0 {
		return api.OnLoadResult{Errors: built.Errors}, nil
	}
	compiled, _ := json.Marshal(strings.TrimSpace(string(built.OutputFiles[0].Contents))) // a text always can be
	text, _ := json.Marshal(req.Files[name])
	module := fmt.Sprintf(stylist, compiled, text)
	return api.OnLoadResult{Contents: &module, Loader: api.LoaderJS, Warnings: built.Warnings}, nil
}
