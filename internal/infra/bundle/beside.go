package bundle

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// beside matches how bundlers name a file that they write beside the script. Vite writes the url of a worker from the
// top of its output folder, and a text before import.meta.url.
var beside = regexp.MustCompile("new URL\\(\\s*(?:/\\*[^*]*\\*/\\s*)*[\"'`]([^?#\"'`]+)[^\"'`]*[\"'`]\\s*,\\s*(?:[\"'`]{2}\\s*\\+\\s*)?import\\.meta\\.url")

// warnOfBeside warns of the first url in a module that points beside the bundle, where pages find no file of the app. The
// url may be in a comment, or in code that never runs.
func (req request) warnOfBeside(name string) []api.Message {
	text := req.Files[name]
	for _, at := range beside.FindAllStringSubmatchIndex(text, -1) {
		spec, folder := text[at[2]:at[3]], path.Dir(name)
		if spec[0] == '/' {
			folder = path.Dir(req.Entry)
		}
		if _, own := req.Files[path.Join(folder, spec)]; !own {
			continue
		}
		start := strings.LastIndexByte(text[:at[2]], '\n') + 1
		return []api.Message{{
			Text: fmt.Sprintf("Pages may look for %q beside the bundle, but it is not there: import it, or let the bundler put it into the script.", spec),
			Location: &api.Location{
				File: namespace + ":" + name, Line: 1 + strings.Count(text[:start], "\n"), Column: at[2] - start, LineText: text[start:at[2]],
			},
		}}
	}
	return nil
}

// warnOfUnused warns of stylesheets, and of pictures and fonts in a build's folder, that no page gets: bundlers write them
// beside their output. It skips other folders: what is in their files may be part of the output.
func (req request) warnOfUnused(warnings map[string]string) {
	folder := path.Dir(req.Entry)
	for name := range req.Files {
		_, imported := req.imported.Load(name)
		written := path.Ext(name) == ".css" || folder != "." && loader(name) == api.LoaderDataURL
		if !imported && written && (folder == "." || strings.HasPrefix(name, folder+"/")) {
			warnings[name] = fmt.Sprintf("No page gets it: %s does not import it, nor does a file that it imports.", req.Entry)
		}
	}
}
